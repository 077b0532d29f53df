"""Put something aside for the retry of the running turn, under the fence."""

from collections.abc import Mapping
from pathlib import Path

from infra.redis_port import RedisPort, Value
from infra.scripts import Script
from lanes.claim import Claim

KEEP = Script(Path(__file__).with_name("keep.lua"))


class LeaseLost(Exception):
    """Somebody else holds the lane now: stop, nothing you do counts any more."""


async def keep(
    redis: RedisPort, claim: Claim, values: Mapping[str, bytes], ttl_ms: int | None = None
) -> bool:
    """Store `values` beside the turn; its next claim finds them in `claim.kept`; its commit deletes them.

    If the owner forgot since the turn was fixed, an inbox keeps nothing (an outbox must know what it sent): False.
    ttl_ms: None keeps them until the commit (allowed for the outbox only).

    Raises: LeaseLost: the lane is not ours any more; nothing was stored.
    """
    args: list[Value] = [claim.job_id, claim.token, ttl_ms or 0, claim.owner, claim.epoch]
    for name, value in values.items():
        args += (name, value)
    given = await KEEP(redis, [], args)
    if not given:
        raise LeaseLost(claim.job_id)
    return given > 0
