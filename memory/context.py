"""The block that tells a new session what was said before it. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from memory.labels import Labels
from memory.limits import MemoryLimits
from memory.neutralise import for_model, neutralise
from memory.pick import Quote, pick
from schemas.memory import RingEntry, Session

OPEN, CLOSE = "<conversation_history>", "</conversation_history>"
TIME = "[%d.%m. %H:%M]"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Block:
    """What goes before a message."""

    text: str
    """From the opening tag to the label of the current message and a space: put the message right behind it."""
    entry_ids: tuple[str, ...]
    """The entries quoted, oldest first."""
    oldest_ms: int
    """Stamp of the oldest of them: with it the text expires."""


def fresh_entries(entries: Sequence[RingEntry], lane: str, session: Session | None) -> tuple[RingEntry, ...]:
    """What the model has yet to be told: all, if a session starts; else what other lanes added since its last context.

    By ids, not stamps: an entry may be committed after a later-stamped one, and clocks jump.
    """
    if session is None:
        return tuple(entries)
    return tuple(entry for entry in entries if entry.lane != lane and entry.id not in session.seen)


def build_block(
    entries: Sequence[RingEntry], labels: Labels, zone: tzinfo, limits: MemoryLimits, message: str
) -> Block | None:
    """The block for `message` from these entries (oldest first), times in `zone`; None if there is nothing to tell."""
    quotes = pick(entries, message, limits)
    if not quotes:
        return None
    parts = [labels.heading, *(_quote_text(quote, labels, zone) for quote in quotes)]
    return Block(
        text=f"{OPEN}\n{'\n\n'.join(parts)}\n{CLOSE}\n\n{labels.current} ",
        entry_ids=tuple(quote.entry.id for quote in quotes),
        oldest_ms=min(quote.entry.at_ms for quote in quotes),
    )


def with_block(block: Block | None, message: str) -> str:
    """What the model is sent for `message`; never blank."""
    return (block.text if block else "") + for_model(message)


def _quote_text(quote: Quote, labels: Labels, zone: tzinfo) -> str:
    said_at = (EPOCH + timedelta(milliseconds=quote.entry.at_ms)).astimezone(zone)
    user, reply = _quoted(quote.user, labels), _quoted(quote.reply, labels)
    return f"{said_at.strftime(TIME)}\n{labels.user} {user}\n{labels.bot} {reply}"


def _quoted(text: str, labels: Labels) -> str:
    """Neutral, and with `> ` before lines that look like the frame of another entry."""
    return _frame_lines(labels).sub(r"\1> ", neutralise(text))


@lru_cache(maxsize=32)
def _frame_lines(labels: Labels) -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in (labels.heading, labels.user, labels.bot, labels.current))
    return re.compile(rf"(\n[^\S\n]*)(?=\[\d\d\.\d\d\. \d\d:\d\d\]|{words})", re.IGNORECASE)
