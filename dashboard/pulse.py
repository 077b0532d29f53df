"""Whether anything changed that a page could show: a few numbers in one round trip, the same for all who look."""

from dashboard.shared import Shared
from infra import health, keys

type Pulse = tuple[object, ...]
"""Two that are equal: no page has anything new but the time."""


async def pulse_of(shared: Shared) -> Pulse:
    """Newest turn and reply, lanes that wait, claims given out, dead letters, pauses, actions, living processes.

    Raises what redis-py raises.
    """
    async with shared.redis.pipeline(transaction=False) as pipe:
        pipe.xrevrange(keys.life(), count=1)
        pipe.xrevrange(keys.audit(), count=1)
        pipe.zcard(keys.inbox_queue())
        pipe.get(keys.fence())
        pipe.zcard(keys.dead())
        pipe.hgetall(keys.paused())
        for kind in health.KINDS:
            pipe.zcard(keys.alive(kind))
        life, audit, waiting, claims, dead, paused, *living = await pipe.execute()
    return (_newest(life), _newest(audit), waiting, claims, dead, tuple(sorted(paused.items())), *living)


def _newest(entries: list[tuple[bytes, object]]) -> bytes:
    return entries[0][0] if entries else b""
