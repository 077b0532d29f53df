"""How long a lane is ours, by our own clock, and how it is kept."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from redis.exceptions import RedisError

from infra.redis_port import RedisPort, Value
from infra.scripts import Script
from lanes.claim import Claim

RENEW = Script(Path(__file__).with_name("renew.lua"))


class Lease:
    """One claim, and when it was last known to be ours."""

    def __init__(self, claim: Claim, held_since: float, lease_s: float) -> None:
        """held_since: monotonic seconds, read *before* the call that gave or renewed the lease."""
        self.claim = claim
        self.held_since = held_since
        self.lease_s = lease_s
        self.lost = False
        self.settling = False
        """Its end is being committed: that frees the lane, which is no loss, and is fenced anyway."""

    def ends_within(self, margin_s: float, now: float) -> bool:
        """Could it end within the margin? A stalled process finds out here, before it does harm."""
        return now + margin_s > self.held_since + self.lease_s


async def renew(
    redis: RedisPort, queue: str, leases: Sequence[Lease], lease_ms: int, *, timeout_s: float
) -> frozenset[str]:
    """Prolong the leases in one step; gives the tokens that are not ours any more. Silent while Redis is away."""
    if not leases:
        return frozenset()
    loop = asyncio.get_running_loop()
    asked_at = loop.time()
    args: list[Value] = [lease_ms]
    for lease in leases:
        args += (lease.claim.job_id, lease.claim.token)
    try:
        async with asyncio.timeout(timeout_s):
            lost = {job_id.decode() for job_id in await RENEW(redis, [queue], args)}
    except (RedisError, TimeoutError):
        return frozenset()
    for lease in leases:
        if lease.claim.job_id not in lost:
            lease.held_since = asked_at
    return frozenset(lease.claim.token for lease in leases if lease.claim.job_id in lost)
