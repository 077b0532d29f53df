"""Cut a text with entities into parts that Telegram takes. Pure.

Entities are the Bot API's dicts; their offsets and lengths count UTF-16 units, as Telegram's limits do.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

type Entity = dict[str, Any]

PART_UNITS = 4096
"""UTF-16 units of one message (Bot API, sendMessage)."""
PART_ENTITIES = 100
"""Of one message; Telegram silently drops what is beyond."""
PLACEHOLDER = "…"
"""Sent for a text in which nothing can be seen: Telegram refuses an empty message."""
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")
"""Signs without a shape that Unicode counts among the letters and symbols."""

BREAKS = (
    re.compile(r"\n[ \t]*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?…؟۔।](?=[\s\"'”’»)\]])[\"'”’»)\]]*\s|[。！？]"),
    re.compile(r"\s"),
)
"""Where a text is cut, best first: after a paragraph, a line, a sentence, a word."""
LEAST_SHARE = 4
"""A better cut is taken if it leaves the part at least this fraction of what would fit."""


@dataclass(frozen=True, slots=True)
class Part:
    """One message or file of an answer."""

    text: str
    entities: tuple[Entity, ...] = ()
    file: str = ""
    """Name of the file that `text` is sent as; "" for a message."""
    rich: dict[str, Any] = field(default_factory=dict[str, Any])
    """The InputRichMessage that `text`, then Markdown, is sent as (bot.rich); {} for none."""


@dataclass(frozen=True, slots=True)
class _Span:
    """An entity over code points of the whole text."""

    start: int
    end: int
    entity: Entity


def split(
    text: str, entities: Sequence[Entity] = (), *, units: int = PART_UNITS, most: int = PART_ENTITIES
) -> tuple[Part, ...]:
    """Messages in order, at least one, none empty. Cuts after a paragraph, else a line, a sentence, a word, else between
    graphemes; within code only if that is longer than a message.

    What cannot be seen goes from the ends of parts. An entity over a cut continues in the next part.
    """
    if not entities and units_of(text) <= units:
        return (Part(text.strip("\n\r").rstrip() if visible(text) else PLACEHOLDER),)
    at_unit = _point_of(text)
    spans = [
        _Span(at_unit(e["offset"]), at_unit(e["offset"] + e["length"]), e)
        for e in sorted(entities, key=lambda e: (e["offset"], -e["length"]))
    ]
    solid = [(span.start, span.end) for span in spans if span.entity["type"] in {"pre", "code"}]
    parts: list[Part] = []
    start = 0
    while start < len(text):
        end = min(_fits(text, start, units), _room(spans, start, most, len(text)))
        if end < len(text):
            end = _cut(text, start, end, solid)
        part = _part(text, start, end, spans)
        if visible(part.text):
            parts.append(part)
        start = end
    return tuple(parts) or (Part(PLACEHOLDER),)


def visible(text: str) -> bool:
    """Whether something in it can be seen: not only spaces, controls, and characters of no width."""
    return any(unicodedata.category(char)[0] not in "CZ" and char not in BLANK for char in text)


def units_of(text: str) -> int:
    """UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _point_of(text: str) -> Callable[[int], int]:
    """Gives the code point index of a UTF-16 offset."""
    wide = [] if text.isascii() else [i for i, char in enumerate(text) if char > "\uffff"]
    wide_units = [index + before for before, index in enumerate(wide)]
    return lambda unit: unit - bisect_left(wide_units, unit)


def _fits(text: str, start: int, units: int) -> int:
    """The furthest end with at most `units` UTF-16 units from `start`."""
    end = min(len(text), start + units)
    while (over := units_of(text[start:end]) - units) > 0:
        end -= (over + 1) // 2
    return end


def _room(spans: Sequence[_Span], start: int, most: int, end: int) -> int:
    """The furthest end with at most `most` entities from `start`."""
    inside = [span.start for span in spans if span.end > start]
    return max(inside[most], start + 1) if len(inside) > most else end


def _cut(text: str, start: int, end: int, solid: Sequence[tuple[int, int]]) -> int:
    """Where to cut so that the part ends at or before `end`. solid: what is better not cut, in order and apart."""
    crossed = next((first for first, last in solid if start < first < end < last), None)
    if crossed is not None and text[start:crossed].strip():
        end = crossed
        if text[end - 1] == "\n":
            return end
    inside = [(first, last) for first, last in solid if first > start and last <= end]
    ends = [_last_end(pattern, text, start, end, inside) for pattern in BREAKS]
    least = start + (end - start) // LEAST_SHARE
    for found in (*(e for e in ends if e >= least), *ends):
        if found > start and text[start:found].strip():
            return found
    return end if end == crossed else _grapheme_end(text, start, end)


def _last_end(
    pattern: re.Pattern[str], text: str, start: int, end: int, solid: Sequence[tuple[int, int]]
) -> int:
    """The last end of a match that is not within a solid stretch; `start` if there is none."""
    best = start
    for found in pattern.finditer(text, start, end):
        at = found.end()
        if not any(first < at < last for first, last in solid):
            best = at
    return best


def _grapheme_end(text: str, start: int, end: int) -> int:
    """The last end of a grapheme up to `end`; `end` itself if one is longer than a part."""
    import regex  # noqa: PLC0415 — 10 MB, for the rare text without a space

    best = start
    for grapheme in regex.finditer(r"\X", text, pos=start, endpos=min(len(text), end + 64)):
        if grapheme.end() > end:
            break
        best = grapheme.end()
    return best if best > start else end


def _part(text: str, start: int, end: int, spans: Sequence[_Span]) -> Part:
    """The stretch without white space at its ends (indentation of its first line stays), entities clipped to it."""
    body = text[start:end].rstrip()
    first = len(body) - len(body.lstrip("\n\r")) + start
    last = start + len(body)
    clipped: list[Entity] = []
    for span in spans:
        begin, finish = max(span.start, first), min(span.end, last)
        if text[begin:finish].strip():
            offset, length = units_of(text[first:begin]), units_of(text[begin:finish])
            clipped.append({**span.entity, "offset": offset, "length": length})
    return Part(text[first:last], tuple(clipped))
