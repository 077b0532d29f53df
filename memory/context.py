"""The block that tells a new session what was said before it. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal

from infra.cut import cut
from memory.features import entry_tokens
from memory.labels import Labels
from memory.limits import MemoryLimits
from memory.neutralise import for_model, neutralise
from memory.pick import Quote, pick
from memory.tokens import estimate_tokens
from schemas.memory import RingEntry, Session

OPEN, CLOSE = "<conversation_history>", "</conversation_history>"
TIME = "%d.%m. %H:%M"
WORKDIR_CHARS = 40
LINE_ENDS = "\n\u2028\u2029"
UNSEEN = "\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
"""Characters without a shape, which do not hide that a line begins like an entry; a class of `re`."""
PATH_SIGNS = frozenset("/\\")
NO_BRACKETS = str.maketrans("[]", "  ")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What of one entry the block does not tell."""

    entry_id: str
    tokens: int
    """Estimate."""
    why: Literal["budget", "summary", "last"]
    """It did not fit; the strategy "last" quotes summaries; it is older than the entries which that quotes."""


@dataclass(frozen=True, slots=True)
class Block:
    """What goes before a message."""

    text: str
    """From the opening tag to the label of the current message and a space: put the message right behind it."""
    entry_ids: tuple[str, ...]
    """The entries quoted, oldest first."""
    oldest_ms: int
    """Stamp of the oldest of them: with it the text expires."""
    tokens: int = 0
    """Estimate of `text`, uncorrected."""
    left_out: tuple[LeftOut, ...] = ()
    """What the entries hold beside what is quoted, oldest first."""


def fresh_entries(
    entries: Sequence[RingEntry], lane: str, session: Session | None, project: str = ""
) -> tuple[RingEntry, ...]:
    """What the model has yet to be told: all, if a session starts; else what other lanes, and other projects of this one,
    added since its last context.

    By ids, not stamps: an entry may be committed after a later-stamped one, and clocks jump.
    """
    if session is None:
        return tuple(entries)
    return tuple(
        entry
        for entry in entries
        if (entry.lane != lane or entry.workdir != project) and entry.id not in session.seen
    )


def build_block(
    entries: Sequence[RingEntry], labels: Labels, zone: tzinfo, limits: MemoryLimits, message: str
) -> Block | None:
    """The block for `message` from these entries (oldest first), times in `zone`; None if there is nothing to tell."""
    frame = _Frame(labels, zone)
    quotes = pick(entries, message, limits, frame.count)
    if not quotes:
        return None
    if quotes is not frame.quotes:
        frame.count(quotes)
    return Block(
        text=frame.text,
        entry_ids=tuple(quote.entry.id for quote in quotes),
        oldest_ms=min(quote.entry.at_ms for quote in quotes),
        tokens=frame.tokens,
        left_out=_left_out(entries, quotes, limits),
    )


def with_block(block: Block | None, message: str) -> str:
    """What the model is sent for `message`; never blank."""
    return (block.text if block else "") + for_model(message)


def _left_out(
    entries: Sequence[RingEntry], quotes: Sequence[Quote], limits: MemoryLimits
) -> tuple[LeftOut, ...]:
    by_id = {quote.entry.id: quote for quote in quotes}
    left: list[LeftOut] = []
    for entry in entries:
        quote = by_id.get(entry.id)
        if quote is not None and not quote.left_tokens:
            continue
        tokens = quote.left_tokens if quote else entry_tokens(entry)
        why = "budget" if limits.strategy == "select" else "summary" if quote else "last"
        left.append(LeftOut(entry.id, tokens, why))
    return tuple(left)


class _Frame:
    """What stands around the quotes; keeps what was counted last."""

    def __init__(self, labels: Labels, zone: tzinfo) -> None:
        self._labels = labels
        self._zone = zone
        self.quotes: Sequence[Quote] = ()
        self.text = ""
        self.tokens = 0

    def count(self, quotes: Sequence[Quote]) -> int:
        """Tokens of the block made of these quotes."""
        parts = [self._labels.heading, *map(self._entry, quotes)]
        self.quotes = quotes
        self.text = f"{OPEN}\n{'\n\n'.join(parts)}\n{CLOSE}\n\n{self._labels.current} "
        self.tokens = estimate_tokens(self.text)
        return self.tokens

    def _entry(self, quote: Quote) -> str:
        said_at = (EPOCH + timedelta(milliseconds=quote.entry.at_ms)).astimezone(self._zone)
        lines = [f"[{said_at.strftime(TIME)}{_where(quote.entry.workdir)}]"]
        if quote.user:
            lines.append(f"{self._labels.user} {_quoted(quote.user, self._labels)}")
        if quote.reply:
            lines.append(f"{self._labels.bot} {_quoted(quote.reply, self._labels)}")
        return "\n".join(lines)


@lru_cache(maxsize=256)
def _where(workdir: str) -> str:
    """Behind the time of an entry: " · garden"; "" for an entry of no project, and for the path of a folder (entries from
    a file, or of a program that uses the library). Whatever it is called, it stays one line between brackets.
    """
    if PATH_SIGNS.intersection(workdir):
        return ""
    name = " ".join(neutralise(workdir).translate(NO_BRACKETS).split())
    return f" · {cut(name, WORKDIR_CHARS)}" if name else ""


def _quoted(text: str, labels: Labels) -> str:
    """Neutral, and with `> ` before lines that look like the frame of another entry."""
    neutral = neutralise(text)
    if not any(end in neutral for end in LINE_ENDS):  # most: the pattern takes five times as long
        return neutral
    return _frame_lines(labels).sub(r"\1> ", neutral)


@lru_cache(maxsize=32)
def _frame_lines(labels: Labels) -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in (labels.heading, labels.user, labels.bot, labels.current))
    lead = rf"[{LINE_ENDS}](?:[^\S{LINE_ENDS}]|[{UNSEEN}])*"
    return re.compile(rf"({lead})(?=\[\d\d\.\d\d\. \d\d:\d\d|{words})", re.IGNORECASE)
