"""Dead letters can be read, retried and dropped."""

from typing import cast

import pytest

from infra import keys
from infra.dead import dead_letters, drop_dead, index_member, retry_dead
from infra.redis_port import RedisPort
from lanes.claim import Claim, Item
from lanes.dead import dead_letter
from schemas.dead import DeadLetter
from schemas.wire import dump, load
from tests.lanes.conftest import JOB, OWNER, ids, take, take_one

LETTER = DeadLetter(id="7:1", job_id=JOB, at_ms=5, reason="overloaded", body='{"text":"1"}', owner=OWNER)


async def bury(redis: RedisPort) -> None:
    await redis.hset(keys.dead_of(OWNER), LETTER.id, dump(LETTER))
    await redis.zadd(keys.dead(), {index_member(LETTER): LETTER.at_ms})


async def test_a_dead_letter_is_listed(redis: RedisPort) -> None:
    await bury(redis)

    assert await dead_letters(redis) == [LETTER]


@pytest.mark.parametrize("raw", [b'{"v":2,"id":"7:2"}', b"?"], ids=["of a newer version", "unreadable"])
async def test_a_letter_that_cannot_be_read_hides_no_other(redis: RedisPort, raw: bytes) -> None:
    await redis.hset(keys.dead_of(OWNER), "7:2", raw)
    await redis.zadd(keys.dead(), {f"{OWNER}|7:2": 1})
    await bury(redis)

    assert await dead_letters(redis) == [LETTER]


async def test_a_retried_dead_letter_is_back_in_its_lane_and_gone_from_the_list(redis: RedisPort) -> None:
    await bury(redis)

    assert await retry_dead(redis, LETTER)

    assert ids(await take_one(redis)) == ["7:1"]
    assert await dead_letters(redis) == []
    assert await redis.zcard(keys.dead()) == 0


async def test_a_dead_letter_is_retried_once_even_by_two_people(redis: RedisPort) -> None:
    await bury(redis)

    assert await retry_dead(redis, LETTER)
    assert not await retry_dead(redis, LETTER)

    assert await redis.llen(keys.items(JOB)) == 1


async def test_a_dropped_dead_letter_is_gone(redis: RedisPort) -> None:
    await bury(redis)

    assert await drop_dead(redis, LETTER)

    assert await dead_letters(redis) == []
    assert await take(redis) == []


async def test_a_letter_of_a_newer_release_hides_no_other(redis: RedisPort) -> None:
    await bury(redis)
    await redis.hset(keys.dead_of(OWNER), "7:2", '{"v":2,"id":"7:2","new":"field"}')
    await redis.zadd(keys.dead(), {f"{OWNER}|7:2": 6})

    assert await dead_letters(redis) == [LETTER]


async def test_a_reason_with_half_a_character_buries_all_the_same() -> None:
    claim = Claim(JOB, "t", "t", (), "0", owner=OWNER)

    effects = dead_letter(claim, Item("7:1", b"{}"), "bad \ud800\nreason", 5)

    letter = load(DeadLetter, cast("bytes", effects[0].args[1]))
    assert letter.reason == "bad \ufffd reason"
