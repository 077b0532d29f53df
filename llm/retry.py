"""What to do after a failed call. Pure; seconds belong here, minutes to the lane (docs/decisions, retries)."""

from dataclasses import dataclass

from llm.failure import REJECT, SKIP, Failure

TRIES = 2
"""Calls of one candidate in one turn, at most."""
BACKOFF_S = 1.0
"""Upper end of the full jitter before the second try."""
LINGER_S = 5.0
"""While another candidate stands by, a person does not wait longer than this for one that asked for time."""
SHORTEST_CALL_S = 1.0
"""With less time than this no answer can be had."""


@dataclass(frozen=True, slots=True)
class Again:
    """The same candidate, after a wait."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Next:
    """The next candidate, at once."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nobody is left, or no time."""


@dataclass(frozen=True, slots=True)
class Reject:
    """The request is at fault: no candidate is asked again."""


type Step = Again | Next | GiveUp | Reject


def next_step(
    failure: Failure, *, tries: int, left_s: float, followers: int, chance: float, once: bool = False
) -> Step:
    """`tries`: calls of this candidate so far, from 1. `left_s`: until the deadline. `followers`: candidates after
    this one. `chance`: 0 ≤ chance < 1. `once`: the breaker is open, so one call has to do.

    A timeout or an empty answer is not tried again while another candidate stands by: it costs the most time and is
    the likeliest to repeat. What a service asks to wait is honoured if it fits, never shortened.
    """
    if failure.kind in REJECT:
        return Reject()
    if left_s < SHORTEST_CALL_S:
        return GiveUp()
    onward = Next() if followers else GiveUp()
    if once or failure.kind in SKIP or not failure.retry_same or tries >= TRIES:
        return onward
    if followers and failure.kind in {"timeout", "empty"}:
        return onward
    delay_s = (failure.retry_after_s or 0.0) + chance * BACKOFF_S
    longest_s = left_s - SHORTEST_CALL_S
    fits = delay_s <= (min(LINGER_S, longest_s) if followers else longest_s)
    return Again(delay_s) if fits else onward
