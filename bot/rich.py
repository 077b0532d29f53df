"""Markdown into rich messages (Bot API 10.2, InputRichMessage), where they show more than text with entities. Pure.

A rich part is a stretch of the Markdown with the message that it makes; its entities are made if Telegram refuses that. What
a rich message cannot hold, or an ordinary one shows better, leaves as ordinary parts in its place: no block is cut.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from bot.direction import runs_right
from bot.markdown import Shown, named
from bot.render import MOST_MARKS, lost, marks, render
from bot.rich_text import Json, said_of, size_of
from bot.rich_walk import RichWalk
from bot.source import Events, parsed
from bot.split import Part, visible
from infra.clean import clean

MOST_BYTES = 32_768
"""Of the texts of a message, UTF-8. Telegram counts characters: fewer, whatever it takes for one."""
MOST_BLOCKS = 500
"""With items and rows."""
MOST_DEPTH = 16
"""Of blocks, items, rows and styles within each other."""
MOST_COLUMNS = 20
"""Limits: Bot API, "Rich Message Limits"."""
IN_PLACE = frozenset({"Inline", "Autolink", "Email"})
"""Kinds of links that hold their address."""


@dataclass(frozen=True, slots=True)
class Made:
    """The rich message that a stretch of Markdown makes."""

    blocks: Sequence[Json]
    said: str
    """Its words and addresses in order."""
    gains: bool
    """It shows what an ordinary message cannot."""
    size: tuple[int, int]
    """Bytes and blocks."""

    def message(self) -> Json:
        """An InputRichMessage."""
        return {"blocks": self.blocks, **({"is_rtl": True} if runs_right(self.said) else {})}


def rich(text: str) -> tuple[Part, ...]:
    """The messages and files that show `text`, in order, some of them rich; none of its words lost."""
    text = clean(text)
    found = parsed(text) if 0 < marks(text) <= MOST_MARKS else None
    if found is None:
        return render(text)
    runs = [(run, made if made and made.gains else None) for run, made in _runs(_sections(*found))]
    if not any(made for _, made in runs):
        return render(text)
    parts: list[Part] = []
    for is_rich, group in groupby(runs, key=lambda one: one[1] is not None):
        if is_rich:
            parts += [Part(run.strip("\n"), rich=made.message()) for run, made in group if made]
        elif visible(ordinary := "".join(run for run, _ in group)):
            parts += render(ordinary)
    return tuple(parts)


def _sections(source: bytes, events: Events) -> list[str]:
    """The source cut before each of its outermost blocks; whole, if links in it name addresses that stand elsewhere."""
    starts: list[int] = []
    depth = 0
    for event, place in events:
        if depth == 0:
            starts.append(source.rfind(b"\n", 0, place["start"]) + 1)
        name, tag = named(event)
        depth += (name == "Start") - (name == "End")
        if name == "Start" and _points_elsewhere(tag):
            return [source.decode()]
    edges = [0, *dict.fromkeys(start for start in starts if start > 0), len(source)]
    return [source[a:b].decode() for a, b in pairwise(edges)]


def _points_elsewhere(tag: Any) -> bool:
    name, link = named(tag)
    return name in {"Link", "Image"} and link["link_type"] not in IN_PLACE


def _runs(sections: Iterable[str]) -> Iterable[tuple[str, Made | None]]:
    """Sections that make one rich message, as many as it takes, and those that make none."""
    run, used_bytes, used_blocks = "", 0, 0
    for section in sections:
        made = _made(section)
        bytes_, blocks = made.size if made else (0, 0)
        if run and (made is None or used_bytes + bytes_ > MOST_BYTES or used_blocks + blocks > MOST_BLOCKS):
            yield run, _made(run)
            run, used_bytes, used_blocks = "", 0, 0
        if made is None:
            yield section, None
        else:
            run, used_bytes, used_blocks = run + section, used_bytes + bytes_, used_blocks + blocks
    if run:
        yield run, _made(run)


def _made(text: str) -> Made | None:
    """None: an ordinary message is better, or needed."""
    found = parsed(text)
    if found is None:
        return None
    source, events = found
    walk = RichWalk(source)
    walk.run(events)
    walk.paragraph_end()
    said = said_of({"blocks": walk.blocks})
    size, bytes_ = size_of(walk.blocks), len(said.encode())
    fits = (
        walk.fits
        and bytes_ <= MOST_BYTES
        and size.blocks <= MOST_BLOCKS
        and size.depth <= MOST_DEPTH
        and size.columns <= MOST_COLUMNS
        and not lost(text, Shown(said, [], tuple(walk.drawn)))
    )
    return Made(walk.blocks, said, walk.gains, (bytes_, size.blocks)) if fits else None
