"""Markdown, as models write it, into Telegram's messages. Pure.

Text and entities instead of a parse_mode: unbalanced markup cannot be refused, and lengths are those that people see.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import islice, pairwise
from typing import Any

from bot.split import Entity, Part, split
from infra.clean import clean

MARKUP = re.compile(
    r"`|~~|\|\||\$[^$]*\$"  # code, strikethrough, spoilers, math
    r"|(?<!\w)_|_(?!\w)|\*(?=\S)|(?<=\S)\*"  # emphasis; not my_var, not 5 * 3
    r"|\\(?:[^\w\s]|$)|\][(\[:]"  # escapes, links
    r"|<[A-Za-z/!?]|&#?\w+;"  # tags, autolinks, character references
    r"|^[ \t]*(?:[-+*](?:[ \t]|$)|--|=|\||:-|>|#{1,6}(?:[ \t]|$)|\d+[.)](?:[ \t]|$))"  # lists, headings, tables, quotes
    r"|^(?: {4}| {0,3}\t)",  # indented code
    re.MULTILINE,
)
"""A text without any of these is what it looks like."""

URL = re.compile(r"https?://[^\s<>()\[\]`\"'*]+")
WORD = re.compile(r"[^\W_]{2,}")
NO_WORD = re.compile(r"^( {0,3}(?:`{3,}+|~{3,}+)[^`\n,]*+),[^`\n]*$|&#?\w+;|\\[A-Za-z]+", re.MULTILINE)
"""What stands behind the language of a code block, character references, LaTeX commands: may vanish when rendered."""

MOST_MARKS = 4_000
"""More than this is no text with markup but a pattern, and would hold up the whole process for seconds."""
MOST_GROWTH, GROWTH_UNITS = 2, 1_000
"""Markdown gets shorter when it is rendered. What grows beyond `MOST_GROWTH` times its length and this (lists in lists,
hundreds deep: their indentation grows with the square) would become hundreds of messages.
"""

SPLITTABLE = {"bold", "italic", "underline", "strikethrough", "spoiler"}
QUOTES = {"blockquote", "expandable_blockquote"}
VERBATIM = {"code", "pre"}


def render(text: str, *, plain: bool = False) -> tuple[Part, ...]:
    """The messages that show `text`; at least one, none empty, none of its words lost.

    plain: `text` is no Markdown.
    """
    text = clean(text)
    if plain or not 0 < _marks(text) <= MOST_MARKS:
        return split(text)
    shown, entities = _convert(text)
    if len(shown) > MOST_GROWTH * len(text) + GROWTH_UNITS or _lost(text, shown, entities):
        return split(text)
    return split(shown, legal(entities))


def _marks(text: str) -> int:
    """How much markup is in it; not counted further than MOST_MARKS + 1."""
    return sum(1 for _ in islice(MARKUP.finditer(text), MOST_MARKS + 1))


def legal(entities: Iterable[Entity]) -> list[Entity]:
    """What Telegram's nesting rules leave of the entities: quotes hold no quotes, links only styles, code nothing; styles
    stop where code begins; and what would overlap in part is cut where the other one ends.
    """
    ordered = sorted(entities, key=lambda e: (e["offset"], -e["length"]))
    quotes = _apart(e for e in ordered if e["type"] in QUOTES)
    whole = _apart(e for e in ordered if e["type"] not in QUOTES | SPLITTABLE)
    holes = [(e["offset"], _end(e)) for e in whole if e["type"] in VERBATIM]
    styles = [piece for e in ordered if e["type"] in SPLITTABLE for piece in _without(e, holes)]
    return _nested(quotes + whole + styles)


def _end(entity: Entity) -> int:
    return entity["offset"] + entity["length"]


def _apart(entities: Iterable[Entity]) -> list[Entity]:
    """The first, and each further one that begins after the last kept one ended."""
    kept: list[Entity] = []
    for entity in entities:
        if entity["length"] > 0 and (not kept or entity["offset"] >= _end(kept[-1])):
            kept.append(entity)
    return kept


def _without(entity: Entity, holes: Sequence[tuple[int, int]]) -> list[Entity]:
    """The pieces of an entity outside of the holes (in order, apart)."""
    pieces: list[Entity] = []
    at, end = entity["offset"], _end(entity)
    for start, stop in [*holes, (end, end)]:
        until = min(start, end)
        if at < until:
            pieces.append({**entity, "offset": at, "length": until - at})
        at = max(at, stop)
    return pieces


def _nested(entities: Iterable[Entity]) -> list[Entity]:
    """Sorted, outer ones first; one that ends after what it began in is cut in two."""
    queue = [(e["offset"], -e["length"], number, e) for number, e in enumerate(entities)]
    heapify(queue)
    kept: list[Entity] = []
    around: list[int] = []
    """Ends of the entities that the current one stands in."""
    while queue:
        start, minus_length, number, entity = heappop(queue)
        end = start - minus_length
        while around and around[-1] <= start:
            around.pop()
        if around and end > around[-1]:
            rest = {**entity, "offset": around[-1], "length": end - around[-1]}
            heappush(queue, (rest["offset"], -rest["length"], number, rest))
            end = around[-1]
        kept.append({**entity, "offset": start, "length": end - start})
        around.append(end)
    return kept


def _convert(text: str) -> tuple[str, list[Entity]]:
    convert, config = _converter()
    shown, entities = convert(_with_tags_shown(text), config=config)
    return shown, [entity.to_dict() for entity in entities]


@cache
def _converter() -> tuple[Any, Any]:
    """telegramify-markdown, loaded when the first Markdown comes, with a configuration of our own."""
    from telegramify_markdown import RenderConfig, convert  # noqa: PLC0415

    config = RenderConfig.isolated()
    for level in range(1, 7):
        setattr(config.markdown_symbol, f"heading_level_{level}", "")
    config.markdown_symbol.unordered_list_item = "•"
    return convert, config


def _with_tags_shown(text: str) -> str:
    """HTML escaped where the parser would take it for HTML (and drop it): people see the tag that was written."""
    import pyromark  # noqa: PLC0415 — telegramify's parser
    from telegramify_markdown.converter import STANDARD_OPTIONS  # noqa: PLC0415

    source = text.encode()
    while b"<" in source:
        events = pyromark.events_with_range(source.decode(), options=STANDARD_OPTIONS)
        spots = {source.find(b"<", r["start"], r["end"]) for event, r in events if _is_html(event)} - {-1}
        if not spots:
            break
        edges = [0, *sorted(spots), len(source)]
        source = b"\\".join(source[a:b] for a, b in pairwise(edges))
    return source.decode()


def _is_html(event: Any) -> bool:
    return isinstance(event, dict) and ("Html" in event or "InlineHtml" in event)


def _lost(source: str, shown: str, entities: Iterable[Entity]) -> bool:
    """Whether a word or an address of the source is neither in the text nor behind a link: then plain text is better."""
    behind = " ".join(f"{e.get('url', '')} {e.get('language', '')}" for e in entities)
    there = f"{shown} {behind}"
    if any(url not in there for url in URL.findall(source)):
        return True
    return bool(Counter(WORD.findall(NO_WORD.sub(r"\1 ", source))) - Counter(WORD.findall(there)))
