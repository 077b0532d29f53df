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
    """Several messages failed together: try them one by one, so that only the poisonous one is given up. Not once the
    turn has kept something: split, its messages would become new turns and do again what is done.
    """


@dataclass(frozen=True, slots=True)
class Bury:
    """Give it up: dead letter and an honest notice."""


type Next = Again | Split | Bury


def after_failure(
    *, failures: int, attempts: int, can_split: bool, final: bool, asked_ms: int | None, chance: float
) -> Next:
    """failures: including this one. can_split: Claim.can_split. asked_ms: "not before", by who failed.
    chance: 0…1, for jitter.
    """
    if final or failures >= attempts:
        return Split() if can_split else Bury()
    backoff_ms = min(BACKOFF_LAST_MS, BACKOFF_FIRST_MS * 4 ** (failures - 1))
    return Again(round(backoff_ms * (0.5 + chance / 2)) if asked_ms is None else asked_ms)


def after_deaths(*, deaths: int, limit: int, can_split: bool) -> Split | Bury | None:
    """Before a turn runs: None lets it run. What can be split is split at half the limit, and its messages start from zero
    deaths; the rest has the whole limit.
    """
    if can_split:
        return Split() if deaths >= max(1, limit // 2) else None
    return Bury() if deaths >= limit else None
