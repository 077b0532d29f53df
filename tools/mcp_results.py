"""What MCP servers list and answer, as koi shows it to a model: named, measured, marked as data. Pure."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from infra.clean import clean
from infra.tags import KOI_TAGS, disarmed

NAME_CHARS = 64
"""Of a tool's name; the characters are those of `ODD` (Anthropic's API reference, tools, read 2026-11-30)."""
ODD = re.compile("[^a-zA-Z0-9_-]")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What the same API takes as the name of an argument; one other makes it refuse the whole request."""
HASH_CHARS = 8
DESCRIPTION_CHARS = 400
SCHEMA_BYTES = 4096
RESULT_CHARS = 8000
"""Of one result before it is escaped: `HEAD_SHARE` of it from the beginning, the rest from the end."""
HEAD_SHARE = 0.75
TAG = "tool_output"
TAGS = (*KOI_TAGS, "tooloutput")


class NotSent(Exception):
    """The server is not reached, or does not know us any more: what was asked is not done."""


class Said(Exception):
    """The server refused; the message is its own words."""


class Unclear(Exception):
    """It was asked, and there is no answer: done or not."""


type Outcome = Literal["done", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server lists it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads_only: bool
    """By the server's own word."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said to a call."""

    parts: tuple[str, ...]
    """Text as it is, all else as one line that names it."""
    structured: Any = None
    is_error: bool = False
    has_text: bool = True


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that may be used now."""

    name: str
    """`server__tool`."""
    description: str
    schema: str
    """JSON of an object schema."""
    reads_only: bool
    """The server says that it changes nothing; its word is all there is."""
    server: str = ""
    tool: str = ""
    """As the server calls it."""


@dataclass(frozen=True, slots=True)
class Called:
    """What came of a call."""

    text: str
    """For the model."""
    outcome: Outcome
    """unknown: it may have been done or not."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of one server, and those that cannot be offered: the server's name for it → why."""

    tools: tuple[Offered, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])


def offer(server: str, listed: Sequence[Listed], allowed: Sequence[str], *, most: int) -> Offer:
    """In order of their names, so that a prompt which holds them stays the same.

    allowed: by the server's names; empty: all. most: how many at most.
    """
    tools: dict[str, Offered] = {}
    left_out: dict[str, str] = {}
    for one in sorted(listed, key=lambda tool: tool.name):
        if allowed and one.name not in allowed:
            continue
        name, why = tool_name(server, one.name), unusable(one.schema)
        if not why:
            why = "name_taken" if name in tools else "too_many" if len(tools) >= most else ""
        if why:
            left_out[one.name] = why
            continue
        description = disarmed(clean(one.description).strip()[:DESCRIPTION_CHARS], TAGS)
        tools[name] = Offered(name, description, _json(one.schema), one.reads_only, server, one.name)
    names = {one.name for one in listed}
    left_out |= {name: "not_listed" for name in allowed if name not in names}
    return Offer(tuple(tools.values()), left_out)


def tool_name(server: str, tool: str) -> str:
    """`server__tool`; a name with other letters, or too long, is mended, and told apart by a hash of what it was."""
    plain = f"{server}__{ODD.sub('_', tool)}"
    if len(plain) <= NAME_CHARS and not ODD.search(tool):
        return plain
    mark = hashlib.sha256(tool.encode("utf-8", "replace")).hexdigest()[:HASH_CHARS]
    return f"{plain[: NAME_CHARS - HASH_CHARS - 1]}_{mark}"


def unusable(schema: Mapping[str, Any]) -> str:
    """Why model services would refuse a request that holds this schema, and with it every turn; "" if they would not."""
    found: object = schema.get("properties", {})
    if schema.get("type") != "object" or not isinstance(found, Mapping):
        return "no_object_schema"
    if any(word in schema for word in ("oneOf", "anyOf", "allOf")):
        return "alternatives_at_the_top"
    if not all(PROPERTY.fullmatch(str(name)) for name in cast("Mapping[str, object]", found)):
        return "odd_argument_name"
    if len(_json(schema).encode("utf-8", "replace")) > SCHEMA_BYTES:
        return "schema_too_long"
    return "" if _is_json_schema(schema) else "no_json_schema"


def result(server: str, answer: Answer) -> Called:
    """What a model is shown of an answer."""
    text = "\n".join(answer.parts)
    if not answer.has_text and answer.structured is not None:
        text = "\n".join(filter(None, [_json(answer.structured), text]))
    return Called(as_data(server, text), "failed" if answer.is_error else "done")


def as_data(server: str, text: str) -> str:
    """Marked as something that a server said; nothing in it can end the mark."""
    inside = disarmed(middle_cut(clean(text).strip(), RESULT_CHARS), TAGS)
    return f'<{TAG} server="{server}">\n{inside or "(nothing)"}\n</{TAG}>'


def middle_cut(text: str, most: int) -> str:
    """The beginning and the end of a text that is longer than `most` characters, and how many are missing between."""
    if len(text) <= most:
        return text
    head = int(most * HEAD_SHARE)
    tail = most - head
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{text[-tail:]}"


def _json(value: Any) -> str:
    """Compact. Not orjson, which refuses half characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _is_json_schema(schema: Mapping[str, Any]) -> bool:
    """By draft 2020-12, which model services want. Imported here: it comes and goes with mcp."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415

    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError:
        return False
    return True
