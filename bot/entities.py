"""Entities under Telegram's nesting rules. Pure; right for any unit that offsets count, the same for all."""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from bot.page import QUOTES, end_of
from bot.split import Entity

SPLITTABLE = {"bold", "italic", "underline", "strikethrough", "spoiler"}
VERBATIM = {"code", "pre"}


def legal(entities: Iterable[Entity]) -> list[Entity]:
    """What Telegram's nesting rules leave of the entities: quotes hold no quotes, links only styles, code nothing; styles
    stop where code begins; and what would overlap in part is cut where the other one ends.
    """
    ordered = sorted(entities, key=lambda e: (e["offset"], -e["length"]))
    quotes = _apart(e for e in ordered if e["type"] in QUOTES)
    whole = _apart(e for e in ordered if e["type"] not in QUOTES | SPLITTABLE)
    holes = [(e["offset"], end_of(e)) for e in whole if e["type"] in VERBATIM]
    styles = [piece for e in ordered if e["type"] in SPLITTABLE for piece in _without(e, holes)]
    return _nested(quotes + whole + styles)


def _apart(entities: Iterable[Entity]) -> list[Entity]:
    """The first, and each further one that begins after the last kept one ended."""
    kept: list[Entity] = []
    for entity in entities:
        if entity["length"] > 0 and (not kept or entity["offset"] >= end_of(kept[-1])):
            kept.append(entity)
    return kept


def _without(entity: Entity, holes: Sequence[tuple[int, int]]) -> list[Entity]:
    """The pieces of an entity outside of the holes (in order, apart)."""
    pieces: list[Entity] = []
    at, end = entity["offset"], end_of(entity)
    for start, stop in [*holes, (end, end)]:
        until = min(start, end)
        if at < until:
            pieces.append({**entity, "offset": at, "length": until - at})
        at = max(at, stop)
    return pieces


def _nested(entities: Iterable[Entity]) -> list[Entity]:
    """Sorted, outer ones first; one that ends after what it began in is cut in two; none in one of its own kind."""
    queue = [(e["offset"], -e["length"], number, e) for number, e in enumerate(entities)]
    heapify(queue)
    kept: list[Entity] = []
    around: list[Entity] = []
    """What the current one stands in."""
    while queue:
        start, minus_length, number, entity = heappop(queue)
        end = start - minus_length
        while around and end_of(around[-1]) <= start:
            around.pop()
        if around and end > end_of(around[-1]):
            edge = end_of(around[-1])
            rest = {**entity, "offset": edge, "length": end - edge}
            heappush(queue, (rest["offset"], -rest["length"], number, rest))
            end = edge
        piece = {**entity, "offset": start, "length": end - start}
        if not any(outer["type"] == piece["type"] for outer in around):
            kept.append(piece)
            around.append(piece)
    return kept
