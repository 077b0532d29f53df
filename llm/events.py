"""What is heard of a model while it answers, read from the events of Anthropic's stream. Pure.

Read leniently, since compatible services differ: unknown events count as signs of life, a missing usage as unknown.
Reading the JSON here instead of letting the SDK build its types halves the CPU of a call.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeGuard

from llm.errors import CallFailed
from llm.failure import Failure, kind_of, names, refuses_tools
from llm.request import Usage

type Grown = Literal["input", "thinking", "signature", "citations"]
"""The field of a content block that grows."""


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A content block begins: text, a thought, a tool call, what a tool of the service found, or anything newer."""

    index: int
    block: Mapping[str, object]
    """As it was sent; what comes later is not in it."""


@dataclass(frozen=True, slots=True)
class Grew:
    """More of a block that is no text: JSON of a tool call's arguments, a thought, its signature, a citation."""

    index: int
    what: Grown
    piece: object
    """A string; of citations, one of them."""


@dataclass(frozen=True, slots=True)
class Working:
    """A sign of life."""


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
MOST_SEARCHES = 1_000
DELTAS: Mapping[object, tuple[Grown, str]] = {
    "input_json_delta": ("input", "partial_json"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "citations_delta": ("citations", "citation"),
}
"""Type of a delta → the field of its block that it is a piece of, and where the piece stands."""
LAST_BLOCK = -1
"""For a server that does not say which block it means."""

type Heard = Text | Opened | Grew | Working | Used | Stopped | Finished


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
            yield from _block(_index(fields), _object(fields.get("content_block")))
        case "content_block_delta":
            yield _delta(fields, _object(fields.get("delta")))
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


def _block(index: int, block: Mapping[str, object]) -> Iterator[Heard]:
    yield Opened(index, block)
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str) and text:
        yield Text(text)


def _delta(fields: Mapping[str, object], delta: Mapping[str, object]) -> Heard:
    kind = delta.get("type")
    if kind == "text_delta":
        text = delta.get("text")
        if not isinstance(text, str):
            raise ValueError("a text delta without text")
        return Text(text) if text else Working()
    if kind not in DELTAS:
        return Working()
    what, name = DELTAS[kind]
    piece = delta.get(name)
    usable = _is_object(piece) if what == "citations" else isinstance(piece, str) and piece
    return Grew(_index(fields), what, piece) if usable else Working()


def _index(fields: Mapping[str, object]) -> int:
    index = fields.get("index")
    return index if isinstance(index, int) else LAST_BLOCK


def _usage(usage: object) -> Usage:
    fields: Mapping[str, object] = usage if _is_object(usage) else {}

    by_service = fields.get("server_tool_use")
    return Usage(
        _count(fields, "input_tokens"),
        _count(fields, "cache_creation_input_tokens"),
        _count(fields, "cache_read_input_tokens"),
        _count(fields, "output_tokens"),
        min(_count(by_service, "web_search_requests") or 0, MOST_SEARCHES) if _is_object(by_service) else 0,
    )


def _count(fields: Mapping[str, object], name: str) -> int | None:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def _failure(error: object) -> Failure:
    fields: Mapping[str, object] = error if _is_object(error) else {}
    error_type, code = fields.get("type"), fields.get("code")
    name = error_type if isinstance(error_type, str) else ""
    status = code if isinstance(code, int) else 200
    message = str(fields.get("message", ""))
    kind = kind_of(status, name, message=message)
    about_tools = refuses_tools(kind, message)
    detail = f"error event in mid-stream: {names(name) or status}"
    return Failure("rejected" if about_tools else kind, detail, about_tools=about_tools)


def _object(value: object) -> Mapping[str, object]:
    if not _is_object(value):
        raise ValueError("not an event of the Messages API")
    return value


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)
