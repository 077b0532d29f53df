"""What the model was given, as a stacked bar against the budget, and what was left out. Pure."""

from collections import Counter
from dataclasses import dataclass

from schemas.turn import LeftOut, PartKind, TurnRecord

GROUPS: dict[PartKind, str] = {
    "system": "instructions", "offer": "tools", "person": "person", "summary": "summary", "exchange": "earlier",
    "tools": "steps", "round": "steps", "files": "files", "block": "memory", "note": "message", "message": "message",
}  # fmt: skip
"""Kind of part → what it is called on the page (dashboard.kinds.PARTS) and its class in pages.css."""
ORDER = ("instructions", "tools", "person", "memory", "summary", "earlier", "steps", "files", "message")


@dataclass(frozen=True, slots=True)
class Share:
    """One part of the bar."""

    group: str
    tokens: int
    """Corrected for model and chat."""
    percent: float


@dataclass(frozen=True, slots=True)
class Dropped:
    """Things of one kind that were left out for one reason."""

    kind: str
    why: str
    count: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Xray:
    """Percent: of the budget, or of what was sent, if that is more."""

    shares: tuple[Share, ...]
    tokens: int
    budget: int
    free_percent: float
    dropped: tuple[Dropped, ...]

    @property
    def is_over(self) -> bool:
        """More than the budget: what is never cut did not fit into it."""
        return self.tokens > self.budget


def xray(record: TurnRecord) -> Xray:
    """Parts of one kind together, in the order of ORDER."""
    plain = Counter[str]()
    for part in record.parts:
        plain[GROUPS[part.kind]] += part.tokens
    sizes = {group: round(plain[group] * record.correction) for group in ORDER if plain[group]}
    tokens = sum(sizes.values())
    whole = max(1, tokens, record.budget_tokens)
    shares = tuple(Share(group, size, round(100 * size / whole, 2)) for group, size in sizes.items())
    return Xray(
        shares, tokens, record.budget_tokens, round(100 * (whole - tokens) / whole, 2), dropped_of(record)
    )


def dropped_of(record: TurnRecord) -> tuple[Dropped, ...]:
    """The most tokens first."""
    grouped: dict[tuple[str, str], list[LeftOut]] = {}
    for one in record.left_out:
        grouped.setdefault((one.kind, one.why), []).append(one)
    found = (
        Dropped(kind, why, len(ones), round(sum(one.tokens for one in ones) * record.correction))
        for (kind, why), ones in grouped.items()
    )
    return tuple(sorted(found, key=lambda one: -one.tokens))
