"""Invariants 1 and 2: what was confirmed is kept, and taken once."""

import pytest
from redis.exceptions import OutOfMemoryError

from infra import keys
from infra.redis_port import RedisPort
from lanes.commit import commit
from lanes.ingest import Ingested, ingest
from lanes.outcome import Commit
from tests.lanes.conftest import JOB, QUEUE, ids, message, send, take, take_one


async def test_a_message_waits_in_its_lane_with_a_job_and_the_bell_rung(redis: RedisPort) -> None:
    result = await send(redis, message(1))

    assert result == Ingested(taken=1, repeats=0)
    assert await redis.lrange(keys.items(JOB), 0, -1) == [b"0:7:1"]
    assert await redis.zscore(QUEUE, JOB) is not None
    assert await redis.llen(keys.bell(QUEUE)) == 1


async def test_the_same_update_five_times_is_one_message(redis: RedisPort) -> None:  # C6
    results = [await send(redis, message(1)) for _ in range(5)]

    assert [result.repeats for result in results] == [0, 1, 1, 1, 1]
    assert ids(await take_one(redis)) == ["7:1"]


async def test_a_refed_update_is_not_answered_again_after_its_turn_is_over(redis: RedisPort) -> None:  # C10
    await send(redis, message(1), message(2))
    await redis.delete(keys.items(JOB), keys.bodies(JOB), QUEUE)

    result = await send(redis, message(1), message(2), message(3))

    assert result == Ingested(taken=3, repeats=2)
    assert ids(await take_one(redis)) == ["7:3"]


async def test_a_refed_update_is_not_answered_again_though_nothing_of_its_lane_is_left(
    redis: RedisPort,
) -> None:
    await send(redis, message(1))
    await commit(redis, QUEUE, await take_one(redis), Commit())

    assert await send(redis, message(1)) == Ingested(taken=1, repeats=1)
    assert await take(redis) == []


async def test_a_message_for_a_lane_at_work_wakes_nobody(redis: RedisPort) -> None:
    await send(redis, message(1))
    await take_one(redis)
    ends = await redis.zscore(QUEUE, JOB)

    await send(redis, message(2))

    assert await redis.llen(keys.bell(QUEUE)) == 0
    assert await redis.zscore(QUEUE, JOB) == ends


async def test_the_offset_is_stored_with_the_batch(redis: RedisPort) -> None:  # C10
    await ingest(redis, [message(8)], offset=(keys.offset("7"), 9))

    assert await redis.get(keys.offset("7")) == b"9"


async def test_a_batch_stops_at_its_first_failure_and_claims_nothing_of_it(redis: RedisPort) -> None:
    await redis.set(keys.items(keys.inbox_job("7:13:0")), "not a list")

    result = await ingest(
        redis, [message(1), message(2, lane="7:13:0"), message(3)], offset=(keys.offset("7"), 4)
    )

    assert result.taken == 1
    assert result.error.startswith("WRONGTYPE")
    assert await redis.exists(keys.claim_of("7:2"), keys.claim_of("7:3"), keys.offset("7")) == 0
    assert ids(await take_one(redis)) == ["7:1"]


async def test_a_full_redis_takes_nothing_and_loses_nothing(redis: RedisPort) -> None:
    await redis.config_set("maxmemory", "1")
    try:
        with pytest.raises(OutOfMemoryError):
            await send(redis, message(1))
    finally:
        await redis.config_set("maxmemory", "0")

    assert await redis.exists(keys.claim_of("7:1")) == 0
    assert await send(redis, message(1)) == Ingested(taken=1, repeats=0)


async def test_a_push_cut_in_half_is_mended_by_its_repeat(redis: RedisPort) -> None:
    await redis.rpush(keys.items(JOB), "0:7:1")  # an ACL refused the rest

    await send(redis, message(1))

    assert ids(await take_one(redis)) == ["7:1"]


async def test_a_part_waits_for_the_rest_and_other_text_starts_at_once(redis: RedisPort) -> None:  # C14, C15
    await send(redis, message("4096", hold_ms=700))
    await send(redis, message("4096b", hold_ms=700))
    assert await take(redis) == []

    await send(redis, message("310"))

    assert ids(await take_one(redis)) == ["7:4096", "7:4096b", "7:310"]


async def test_waiting_for_parts_ends_after_ten_times_the_debounce(redis: RedisPort) -> None:
    await send(redis, message(1, hold_ms=700))
    await redis.hset(keys.state(JOB), "held_since", 1000)  # long ago

    await send(redis, message(2, hold_ms=700))

    assert ids(await take_one(redis)) == ["7:1", "7:2"]


async def test_every_key_of_a_lane_is_named_as_in_keys_py(redis: RedisPort) -> None:
    await send(redis, message(1))
    seen = {key.decode() async for key in redis.scan_iter()}
    await take_one(redis)

    named = {
        keys.items(JOB), keys.bodies(JOB), keys.state(JOB), keys.lease(JOB), keys.job(JOB), keys.fence(),
        keys.claim_of("7:1"), keys.lanes_of("home:u:42"), QUEUE, keys.bell(QUEUE),
    }  # fmt: skip
    assert seen | {key.decode() async for key in redis.scan_iter()} == named


async def test_an_item_of_nobody_leaves_the_lane_its_owner(redis: RedisPort) -> None:
    await send(redis, message(1), message(2, owner=""))

    assert (await take_one(redis)).owner == "home:u:42"
