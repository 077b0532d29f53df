"""A bot that is paused, or all of them: nothing of it is begun, everything of it is kept.

What runs ends. What comes in is confirmed and waits in its lane; claim.lua parks the lane, so that it has its job, keeps its
place and holds up nobody else. Answers that are written already, reminders, and notices go out: they were promised. /stop and
/forget are carried out when they arrive, as ever.

A pause is named by bot_id, as lanes are ("7", "local"), or EVERYTHING.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra import keys
from infra.redis_port import RedisPort
from infra.scripts import Script

EVERYTHING = "*"
PARKED_MS = 10_000_000_000_000
"""As lane.lua has it: far above any time (year 2286), and exact in a score."""

_RESUME = Script(Path(__file__).with_name("resume.lua"))


@dataclass(frozen=True, slots=True)
class Paused:
    """Who is paused."""

    since_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    """bot_id or EVERYTHING → since when, koi's clock."""

    def since(self, bot_id: str) -> int | None:
        """Since when nothing of this bot is begun; None: it is not paused."""
        found = [at for who in (EVERYTHING, bot_id) if (at := self.since_ms.get(who)) is not None]
        return min(found, default=None)

    def __bool__(self) -> bool:
        return bool(self.since_ms)


async def paused(redis: RedisPort) -> Paused:
    """One round trip. Raises what redis-py raises."""
    return paused_in(await redis.hgetall(keys.paused()))


def paused_in(found: Mapping[bytes, bytes]) -> Paused:
    """Of HGETALL keys.paused(), for who reads more in the same round trip. What is no number counts as 0."""
    return Paused({who.decode(): int(at) if at.isdigit() else 0 for who, at in found.items()})


async def pause(redis: RedisPort, who: str, now_ms: int) -> bool:
    """From now on nothing of `who` is begun. False: it was paused before; nothing changed.

    Raises what redis-py raises.
    """
    return bool(await redis.hsetnx(keys.paused(), who, now_ms))


async def resume(redis: RedisPort, who: str, since_ms: int) -> bool:
    """What waits is due again, as long as no other pause holds it, and workers are woken.

    since_ms: when it was paused, as it was seen. False: that pause is over; nothing changed.

    Raises what redis-py raises; ResponseError beginning with WRONGTYPE if the queue cannot be written: then nothing changed.
    """
    return bool(await _RESUME(redis, [keys.paused(), keys.inbox_queue()], [who, since_ms]))


def due_ms(score: float) -> float:
    """When a lane of that score in keys.inbox_queue() is due, or was when it was parked; Redis' clock."""
    return score - PARKED_MS if is_parked(score) else score


def is_parked(score: float) -> bool:
    """Does the lane wait for the end of a pause?"""
    return score >= PARKED_MS
