"""Sees to it that every turn of a worker writes down its life in the step that ends it."""

from infra.clock import Clock
from lanes.claim import Claim
from lanes.outcome import Commit, Done, Outcome
from workers.life import dead_life, is_silent, turn_life, with_life
from workers.messages import Turn
from workers.noted import Noted

TURNS = 1_000
"""That failed here and may have been taken over by another worker; beyond that the oldest are let go."""


class Chronicle:
    """What is noted of turns that have not ended."""

    def __init__(self, clock: Clock, ahead_ms: int) -> None:
        self._clock = clock
        self._ahead_ms = ahead_ms
        self._turns: dict[str, Noted] = {}

    def begin(self, turn_id: str, now_ms: int) -> None:
        """A new attempt; calls and tools of earlier ones stay."""
        noted = self._turns.pop(turn_id, None) or Noted()
        noted.begins(now_ms)
        self._turns[turn_id] = noted
        if len(self._turns) > TURNS:
            del self._turns[next(iter(self._turns))]

    def of(self, turn_id: str) -> Noted:
        """Of the attempt that runs."""
        return self._turns.get(turn_id) or Noted()

    def ended(self, outcome: Outcome, claim: Claim, turn: Turn) -> Outcome:
        """The same; if the turn is over, written down."""
        if not isinstance(outcome, Done):
            return outcome
        noted, commit = self._turns.pop(turn.id, None) or Noted(), outcome.commit
        if is_silent(commit):
            return outcome
        life = turn_life(turn, claim, commit, noted, ahead_ms=self._ahead_ms, now_ms=self._clock())
        return Done(with_life(commit, life))

    def dead(self, claim: Claim, commit: Commit, reason: str) -> Commit:
        """The same, of messages that are given up."""
        noted = self._turns.pop(claim.turn_id, None) or Noted()
        life = dead_life(claim, commit, reason, noted, ahead_ms=self._ahead_ms, now_ms=self._clock())
        return with_life(commit, life)
