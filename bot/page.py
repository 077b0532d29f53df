"""A text with entities while it is made. Pure.

Here entities count code points; `in_units` turns them into the UTF-16 units of Telegram when all is done.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from bot.split import Entity

QUOTES = {"blockquote", "expandable_blockquote"}


class Page:
    """Text that is written from its beginning to its end, and the entities over it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.size = 0
        """Code points written."""
        self.entities: list[Entity] = []
        self.line_ends = 0
        """How many line ends it ends with."""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, text: str) -> None:
        if not text:
            return
        self._pieces.append(text)
        self.size += len(text)
        ended = len(text) - len(text.rstrip("\n"))
        self.line_ends = self.line_ends + ended if ended == len(text) else ended

    def mark(self, kind: str, start: int, **more: str) -> None:
        """An entity from `start` to what was written last; none if that is nothing."""
        if self.size > start:
            given = {name: value for name, value in more.items() if value}
            self.entities.append({"type": kind, "offset": start, "length": self.size - start, **given})

    def since(self, start: int) -> str:
        """What was written from `start` on."""
        taken: list[str] = []
        size = self.size
        for piece in reversed(self._pieces):
            if size <= start:
                break
            size -= len(piece)
            taken.append(piece)
        return "".join(reversed(taken))[max(0, start - size) :]

    def append(self, other: "Page") -> None:
        """All of another page."""
        self.entities += [{**e, "offset": e["offset"] + self.size} for e in other.entities]
        self.write(other.text)


def end_of(entity: Entity) -> int:
    return entity["offset"] + entity["length"]


def between(entities: Iterable[Entity], start: int, end: int) -> list[Entity]:
    """What of the entities lies over text[start:end], counted from `start`."""
    kept: list[Entity] = []
    for entity in entities:
        first, last = max(entity["offset"], start), min(end_of(entity), end)
        if first < last:
            kept.append({**entity, "offset": first - start, "length": last - first})
    return kept


def edited(
    text: str, entities: Iterable[Entity], edits: Sequence[tuple[int, int, str]]
) -> tuple[str, list[Entity]]:
    """With text[start:end] replaced for each (start, end, new) of `edits`, which are in order and apart.

    What is put where an entity begins stays outside of it, unless that is a quote.
    """
    starts = [start for start, _, _ in edits]
    shifts = [0, *accumulate(len(new) - (end - start) for start, end, new in edits)]

    def moved(at: int, *, behind: bool) -> int:
        done = bisect_right(starts, at) if behind else bisect_left(starts, at)
        if done and edits[done - 1][1] > at:
            return starts[done - 1] + shifts[done - 1] + len(edits[done - 1][2])
        return at + shifts[done]

    edges = [0, *(edge for start, end, _ in edits for edge in (start, end)), len(text)]
    kept = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    whole = "".join(
        piece for pair in zip(kept, [*(new for _, _, new in edits), ""], strict=True) for piece in pair
    )
    changed: list[Entity] = []
    for entity in entities:
        first = moved(entity["offset"], behind=entity["type"] not in QUOTES)
        last = moved(end_of(entity), behind=False)
        if first < last:
            changed.append({**entity, "offset": first, "length": last - first})
    return whole, changed


def in_units(text: str, entities: Iterable[Entity]) -> list[Entity]:
    """The entities counted in UTF-16 units."""
    wide = [] if text.isascii() else [i for i, char in enumerate(text) if char > "\uffff"]
    counted: list[Entity] = []
    for entity in entities:
        first, last = entity["offset"], end_of(entity)
        before, within = bisect_left(wide, first), bisect_left(wide, last)
        counted.append({**entity, "offset": first + before, "length": last + within - first - before})
    return counted
