"""What to do with a turn that failed or whose holders died. Pure."""

from dataclasses import dataclass

BACKOFF_FIRST_MS = 1_000
BACKOFF_LAST_MS = 60_000


@dataclass(frozen=True, slots=True)
class Again:
    """The same turn, later."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class Split:
    """Several messages failed together: try them one by one, so that only the poisonous one is given up."""


@dataclass(frozen=True, slots=True)
class Bury:
    """Give it up: dead letter and an honest notice."""


type Next = Again | Split | Bury


def after_failure(
    *, failures: int, attempts: int, items: int, final: bool, asked_ms: int | None, chance: float
) -> Next:
    """failures: including this one. asked_ms: "not before", by who failed. chance: 0…1, for jitter."""
    if final or failures >= attempts:
        return Split() if items > 1 else Bury()
    backoff_ms = min(BACKOFF_LAST_MS, BACKOFF_FIRST_MS * 4 ** (failures - 1))
    return Again(round(backoff_ms * (0.5 + chance / 2)) if asked_ms is None else asked_ms)


def after_deaths(*, deaths: int, limit: int, items: int) -> Split | Bury | None:
    """Before a turn runs: None lets it run. A batch is split at half the limit; its messages start from zero deaths."""
    if items > 1:
        return Split() if deaths >= max(1, limit // 2) else None
    return Bury() if deaths >= limit else None
