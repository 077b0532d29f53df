"""What is heard of a model while it answers, read from the events of Anthropic's stream. Pure.

Read leniently, since compatible services differ: unknown events count as signs of life, a missing usage as unknown.
Reading the JSON here instead of letting the SDK build its types halves the CPU of a call.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from llm.errors import CallFailed
from llm.failure import Failure, kind_of, names
from llm.request import Usage


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Working:
    """A sign of life: a thought (which is never kept: other models refuse foreign ones), a block that begins."""


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens so far; what is not None replaces what was known."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Stopped:
    """The model stopped, and why, in the API's word."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The service says that the answer is whole."""


MOST_TOKENS = 1_000_000_000
"""No call has more; a server that says so, or -1, does not know, and must not move anybody's account."""

type Heard = Text | Working | Used | Stopped | Finished


def read_event(event: object) -> Iterator[Heard]:
    """One parsed `data:` of the stream, as what it says; a ping says nothing.

    Raises: CallFailed: an error event. ValueError: no event of a known shape.
    """
    fields = _object(event)
    match fields.get("type"):
        case "ping":
            return
        case "message_start":
            yield Used(_usage(_object(fields.get("message")).get("usage")))
        case "content_block_start":
            yield _block(_object(fields.get("content_block")))
        case "content_block_delta":
            yield _delta(_object(fields.get("delta")))
        case "message_delta":
            yield Used(_usage(fields.get("usage")))
            if reason := _object(fields.get("delta")).get("stop_reason"):
                yield Stopped(str(reason))
        case "message_stop":
            yield Finished()
        case _:
            yield _other(fields)


def _other(fields: Mapping[str, object]) -> Working:
    """Some services leave the type out of an error event."""
    if "error" in fields:
        raise CallFailed(_failure(fields["error"]))
    return Working()


def _block(block: Mapping[str, object]) -> Heard:
    text = block.get("text")
    return Text(text) if block.get("type") == "text" and isinstance(text, str) and text else Working()


def _delta(delta: Mapping[str, object]) -> Heard:
    if delta.get("type") != "text_delta":
        return Working()
    text = delta.get("text")
    if not isinstance(text, str):
        raise ValueError("a text delta without text")  # noqa: TRY004 (the data is wrong, not the program)
    return Text(text) if text else Working()


def _usage(usage: object) -> Usage:
    fields: Mapping[str, object] = usage if _is_object(usage) else {}

    def count(name: str) -> int | None:
        value = fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if 0 <= value <= MOST_TOKENS else None

    return Usage(
        count("input_tokens"),
        count("cache_creation_input_tokens"),
        count("cache_read_input_tokens"),
        count("output_tokens"),
    )


def _failure(error: object) -> Failure:
    fields: Mapping[str, object] = error if _is_object(error) else {}
    error_type, code = fields.get("type"), fields.get("code")
    name = error_type if isinstance(error_type, str) else ""
    status = code if isinstance(code, int) else 200
    kind = kind_of(status, name, message=str(fields.get("message", "")))
    return Failure(kind, f"error event in mid-stream: {names(name) or status}")


def _object(value: object) -> Mapping[str, object]:
    if not _is_object(value):
        raise ValueError("not an event of the Messages API")
    return value


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)
