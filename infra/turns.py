"""Records of turns: what each answer was made of, written by the worker, read by `koi explain` and the dashboard.

One list per memory owner, since a record quotes its texts: it expires and is forgotten with them.
"""

from infra import keys
from infra.effect import Effect
from infra.forget import handle_of
from infra.redis_port import RedisPort
from schemas.turn import TurnRecord
from schemas.wire import NewerVersion, NotReadable, dump, load

KEPT = 50
"""Records per owner, about 3 kB each; no longer than `memory.max_age` in any case."""


def turn_effects(record: TurnRecord, max_age_ms: int) -> tuple[Effect, ...]:
    """Append one record."""
    key = keys.turns(record.owner)
    return (
        Effect("RPUSH", key, (dump(record),)),
        Effect("LTRIM", key, (-KEPT, -1)),
        Effect("PEXPIRE", key, (max_age_ms,)),
        Effect("ZADD", keys.expiry(), ("LT", record.oldest_ms + max_age_ms, key)),
    )


async def find_turn(redis: RedisPort, turn_id: str, now_ms: int, max_age_ms: int) -> TurnRecord | None:
    """The turn of that id; else the newest whose id, or its handle, begins with `turn_id` ("": of all). None: there is
    none, or it is too old.

    Walks all owners: for a person who asks, not for every turn.
    """
    found: TurnRecord | None = None
    async for key in redis.scan_iter(match=f"{keys.turns('')}*", count=1000):
        for raw in await redis.lrange(key.decode(), 0, -1):
            record = _readable(raw)
            if record is None or record.oldest_ms + max_age_ms <= now_ms or not _is_called(record, turn_id):
                continue
            if record.id == turn_id:  # ids end in a number: one may begin another
                return record
            if found is None or record.at_ms > found.at_ms:
                found = record
    return found


def _is_called(record: TurnRecord, name: str) -> bool:
    return record.id.startswith(name) or handle_of(record.id).startswith(name)


def _readable(raw: bytes) -> TurnRecord | None:
    try:
        return load(TurnRecord, raw)
    except (NotReadable, NewerVersion):
        return None
