"""Conversations of the projects that a lane is not in now."""

import pytest

from infra import keys
from infra.redis_port import RedisPort
from memory.expire import expire_texts
from memory.limits import SessionLimits
from memory.parked import live, park, parked_effects, parked_expiry, read_parked, unpark
from memory.store import apply
from schemas.memory import AnswerRecord, Parked, Session
from schemas.wire import NewerVersion, dump
from tests.memory.values import (
    HOUR_MS,
    LIMITS,
    MINUTE_MS,
    NOW_MS,
    SESSION_LIMITS,
    exchange,
    session,
)

LANE = "7:42:0"
KEY = keys.parked(LANE)
NOTHING = Parked(sessions={})
ANSWER = AnswerRecord(turn_id="turn-1", at_ms=NOW_MS)


def talk(number: int = 1, *, at_ms: int = NOW_MS, last_ms: int | None = None) -> Session:
    return session(exchange(number, at_ms=at_ms), last_ms=last_ms)


async def stored(redis: RedisPort, now_ms: int, limits: SessionLimits = SESSION_LIMITS) -> Parked:
    return read_parked(await redis.get(KEY), now_ms, limits)


def test_what_was_parked_is_taken_out_as_it_was() -> None:
    parked = park(park(NOTHING, "", talk(1)), "garden", talk(2), ANSWER)

    left, garden, answer = unpark(parked, "garden")

    assert (garden, answer) == (talk(2), ANSWER)
    assert left == Parked(sessions={"": talk(1)})
    assert unpark(left, "garden") == (left, None, None)
    assert park(parked, "garden", talk(3)).answers == {}


def test_after_31_minutes_a_parked_conversation_is_over() -> None:
    parked = dump(park(park(NOTHING, "old", talk(1), ANSWER), "new", talk(2, at_ms=NOW_MS + 5 * MINUTE_MS)))

    assert read_parked(parked, NOW_MS + 30 * MINUTE_MS, SESSION_LIMITS).sessions.keys() == {"old", "new"}
    left = read_parked(parked, NOW_MS + 31 * MINUTE_MS, SESSION_LIMITS)
    assert left.sessions.keys() == {"new"}
    assert left.answers == {}
    assert read_parked(parked, NOW_MS + 36 * MINUTE_MS, SESSION_LIMITS) == NOTHING


@pytest.mark.parametrize("raw", [None, b"", b"no json", b'{"sessions":7}'])
def test_what_cannot_be_read_is_nothing_parked(raw: bytes | None) -> None:
    assert read_parked(raw, NOW_MS, SESSION_LIMITS) == NOTHING


def test_what_a_newer_release_parked_is_left_to_it() -> None:
    with pytest.raises(NewerVersion):
        read_parked(b'{"v":2,"sessions":{}}', NOW_MS, SESSION_LIMITS)


def test_texts_that_became_too_old_leave_a_conversation_that_goes_on() -> None:
    day_old = exchange(1, at_ms=NOW_MS - 24 * HOUR_MS)
    parked = park(NOTHING, "garden", session(day_old, exchange(2)))

    assert live(parked, NOW_MS, SESSION_LIMITS).sessions["garden"].exchanges == (exchange(2),)
    assert parked_expiry(parked, SESSION_LIMITS) == NOW_MS
    assert live(park(NOTHING, "garden", talk()), NOW_MS, SESSION_LIMITS) == park(NOTHING, "garden", talk())


async def test_parked_texts_live_no_longer_than_a_session(redis: RedisPort) -> None:
    await apply(redis, parked_effects(LANE, park(NOTHING, "garden", talk()), SESSION_LIMITS))

    assert 0 < await redis.pttl(KEY) <= SESSION_LIMITS.idle_ms
    assert await redis.zscore(keys.expiry(), KEY) == NOW_MS + SESSION_LIMITS.idle_ms + 1

    await apply(redis, parked_effects(LANE, NOTHING, SESSION_LIMITS))

    assert await redis.get(KEY) is None
    assert await redis.zscore(keys.expiry(), KEY) is None


async def test_each_parked_conversation_expires_by_itself(redis: RedisPort) -> None:
    later = talk(2, at_ms=NOW_MS + 20 * MINUTE_MS)
    both = park(park(NOTHING, "old", talk()), "new", later)
    await apply(redis, parked_effects(LANE, both, SESSION_LIMITS))

    assert await expire_texts(redis, NOW_MS + 30 * MINUTE_MS, LIMITS, SESSION_LIMITS) == 0
    assert await expire_texts(redis, NOW_MS + 31 * MINUTE_MS, LIMITS, SESSION_LIMITS) == 1

    assert (await stored(redis, NOW_MS + 31 * MINUTE_MS)).sessions == {"new": later}
    assert await redis.zscore(keys.expiry(), KEY) == NOW_MS + 50 * MINUTE_MS + 1
    assert await redis.pttl(KEY) > 0

    assert await expire_texts(redis, NOW_MS + 51 * MINUTE_MS, LIMITS, SESSION_LIMITS) == 1

    assert await redis.get(KEY) is None
    assert await redis.zscore(keys.expiry(), KEY) is None


@pytest.mark.parametrize(
    ("raw", "left"), [(b"no json", None), (b'{"v":2,"sessions":{}}', b'{"v":2,"sessions":{}}')]
)
async def test_what_nobody_can_read_goes_and_what_a_newer_release_wrote_stays(
    redis: RedisPort, raw: bytes, left: bytes | None
) -> None:
    await redis.set(KEY, raw)
    await redis.zadd(keys.expiry(), {KEY: NOW_MS})

    await expire_texts(redis, NOW_MS, LIMITS, SESSION_LIMITS)

    assert await redis.get(KEY) == left
