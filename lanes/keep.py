"""Put something aside for the retry of the running turn, under the fence."""

from collections.abc import Mapping

from infra.redis_port import RedisPort
from lanes.claim import Claim


class LeaseLost(Exception):
    """Somebody else holds the lane now: stop, nothing you do counts any more."""


async def keep(
    redis: RedisPort, claim: Claim, values: Mapping[str, bytes], ttl_ms: int | None = None
) -> None:
    """Store `values` beside the turn; its next claim finds them in `claim.kept`; its commit deletes them.

    ttl_ms: None keeps them until the commit (allowed for the outbox only).

    Raises: LeaseLost: the lane is not ours any more; nothing was stored.
    """
    raise NotImplementedError
