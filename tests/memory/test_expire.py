"""What is too old by koi's clock is gone from Redis, also where nobody writes any more."""

from typing import Any

import pytest

from infra import keys
from infra.redis_port import RedisPort
from memory.expire import expire_texts
from memory.fold import fold_effects
from memory.ring import remember
from memory.session import extend, new_exchange, read_session, session_effects
from memory.store import apply, load_ring
from schemas.memory import Exchange, Fold
from schemas.wire import dump
from tests.memory.values import DAY_MS, HOUR_MS, LIMITS, MINUTE_MS, NOW_MS, SESSION_LIMITS, entry, exchange

OWNER, LANE = "home:u:42", "7:42:0"
RING, SESSION = keys.ring(OWNER), keys.session(LANE)


async def say(redis: RedisPort, number: int = 1, at_ms: int = NOW_MS) -> None:
    seen = await load_ring(redis, OWNER, at_ms, LIMITS)
    await apply(redis, remember(OWNER, entry(number, at_ms=at_ms), seen, LIMITS))


async def talk(redis: RedisPort, *exchanges: Exchange) -> None:
    for one in exchanges:
        running = read_session(await redis.get(SESSION), one.at_ms, SESSION_LIMITS)
        running = extend(running, one, [], one.at_ms, SESSION_LIMITS)
        await apply(redis, session_effects(LANE, running, SESSION_LIMITS))


async def expire(redis: RedisPort, now_ms: int) -> int:
    return await expire_texts(redis, now_ms, LIMITS, SESSION_LIMITS)


async def everything(redis: RedisPort) -> str:
    """All that is stored, as one text."""
    parts: list[Any] = []
    async for key in redis.scan_iter():
        name = key.decode()
        match await redis.type(name):
            case b"list":
                parts += await redis.lrange(name, 0, -1)
            case b"string":
                parts.append(await redis.get(name))
            case _:
                parts.append(key)
    return b"\n".join(parts).decode()


async def test_25_hours_later_nothing_stored_holds_the_parcel_any_more(redis: RedisPort) -> None:
    await say(redis)
    await talk(redis, exchange())
    assert "1Z999AA10123456784" in await everything(redis)

    removed = await expire(redis, NOW_MS + 25 * HOUR_MS)

    assert removed == 2
    assert await everything(redis) == ""


async def test_only_what_is_too_old_leaves_a_ring(redis: RedisPort) -> None:
    await say(redis, 1)
    await say(redis, 2, NOW_MS + HOUR_MS)

    assert await expire(redis, NOW_MS + DAY_MS - 1) == 0
    assert await expire(redis, NOW_MS + DAY_MS) == 1

    assert await redis.lrange(RING, 0, -1) == [dump(entry(2, at_ms=NOW_MS + HOUR_MS))]
    assert await redis.zscore(keys.expiry(), RING) == NOW_MS + HOUR_MS + DAY_MS
    assert await redis.pttl(RING) > 0
    assert await expire(redis, NOW_MS + HOUR_MS + DAY_MS) == 1
    assert await redis.exists(RING, keys.expiry()) == 0


async def test_a_conversation_that_ended_is_removed(redis: RedisPort) -> None:
    await talk(redis, exchange())

    assert await expire(redis, NOW_MS + 30 * MINUTE_MS) == 0
    assert await expire(redis, NOW_MS + 30 * MINUTE_MS + 1) == 1

    assert await redis.exists(SESSION, keys.expiry()) == 0


async def test_a_quoted_entry_that_expires_leaves_the_conversation_that_goes_on(redis: RedisPort) -> None:
    quoting = new_exchange(
        "turn-1", NOW_MS, "hi", "ho", block="the parcel ", block_oldest_ms=NOW_MS + MINUTE_MS - DAY_MS
    )
    await talk(redis, quoting)

    assert await expire(redis, NOW_MS + MINUTE_MS) == 1

    running = read_session(await redis.get(SESSION), NOW_MS + MINUTE_MS, SESSION_LIMITS)
    assert running is not None
    assert running.exchanges[0].block == ""
    assert "parcel" not in await everything(redis)
    assert 0 < await redis.pttl(SESSION) <= 30 * MINUTE_MS
    assert await redis.zscore(keys.expiry(), SESSION) == NOW_MS + 30 * MINUTE_MS + 1


async def test_entries_from_the_future_begin_to_age_when_their_ring_is_due(redis: RedisPort) -> None:
    await say(redis, 1, NOW_MS + 400 * DAY_MS)
    await say(redis, 2)

    await expire(redis, NOW_MS + DAY_MS)
    seen = await load_ring(redis, OWNER, NOW_MS + DAY_MS, LIMITS)
    await expire(redis, NOW_MS + 2 * DAY_MS)

    assert [one.id for one in seen.entries] == ["turn-1"]
    assert await redis.exists(RING) == 0


async def test_keys_that_are_gone_leave_the_list_of_what_expires(redis: RedisPort) -> None:
    await redis.zadd(keys.expiry(), {RING: NOW_MS, SESSION: NOW_MS})

    assert await expire(redis, NOW_MS) == 0

    assert await redis.exists(keys.expiry()) == 0


@pytest.mark.parametrize("value", [b"not json", b'{"v": 1}'])
async def test_a_session_that_cannot_be_read_goes_when_it_is_due(redis: RedisPort, value: bytes) -> None:
    await redis.set(SESSION, value)
    await redis.zadd(keys.expiry(), {SESSION: NOW_MS})

    assert await expire(redis, NOW_MS) == 1

    assert await redis.exists(SESSION) == 0


async def test_values_of_a_newer_version_are_left_to_it(redis: RedisPort) -> None:
    await redis.set(SESSION, b'{"v": 99}')
    await redis.rpush(RING, b'{"v": 99}')
    await redis.zadd(keys.expiry(), {SESSION: NOW_MS, RING: NOW_MS})

    assert await expire(redis, NOW_MS) == 0

    assert await redis.exists(SESSION, RING) == 2
    assert (await redis.zscore(keys.expiry(), RING) or 0) > NOW_MS


async def test_a_summary_goes_with_its_oldest_exchange_and_the_conversation_goes_on(redis: RedisPort) -> None:
    running = extend(None, exchange(), [], NOW_MS, SESSION_LIMITS).model_copy(
        update={"summary": "the parcel", "summary_oldest_ms": NOW_MS + MINUTE_MS - DAY_MS}
    )
    await apply(redis, session_effects(LANE, running, SESSION_LIMITS))

    assert await expire(redis, NOW_MS + MINUTE_MS - 1) == 0
    assert await expire(redis, NOW_MS + MINUTE_MS) == 1

    left = read_session(await redis.get(SESSION), NOW_MS + MINUTE_MS, SESSION_LIMITS)
    assert left is not None
    assert (left.summary, len(left.exchanges)) == ("", 1)


async def test_a_summary_that_no_turn_took_goes_when_it_is_due(redis: RedisPort) -> None:
    fold = Fold(session_id="s", summary="the parcel", covers=("turn-1",), oldest_ms=NOW_MS - DAY_MS + 5)
    await apply(redis, fold_effects(LANE, fold, NOW_MS, SESSION_LIMITS))
    other = keys.fold("7:43:0")
    await redis.set(other, "later")
    await redis.zadd(keys.expiry(), {other: NOW_MS + 6})

    assert await expire(redis, NOW_MS + 4) == 0
    assert await expire(redis, NOW_MS + 5) == 1

    assert await redis.exists(keys.fold(LANE)) == 0
    assert await redis.exists(other) == 1
    assert await redis.zrangebyscore(keys.expiry(), "-inf", "+inf") == [other.encode()]


@pytest.mark.parametrize("key", [keys.pending(LANE), keys.parked(LANE)], ids=["pending", "parked"])
async def test_what_waits_in_a_chat_goes_when_it_is_due(redis: RedisPort, key: str) -> None:
    await redis.set(key, "the parcel")
    await redis.zadd(keys.expiry(), {key: NOW_MS + 5})

    assert await expire(redis, NOW_MS + 4) == 0
    assert await redis.exists(key) == 1
    assert await expire(redis, NOW_MS + 5) == 1

    assert await everything(redis) == ""


async def test_records_of_turns_leave_one_by_one(redis: RedisPort) -> None:
    turns = keys.turns(OWNER)
    stamps = (NOW_MS, NOW_MS + HOUR_MS)
    await redis.rpush(
        turns,
        *(b'{"v":1,"at_ms":%d,"oldest_ms":%d,"parts":[]}' % (NOW_MS + DAY_MS, at_ms) for at_ms in stamps),
        b"not json",
    )
    await redis.zadd(keys.expiry(), {turns: NOW_MS + DAY_MS})

    assert await expire(redis, NOW_MS + DAY_MS) == 2

    assert await redis.llen(turns) == 1
    assert await redis.zscore(keys.expiry(), turns) == NOW_MS + HOUR_MS + DAY_MS
    assert await expire(redis, NOW_MS + HOUR_MS + DAY_MS) == 1
    assert await redis.exists(turns, keys.expiry()) == 0


async def test_a_record_from_a_future_that_was_none_goes_too(redis: RedisPort) -> None:
    turns = keys.turns(OWNER)
    await redis.rpush(turns, b'{"v":1,"oldest_ms":%d}' % (NOW_MS + 30 * DAY_MS))
    await redis.zadd(keys.expiry(), {turns: NOW_MS})

    assert await expire(redis, NOW_MS) == 1

    assert await redis.exists(turns, keys.expiry()) == 0


async def test_one_damaged_key_does_not_keep_the_others(redis: RedisPort) -> None:
    broken = keys.ring("home:u:1")
    await redis.set(broken, "no list")
    await redis.zadd(keys.expiry(), {broken: 0})
    await say(redis)

    assert await expire(redis, NOW_MS + DAY_MS) == 1


async def test_a_ring_that_changes_meanwhile_is_left_as_it_is(
    redis: RedisPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(redis, 1)
    read = redis.lrange

    async def read_then_somebody_writes(name: str, start: int, end: int) -> list[bytes]:
        raws = await read(name, start, end)
        await redis.rpush(RING, dump(entry(2, at_ms=NOW_MS + DAY_MS)))
        return raws

    with monkeypatch.context() as patch:
        patch.setattr(redis, "lrange", read_then_somebody_writes)
        assert await expire(redis, NOW_MS + DAY_MS) == 0

    assert await redis.llen(RING) == 2
    assert await expire(redis, NOW_MS + DAY_MS) == 1


async def test_a_full_redis_can_forget_too(redis: RedisPort) -> None:
    await say(redis, 1)
    await say(redis, 2, NOW_MS + HOUR_MS)
    await redis.pipeline().execute_command("CONFIG", "SET", "maxmemory", "1").execute()
    try:
        removed = await expire(redis, NOW_MS + DAY_MS)
    finally:
        await redis.pipeline().execute_command("CONFIG", "SET", "maxmemory", "0").execute()

    assert removed == 1
    assert await redis.llen(RING) == 1
