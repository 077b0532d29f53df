"""Invariants 3, 5 and 6: one turn per lane, nothing stranded, a retry is the same turn."""

import orjson
import pytest
from arq.jobs import deserialize_job_raw

from infra import keys
from infra.forget import forget
from infra.redis_port import RedisPort
from lanes.claim import claim_due
from lanes.commit import MustStayWhole, commit, release
from lanes.keep import keep
from lanes.outcome import Commit
from tests.lanes.conftest import JOB, OWNER, QUEUE, ids, is_gone, lose_lease, message, send, take, take_one


async def test_a_lane_is_given_to_one_worker_at_a_time(redis: RedisPort) -> None:
    await send(redis, message(1))
    await take_one(redis)

    await send(redis, message(2))

    assert await take(redis) == []


async def test_a_held_lane_is_not_given_out_even_if_its_job_is_due(redis: RedisPort) -> None:
    await send(redis, message(1))
    await take_one(redis)
    await redis.zadd(QUEUE, {JOB: 0})

    assert await take(redis) == []


async def test_lanes_that_are_taken_at_once_are_turns_of_their_own(redis: RedisPort) -> None:
    await send(redis, message(1), message(2, lane="7:43:0"), message(3, lane="7:44:0"))

    claims = await take(redis)

    assert len({claim.turn_id for claim in claims}) == len({claim.token for claim in claims}) == 3


async def test_the_bell_stays_rung_while_something_is_due(redis: RedisPort) -> None:
    await send(redis, message(1), message(2, lane="7:43:0"))

    await claim_due(redis, QUEUE, lease_ms=10_000, wanted=1, prefix="test", per_turn=20)
    rung = await redis.llen(keys.bell(QUEUE))
    await take(redis)

    assert rung > 0
    assert await redis.exists(keys.bell(QUEUE)) == 0


async def test_messages_that_wait_together_are_one_turn_in_order(redis: RedisPort) -> None:
    await send(redis, message(1), message(2), message(3))

    assert ids(await take_one(redis)) == ["7:1", "7:2", "7:3"]


async def test_a_command_is_a_turn_of_its_own(redis: RedisPort) -> None:
    await send(redis, message(1), message(2, solo=True), message(3))

    turns: list[list[str]] = []
    while claims := await take(redis):
        turns.append(ids(claims[0]))
        await commit(redis, QUEUE, claims[0], Commit())

    assert turns == [["7:1"], ["7:2"], ["7:3"]]


async def test_a_retry_is_the_same_turn_with_the_same_messages(redis: RedisPort) -> None:
    await send(redis, message(1))
    first = await take_one(redis)
    await keep(redis, first, {"round": b"1"}, ttl_ms=60_000)
    await send(redis, message(2))
    await lose_lease(redis, first)

    again = await take_one(redis)

    assert again.turn_id == first.turn_id
    assert again.token != first.token
    assert ids(again) == ["7:1"]
    assert again.kept == {"round": b"1"}


async def test_a_death_is_counted_at_the_next_claim_and_a_failure_apart(redis: RedisPort) -> None:
    await send(redis, message(1))
    died = await take_one(redis)
    await lose_lease(redis, died)
    failed = await take_one(redis)
    await release(redis, QUEUE, failed, failed=True)

    third = await take_one(redis)

    assert (failed.deaths, failed.failures) == (1, 0)
    assert (third.deaths, third.failures) == (1, 1)


async def test_handing_back_counts_nothing(redis: RedisPort) -> None:
    await send(redis, message(1))
    await release(redis, QUEUE, await take_one(redis))

    claim = await take_one(redis)

    assert (claim.deaths, claim.failures) == (0, 0)


async def test_backing_off_keeps_new_messages_waiting_too(redis: RedisPort) -> None:
    await send(redis, message(1))
    await release(redis, QUEUE, await take_one(redis), delay_ms=60_000, failed=True)

    await send(redis, message(2))

    assert await take(redis) == []


async def test_a_split_batch_is_tried_one_by_one_and_then_together_again(redis: RedisPort) -> None:
    await send(redis, message(1), message(2))
    await release(redis, QUEUE, await take_one(redis), split=True)
    await send(redis, message(3), message(4))

    turns: list[list[str]] = []
    while claims := await take(redis):
        turns.append(ids(claims[0]))
        await commit(redis, QUEUE, claims[0], Commit())

    assert turns == [["7:1"], ["7:2"], ["7:3", "7:4"]]


async def test_a_turn_that_has_kept_something_is_not_split(redis: RedisPort) -> None:  # C9
    await send(redis, message(1), message(2))
    claim = await take_one(redis)
    await keep(redis, claim, {"result:1:c1": b"{}"}, ttl_ms=60_000)  # since it was claimed

    with pytest.raises(MustStayWhole):
        await release(redis, QUEUE, claim, split=True)
    assert await take(redis) == []

    await release(redis, QUEUE, claim)
    again = await take_one(redis)
    assert (again.turn_id, ids(again), again.deaths) == (claim.turn_id, ["7:1", "7:2"], 0)
    assert again.kept == {"result:1:c1": b"{}"}


async def test_a_turn_whose_rounds_were_forgotten_is_not_split_either(redis: RedisPort) -> None:  # C9, C33
    await send(redis, message(1), message(2))
    claim = await take_one(redis)
    await keep(redis, claim, {"round:1": b'{"text": "parcel"}'}, ttl_ms=60_000)
    await forget(redis, OWNER, "parcel")

    with pytest.raises(MustStayWhole):
        await release(redis, QUEUE, claim, split=True)

    await release(redis, QUEUE, claim)
    again = await take_one(redis)
    assert (ids(again), again.can_split) == (["7:1", "7:2"], False)
    assert "round:1" not in again.kept


async def test_a_lane_whose_keys_are_broken_does_not_stop_the_others(redis: RedisPort) -> None:
    await send(redis, message(1), message(2, lane="7:43:0"))
    await redis.delete(keys.state(JOB))
    await redis.set(keys.state(JOB), "not a hash")

    claims = await take(redis)

    assert [claim.lane for claim in claims] == ["7:43:0"]


async def test_a_turn_whose_messages_were_forgotten_is_over(redis: RedisPort) -> None:
    await send(redis, message(1))
    await lose_lease(redis, await take_one(redis))
    await redis.delete(keys.bodies(JOB))

    assert await take(redis) == []
    assert await is_gone(redis)


async def test_the_lane_job_can_be_read_by_arq(redis: RedisPort) -> None:
    await send(redis, message(1))

    raw = await redis.get(keys.job(JOB))

    assert raw is not None
    function, args, kwargs, _, _ = deserialize_job_raw(raw, deserializer=orjson.loads)
    assert (function, list(args), kwargs) == ("run_lane", [JOB], {})


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        (keys.epoch(OWNER), {"not": "a counter"}),
        (keys.state(JOB), {"turn": "t", "taken": "5"}),
        (keys.state(JOB), {"turn": "t", "taken": '[["7:1"]]'}),
    ],
)
async def test_a_lane_that_cannot_be_read_stops_no_other(
    redis: RedisPort, key: str, fields: dict[str, str | bytes | int | float]
) -> None:
    await send(redis, message(1), message(2, lane="7:43:0", owner="home:u:43"))
    await redis.hset(key, mapping=fields)

    assert [ids(claim) for claim in await take(redis)] == [["7:2"]]
    assert await redis.zscore(QUEUE, JOB) is not None
    assert await redis.get(keys.count("broken_lanes")) == b"1"


async def test_counts_that_are_no_numbers_count_as_none(redis: RedisPort) -> None:
    await send(redis, message(1))
    await redis.hset(keys.state(JOB), mapping={"single": "x", "failures": "y", "deaths": "z"})

    claim = await take_one(redis)

    assert (claim.failures, claim.deaths) == (0, 0)


# ── how long it waited ───────────────────────────────────────────────────────────────────────────────────────────
async def test_a_claim_knows_how_long_ago_its_first_message_was_taken_in(redis: RedisPort) -> None:
    await send(redis, message(1), message(2))
    taken_in = int(await redis.get(keys.claim_of("7:1")) or 0)
    await redis.set(keys.claim_of("7:1"), taken_in - 5_000)

    first = await take_one(redis)
    await lose_lease(redis, first)
    again = await take_one(redis)

    assert 5_000 <= (first.age_ms or 0) <= (again.age_ms or 0) < 65_000


@pytest.mark.parametrize(
    "mark", [b"1", b"9999999999999", b"x", None], ids=["older release", "future", "no number", "gone"]
)
async def test_an_age_that_cannot_be_told_is_none(redis: RedisPort, mark: bytes | None) -> None:
    await send(redis, message(1))
    await (redis.set(keys.claim_of("7:1"), mark) if mark else redis.delete(keys.claim_of("7:1")))

    assert (await take_one(redis)).age_ms is None


async def test_a_mark_of_another_type_does_not_hold_up_its_lane(redis: RedisPort) -> None:
    await send(redis, message(1))
    await redis.delete(keys.claim_of("7:1"))
    await redis.sadd(keys.claim_of("7:1"), "x")

    assert (await take_one(redis)).age_ms is None
