"""Which words of people and models a stored value holds: what /forget looks through. Pure."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, cast

import orjson

TEXT_FIELDS = ("user_message", "summary", "reply", "text", "argument", "forwarded_from")
"""Fields with words of people and models in RingEntry, InboundMessage and Reply; the rest are ids and names."""
FACT_FIELDS = ("subject", "text", "before")
"""The same in Fact."""


def folded(text: str) -> str:
    """Text for comparison: NFC, without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def texts_of(raw: bytes, fields: Sequence[str] = TEXT_FIELDS) -> Iterator[str]:
    """The words of people and models in a stored value of any version; all of it if it is not a JSON object."""
    value = object_of(raw)
    if value is None:
        yield raw.decode("utf-8", "replace")
        return
    for field in fields:
        if isinstance(value.get(field), str):
            yield value[field]
    for row in _list(value.get("buttons")):
        for button in _list(row):
            match button:
                case {"text": str() as label}:
                    yield label
                case _:
                    pass
    if isinstance(value.get("body"), str):  # a DeadLetter holds the item as it was stored
        yield from texts_of(value["body"].encode())


def strings_of(value: Any) -> Iterator[str]:
    """Every string in a JSON value, at any depth, also within a string that is JSON itself (the arguments of a call)."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        match part:
            case str():
                yield part
                if part.startswith(("{", "[")):
                    waiting.append(json_of(part.encode()))
            case dict():
                waiting += cast("dict[str, Any]", part).values()
            case list():
                waiting += cast("list[Any]", part)
            case _:
                pass


def json_of(raw: bytes) -> Any:
    """None for what is not JSON."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def object_of(raw: bytes) -> dict[str, Any] | None:
    value = json_of(raw)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
