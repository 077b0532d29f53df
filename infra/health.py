"""Which processes live: each says so every few seconds, and who says nothing for 15 s is taken for gone."""

import os
import socket

from infra import keys
from infra.redis_port import RedisPort

KINDS = ("bot", "worker", "dashboard")
BEAT_S = 5
ALIVE_MS = 15_000


def this_process() -> str:
    """The process id to beat with: `host-pid`, by which others on this machine see at once that it was killed."""
    return f"{socket.gethostname()}-{os.getpid()}"


async def beat(redis: RedisPort, kind: str, process_id: str, slots: int = 0) -> None:
    """Say that this process lives; kind: one of KINDS. To be called every BEAT_S.

    slots: turns that it can have in work at once; 0: none, or it does not say.
    """
    key, now_ms = keys.alive(kind), await _now_ms(redis)
    async with redis.pipeline(transaction=True) as pipe:
        pipe.zadd(key, {process_id: now_ms})
        pipe.zremrangebyscore(key, "-inf", now_ms - ALIVE_MS)
        pipe.pexpire(key, ALIVE_MS)
        if slots:
            pipe.set(keys.slots(process_id), slots, px=ALIVE_MS)
        await pipe.execute()


async def leave(redis: RedisPort, kind: str, process_id: str) -> None:
    """Say that it ends."""
    await redis.zrem(keys.alive(kind), process_id)


async def alive(redis: RedisPort, kind: str) -> int:
    """How many processes of a kind live."""
    since_ms = await _now_ms(redis) - ALIVE_MS
    found = await redis.zrangebyscore(keys.alive(kind), since_ms, "+inf")
    return sum(not is_dead_here(process_id.decode()) for process_id in found)


async def is_alive(redis: RedisPort, kind: str) -> bool:
    """Does at least one live?"""
    return await alive(redis, kind) > 0


def is_dead_here(process_id: str) -> bool:
    """True if it was a process of this machine that exists no more."""
    host, _, pid = process_id.rpartition("-")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's, so it exists
        return False
    return False


async def _now_ms(redis: RedisPort) -> int:
    seconds, micros = await redis.time()
    return seconds * 1000 + micros // 1000
