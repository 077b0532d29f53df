"""An answer that is not wanted any more: which turn is meant, and how its worker is told.

What is stopped is named by keys.stop (a turn's id or, of a turn that has not begun, that of the message which it will answer
first), and the same name goes over keys.stop_channel. A name is never used twice, so a stop that comes too late does
nothing; the commit of the turn removes it, or it expires.
"""

import zlib
from pathlib import Path

from infra import keys
from infra.redis_port import RedisPort, Value
from infra.scripts import Script

STOP_TTL_MS = 600_000
"""Far longer than a turn, also one whose worker died."""
CLAIM_TTL_MS = 48 * 3_600_000
"""As lanes.ingest claims updates."""
DRAFT_BITS = 0x7FFF_FFFF

ABORT_TTL_MS = 48 * 3_600_000
"""A turn that waits for its retry may wait longer than one that runs: for the end of a pause."""

_STOP = Script(Path(__file__).with_name("stop.lua"))
_ABORT = Script(Path(__file__).with_name("abort.lua"))


def draft_id_of(turn_id: str) -> int:
    """Under which Telegram knows the draft of a turn: 1…2³¹−1, the same for its retry."""
    return zlib.crc32(turn_id.encode()) & DRAFT_BITS or 1


async def stop_turn(redis: RedisPort, lane: str, *, claim: str, draft_id: int = 0) -> bool:
    """Stop what runs in the lane, or is about to; the update `claim` is then taken.

    draft_id: only the turn that this draft belongs to; 0: whichever.
    Gives False if there is nothing to stop; then nothing changed.

    Raises what redis-py raises: then nothing is known; the same again does no harm.
    """
    job_id, turn_id = keys.inbox_job(lane), ""
    if draft_id:
        turn_id = (await redis.hget(keys.state(job_id), "turn") or b"").decode()
        if not turn_id or draft_id_of(turn_id) != draft_id:
            return False
    stopped = await _STOP(
        redis,
        [keys.state(job_id), keys.items(job_id), keys.bodies(job_id), keys.stop(lane), keys.claim_of(claim)],
        [turn_id, STOP_TTL_MS, keys.stop_channel(), CLAIM_TTL_MS],
    )
    return bool(stopped)


async def abort_turn(redis: RedisPort, lane: str, turn_id: str) -> bool:
    """Stop exactly this turn, whether it runs or waits for its next attempt, which then begins and ends at once.

    False: it is over; nothing changed.

    Raises what redis-py raises.
    """
    job_id = keys.inbox_job(lane)
    args: list[Value] = [job_id, keys.inbox_queue(), turn_id, ABORT_TTL_MS, keys.stop_channel()]
    return await _ABORT(redis, [keys.stop(lane)], args) == b"done"
