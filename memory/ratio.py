"""How far a model's own token counts are from koi's estimate, learned per chat and model from what the API returns.

Every tokenizer cuts differently (Claude 5.x makes about 30 % more tokens than the models before it) and every chat has
its own mixture of languages and tables, but from one turn to the next both stay much the same. Pure.
"""

from dataclasses import dataclass
from math import isfinite

RESERVE = 0.20
"""Share of a budget that is left free: no estimate is exact."""
RATE = 0.6
"""How much of what a turn shows is believed at once."""
ERROR_RATE = 0.2
LEAST_MARGIN = 0.02
FIRST_R, FIRST_MARGIN = 1.1, 0.08
"""Before anything is known. All five: from the context study (docs/decisions/0016), checked by bench.tokens."""
LEAST_R, MOST_R = 0.4, 3.0
"""No tokenizer is further off than this on what people write; other numbers come from broken servers."""
MOST_JUMP = 2.0
"""One turn counts as at most this many times more, or less, than expected."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """What is known of one model in one chat."""

    r: float
    """Real tokens for one estimated token, LEAST_R … MOST_R."""
    error: float
    """Moving average of how far off the corrected estimates were, as a share, 0 … 1."""
    seen: int
    """Turns it was learned from."""


def start() -> Ratio:
    """Nothing is known yet: rather too many."""
    return Ratio(FIRST_R, FIRST_MARGIN, 0)


def factor(ratio: Ratio) -> float:
    """What to multiply estimates by, so that few are too low: the ratio and a margin for its recent errors."""
    return ratio.r * (1 + max(LEAST_MARGIN, ratio.error))


def learn(ratio: Ratio, estimated: int, actual: int | None) -> Ratio:
    """What a turn taught.

    estimated: plain estimate (memory.tokens, not yet multiplied) of the payload that was answered, system prompt
    included. actual: its input tokens by the API: plain, written to the cache, and read from it, together; None or 0: the
    service did not say, and nothing is learned.
    """
    if not actual or actual < 0 or estimated <= 0:
        return ratio
    shown = min(max(actual / estimated, ratio.r / MOST_JUMP), ratio.r * MOST_JUMP)
    error = min(abs(shown / ratio.r - 1), 1.0)
    return Ratio(
        r=_within(ratio.r + RATE * (shown - ratio.r), LEAST_R, MOST_R),
        error=ratio.error + ERROR_RATE * (error - ratio.error),
        seen=ratio.seen + 1,
    )


def estimate_room(budget_tokens: int, ratio: Ratio) -> int:
    """How many tokens by plain estimate may be sent, so that the budget and its reserve hold."""
    return max(int(budget_tokens * (1 - RESERVE) / factor(ratio)), 0)


def pack(ratio: Ratio) -> str:
    """For a field of the hash keys.ratios: "1.2874 0.0213 7"."""
    return f"{ratio.r:.4f} {ratio.error:.4f} {ratio.seen}"


def unpack(text: str | bytes | None) -> Ratio:
    """What `pack` wrote; `start()` for nothing, and for anything that is no ratio."""
    words = (text or b"").split()
    try:
        r, error, seen = float(words[0]), float(words[1]), int(words[2])
    except (ValueError, IndexError):
        return start()
    if not (isfinite(r) and isfinite(error)):
        return start()
    return Ratio(_within(r, LEAST_R, MOST_R), _within(error, 0.0, 1.0), max(seen, 0))


def _within(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)
