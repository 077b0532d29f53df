"""One lane, and what its tests do to it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from infra import keys
from infra.effect import Push
from infra.redis_port import RedisPort
from lanes.claim import Claim, claim_due
from lanes.ingest import Ingested, ingest
from lanes.outcome import Commit, Done, Outcome
from lanes.worker import LaneLimits, LaneWorker

LANE = "7:42:0"
JOB = keys.inbox_job(LANE)
QUEUE = keys.inbox_queue()
OWNER = "home:u:42"


def message(
    number: int | str, *, lane: str = LANE, solo: bool = False, hold_ms: int = 0, owner: str = OWNER
) -> Push:
    """A message as the bot pushes it."""
    body = f'{{"text":"{number}"}}'.encode()
    return Push(keys.inbox_job(lane), QUEUE, f"7:{number}", body, owner, solo=solo, hold_ms=hold_ms)


async def send(redis: RedisPort, *pushes: Push) -> Ingested:
    return await ingest(redis, pushes)


async def take(
    redis: RedisPort, *, lease_ms: int = 10_000, per_turn: int = 20, queue: str = QUEUE
) -> list[Claim]:
    claims, _ = await claim_due(redis, queue, lease_ms=lease_ms, wanted=50, prefix="test", per_turn=per_turn)
    return claims


async def take_one(redis: RedisPort, *, lease_ms: int = 10_000) -> Claim:
    (claim,) = await take(redis, lease_ms=lease_ms)
    return claim


def ids(claim: Claim) -> list[str]:
    return [item.id for item in claim.items]


async def lose_lease(redis: RedisPort, claim: Claim) -> None:
    """What the end of a lease does, without waiting for it: the key is gone and the job is due."""
    await redis.delete(keys.lease(claim.job_id))
    await redis.zadd(keys.queue_of(claim.job_id), {claim.job_id: 0})


async def is_gone(redis: RedisPort, job_id: str = JOB) -> bool:
    """Nothing of the lane is left but its mark of the last commit."""
    left = await redis.exists(keys.items(job_id), keys.bodies(job_id), keys.state(job_id), keys.kept(job_id),
                              keys.job(job_id), keys.lease(job_id))  # fmt: skip
    return left == 0 and await redis.zscore(keys.queue_of(job_id), job_id) is None


@dataclass
class Script:
    """A handler that does as it is told and remembers what it saw."""

    steps: dict[str, Callable[[Claim], Awaitable[Outcome]]] = field(
        default_factory=dict[str, Callable[[Claim], Awaitable[Outcome]]]
    )
    seen: list[Claim] = field(default_factory=list[Claim])
    buried: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def run(self, claim: Claim) -> Outcome:
        self.seen.append(claim)
        for item in claim.items:
            if item.id in self.steps:
                return await self.steps[item.id](claim)
        return Done(Commit())

    def bury(self, claim: Claim, reason: str) -> Commit:
        self.buried += [(item.id, reason) for item in claim.items]
        return Commit()


@pytest.fixture
def script() -> Script:
    return Script()


async def until(condition: Callable[[], Awaitable[bool]], *, timeout_s: float = 10) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(timeout_s):
        while not await condition():
            await asyncio.sleep(0.005)


async def serve_until(
    redis: RedisPort,
    script: Script,
    condition: Callable[[], Awaitable[bool]],
    limits: LaneLimits | None = None,
) -> LaneWorker:
    """Run a real worker until the condition holds, then stop it cleanly."""
    worker = LaneWorker(redis, QUEUE, script, limits or LaneLimits())
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        await until(condition)
        worker.stop()
    return worker
