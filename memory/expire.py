"""What has become too old by koi's clock is removed from Redis, also where nobody writes any more.

TTLs count real time and know only whole keys. `keys.expiry()` says when something in a ring, a session, the parked
sessions of a lane, the records of turns, or one of the keys that expire as a whole (WHOLE) expires; the workers call
`expire_texts` every few seconds.
"""

from collections.abc import Sequence
from itertools import compress
from pathlib import Path

import orjson
import structlog
from redis.exceptions import ResponseError

from infra import keys
from infra.outage import is_outage
from infra.redis_port import RedisPort
from infra.scripts import Script
from memory.limits import MemoryLimits, SessionLimits
from memory.parked import live, parked_expiry
from memory.ring import Raw, next_expiry, read_ring, stamp_of
from memory.session import session_expiry, starts_session, without_expired
from memory.store import replace_ring, report_unreadable
from schemas.memory import Parked, Session
from schemas.wire import NewerVersion, NotReadable, dump, load

log = structlog.get_logger()

AT_ONCE = 500
"""Keys per call of the script."""
WHOLE = (keys.fold(""), keys.pending(""))
"""Prefixes of the strings that expire as a whole: a summary on its way, what waits for a person's answer."""

_REPLACE_SESSION = Script(Path(__file__).with_name("replace_session.lua"))
_EXPIRE_STRINGS = Script(Path(__file__).with_name("expire_strings.lua"))


async def expire_texts(
    redis: RedisPort, now_ms: int, memory_limits: MemoryLimits, session_limits: SessionLimits
) -> int:
    """Remove every text whose time is over; gives how many (ring entries, exchanges, blocks, summaries, records, keys
    that expire as a whole).

    A list or session that changes meanwhile is left for the next call, as is one whose key holds something else, which
    is reported.

    Raises what redis-py raises when Redis is away.
    """
    due = [member.decode() for member in await redis.zrangebyscore(keys.expiry(), "-inf", now_ms)]
    removed = await _expire_strings(redis, [key for key in due if key.startswith(WHOLE)], now_ms)
    for key in due:
        try:
            if key.startswith(keys.ring("")):
                removed += await _expire_ring(redis, key, now_ms, memory_limits)
            elif key.startswith(keys.turns("")):
                removed += await _expire_turns(redis, key, now_ms, memory_limits)
            elif key.startswith((keys.session(""), keys.parked(""))):
                removed += await _expire_session(redis, key, now_ms, session_limits)
        except ResponseError as error:
            if is_outage(error):
                raise
            log.warning("texts_not_expired", key=key, reason=str(error))
    if removed:
        log.info("texts_expired", texts=removed)
    return removed


async def _expire_strings(redis: RedisPort, due: Sequence[str], now_ms: int) -> int:
    removed = 0
    for start in range(0, len(due), AT_ONCE):
        done: int = await _EXPIRE_STRINGS(redis, [keys.expiry(), *due[start : start + AT_ONCE]], [now_ms])
        removed += done
    return removed


async def _expire_ring(redis: RedisPort, key: str, now_ms: int, limits: MemoryLimits) -> int:
    raws = await redis.lrange(key, 0, -1)
    remembered = read_ring(raws, now_ms, limits)
    report_unreadable(key.removeprefix(keys.ring("")), remembered)
    entries = remembered.entries
    due_ms = next_expiry(entries, limits) if entries else now_ms + limits.max_age_ms
    done = await replace_ring(redis, key, raws, remembered.kept, due_ms=due_ms)
    return len(remembered.stale) if done else 0


async def _expire_turns(redis: RedisPort, key: str, now_ms: int, limits: MemoryLimits) -> int:
    raws = await redis.lrange(key, 0, -1)
    oldest_ms = [_oldest_ms(raw) for raw in raws]
    lives = [abs(now_ms - at_ms) < limits.max_age_ms for at_ms in oldest_ms]
    left = list(compress(raws, lives))
    due_ms = min(compress(oldest_ms, lives), default=now_ms) + limits.max_age_ms
    done = await replace_ring(redis, key, raws, left, due_ms=due_ms)
    return len(raws) - len(left) if done else 0


def _oldest_ms(raw: Raw) -> int:
    """Stamp of the oldest text in a stored record of any version; 0, so that it goes, for what has none.

    One far in the future (the clock jumped back) goes as well; so none outlives twice `max_age_ms`.
    """
    try:
        return stamp_of(raw, field="oldest_ms")
    except (orjson.JSONDecodeError, AttributeError):
        return 0


async def _expire_session(redis: RedisPort, key: str, now_ms: int, limits: SessionLimits) -> int:
    raw = await redis.get(key) or b""
    remaining = _remaining_parked if key.startswith(keys.parked("")) else _remaining
    new, due_ms, removed = remaining(raw, now_ms, limits)
    done: int = await _REPLACE_SESSION(redis, [key, keys.expiry()], [raw, new, due_ms])
    return removed if done else 0


def _remaining(raw: bytes, now_ms: int, limits: SessionLimits) -> tuple[bytes, int, int]:
    """What may stay of a stored session (b"" for nothing), when to look again, and how many texts go."""
    if not raw:
        return b"", now_ms, 0
    try:
        session = load(Session, raw)
    except NewerVersion:  # its own release sees to it; its key's TTL ends it in any case
        return raw, now_ms + limits.idle_ms, 0
    except NotReadable:
        return b"", now_ms, 1
    if starts_session(now_ms, session.last_ms, limits.idle_ms):
        return b"", now_ms, _texts(session)
    left = without_expired(session, now_ms, limits)
    removed = _texts(session) - _texts(left)
    return (dump(left) if left.exchanges else b""), session_expiry(left, limits), removed


def _remaining_parked(raw: bytes, now_ms: int, limits: SessionLimits) -> tuple[bytes, int, int]:
    """The same of stored conversations of other projects: each ends by itself."""
    if not raw:
        return b"", now_ms, 0
    try:
        parked = load(Parked, raw)
    except NewerVersion:
        return raw, now_ms + limits.idle_ms, 0
    except NotReadable:
        return b"", now_ms, 1
    left = live(parked, now_ms, limits)
    removed = sum(map(_texts, parked.sessions.values())) - sum(map(_texts, left.sessions.values()))
    if not left.sessions:
        return b"", now_ms, removed
    return dump(left), parked_expiry(left, limits), removed


def _texts(session: Session) -> int:
    exchanges = (*session.exchanges, *session.leaving)
    return len(exchanges) + sum(1 for exchange in exchanges if exchange.block) + bool(session.summary)
