"""The ring in Redis: the thin shell around memory.ring, for all who hold no lane."""

from collections.abc import Sequence
from pathlib import Path

import structlog

from infra import keys
from infra.effect import Effect
from infra.redis_port import RedisPort
from infra.scripts import Script
from memory.limits import MemoryLimits
from memory.ring import Raw, Remembered, read_ring

log = structlog.get_logger()

_REPLACE_RING = Script(Path(__file__).with_name("replace_ring.lua"))


async def load_ring(redis: RedisPort, owner: str, now_ms: int, limits: MemoryLimits) -> Remembered:
    """The owner's ring; what in it cannot be read is reported to the log."""
    remembered = read_ring(await redis.lrange(keys.ring(owner), 0, -1), now_ms, limits)
    report_unreadable(owner, remembered)
    return remembered


def report_unreadable(owner: str, remembered: Remembered) -> None:
    """One line in the log if entries were left out; holds no text."""
    if remembered.unreadable:
        log.warning("memory_entries_unreadable", owner=owner, entries=len(remembered.unreadable))
    if remembered.newer:
        log.warning("memory_entries_of_newer_version", owner=owner, entries=remembered.newer)


async def apply(redis: RedisPort, effects: Sequence[Effect]) -> None:
    """All effects in one transaction, not fenced by any lane."""
    async with redis.pipeline(transaction=True) as pipeline:
        for effect in effects:
            pipeline.execute_command(effect.command, effect.key, *effect.args)
        await pipeline.execute()


async def replace_ring(
    redis: RedisPort, ring: str, read: Sequence[Raw], new: Sequence[Raw], *, due_ms: int, ttl_ms: int = 0
) -> bool:
    """Put `new` in the place of the list `ring` if it still is as it was `read`; False: it is not.

    due_ms: when the first of `new` expires, by koi's clock. ttl_ms: 0 leaves the key's TTL as it is.
    """
    done: int = await _REPLACE_RING(redis, [ring, keys.expiry()], [ttl_ms, due_ms, len(read), *read, *new])
    return done == 1
