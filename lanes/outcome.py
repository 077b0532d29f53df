"""How a turn may end: a closed set, decided by the handler, applied by the worker in one fenced step."""

from dataclasses import dataclass
from typing import Protocol

from infra.effect import Effect, Push
from lanes.claim import Claim


@dataclass(frozen=True, slots=True)
class Commit:
    """All that changes when a turn ends, in one step, once."""

    effects: tuple[Effect, ...] = ()
    """Applied always (a record, a counter)."""
    texts: tuple[Effect, ...] = ()
    """Applied only if the owner forgot nothing since the turn was fixed (session, memory)."""
    letters: tuple[tuple[str, Effect], ...] = ()
    """Each with the id of an item, and applied only while that item is still in the lane: what its owner had forgotten
    is not there any more, and what was not forgotten must not be lost (its dead letter).
    """
    pushes: tuple[Push, ...] = ()
    """Replies on their way out."""
    remove: tuple[str, ...] | None = None
    """Ids of the items that are done; None: all that the turn took. What is left becomes a new turn."""


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is over, well or not: apply the commit, take its items away."""

    commit: Commit


@dataclass(frozen=True, slots=True)
class Failed:
    """This attempt failed and may be repeated: counted, backed off, in the end buried."""

    reason: str
    """One line for the owner; no text of the person."""
    retry_after_ms: int | None = None
    """Not before this; None: by the usual back-off."""
    final: bool = False
    """Repeating is pointless: bury it now."""


@dataclass(frozen=True, slots=True)
class HandBack:
    """Not now, not my fault (newer version, 429, shutting down): the same turn again later, nothing counted."""

    delay_ms: int = 0


type Outcome = Done | Failed | HandBack


class Handler(Protocol):
    """What a side does with its turns."""

    async def run(self, claim: Claim) -> Outcome:
        """One attempt. It may be cancelled at any await (lease lost, shutdown); an exception counts as Failed."""
        ...

    def bury(self, claim: Claim, reason: str) -> Commit:
        """What to commit for a turn that is given up: its dead letters and an honest notice. No I/O."""
        ...
