"""What of the remembered entries goes into the block. Pure; the one place that decides it."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.limits import MemoryLimits
from memory.summary import cut
from memory.tokens import estimate_tokens
from schemas.memory import RingEntry

FRAME_TOKENS = 45
"""Tags, heading and the label of the current message, in the longest of our languages."""
QUOTE_TOKENS = 20
"""Time stamp, names and line ends of one quoted entry."""
MOST_CHARS_PER_TOKEN = 10
"""More than prose has; what is longer does not fit and need not be counted."""


@dataclass(frozen=True, slots=True)
class Quote:
    """One entry as it is quoted."""

    entry: RingEntry
    user: str
    reply: str


def pick(entries: Sequence[RingEntry], message: str, limits: MemoryLimits) -> tuple[Quote, ...]:
    """Quotes, oldest first, that together stay within `limits.budget_tokens` (strategy "last" counts entries instead).

    "select": the newest first, verbatim while that fits, else by summary, else not; the newest never not at all.
    "last": the newest `limits.last` by summary.
    message: what the person asks now; does not matter yet.
    """
    if limits.strategy == "last":
        return tuple(_by_summary(entry) for entry in entries[-limits.last :])
    left = limits.budget_tokens - FRAME_TOKENS
    quotes: list[Quote] = []
    for entry in reversed(entries):
        quote, cost = _best(entry, left)
        if quote is None and not quotes:
            quote, cost = _squeezed(entry, left), left
        if quote is not None:
            quotes.append(quote)
            left -= cost
    return tuple(reversed(quotes))


def _best(entry: RingEntry, left_tokens: int) -> tuple[Quote | None, int]:
    """The fullest way to quote an entry that fits into what is left, and what it costs."""
    if left_tokens <= QUOTE_TOKENS:
        return None, 0
    base = QUOTE_TOKENS + estimate_tokens(entry.user_message)
    for way in (_verbatim(entry), _by_summary(entry)):
        if len(way.reply) > left_tokens * MOST_CHARS_PER_TOKEN:
            continue
        cost = base + estimate_tokens(way.reply)
        if cost <= left_tokens:
            return way, cost
    return None, 0


def _verbatim(entry: RingEntry) -> Quote:
    return Quote(entry, entry.user_message, entry.reply or entry.summary)


def _by_summary(entry: RingEntry) -> Quote:
    is_cut = len(entry.reply) > len(entry.summary)
    return Quote(entry, entry.user_message, f"{entry.summary} …" if is_cut else entry.summary)


def _squeezed(entry: RingEntry, left_tokens: int) -> Quote:
    """Half of what is left for each side; a character is at most about a token."""
    most_chars = max(1, (left_tokens - QUOTE_TOKENS) // 2)
    return Quote(entry, cut(entry.user_message, most_chars), cut(entry.summary, most_chars))
