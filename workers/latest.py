"""The handler of a worker whose settings may change: each turn keeps those that it began with."""

from lanes.claim import Claim
from lanes.outcome import Commit, Outcome
from workers.services import Services
from workers.turn import TurnHandler


class Latest:
    """lanes.outcome.Handler."""

    def __init__(self, services: Services) -> None:
        self._handler = TurnHandler(services)

    def use(self, services: Services) -> None:
        """For turns that begin from now on."""
        self._handler = self._handler.renewed(services)

    async def run(self, claim: Claim) -> Outcome:
        """See lanes.outcome.Handler."""
        return await self._handler.run(claim)

    def bury(self, claim: Claim, reason: str) -> Commit:
        """See lanes.outcome.Handler."""
        return self._handler.bury(claim, reason)
