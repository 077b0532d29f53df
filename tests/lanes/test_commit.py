"""Invariants 3 and 4: fenced, all or nothing, once."""

import pytest

from infra import keys
from infra.effect import Effect, Push
from infra.redis_port import RedisPort
from lanes.commit import CannotCommit, Committed, commit, release
from lanes.keep import LeaseLost, keep
from lanes.outcome import Commit
from tests.lanes.conftest import JOB, OWNER, QUEUE, ids, is_gone, lose_lease, message, send, take, take_one

OUT = keys.outbox_job("7:42:0")
OUT_QUEUE = keys.outbox_queue("7")


def end(text: str = "entry") -> Commit:
    """What a turn usually leaves: a memory entry, a counter, a reply."""
    return Commit(
        effects=(Effect("INCRBY", keys.count("turns"), (1,)),),
        texts=(Effect("RPUSH", keys.ring(OWNER), (text,)),),
        pushes=(Push(OUT, OUT_QUEUE, "r1", b"{}", OWNER),),
    )


async def outcome_of(redis: RedisPort) -> tuple[int, bytes | None, int]:
    """Entries remembered, turns counted, replies waiting."""
    return (
        await redis.llen(keys.ring(OWNER)),
        await redis.get(keys.count("turns")),
        await redis.llen(keys.items(OUT)),
    )


async def test_a_turn_ends_in_one_step_and_leaves_an_empty_lane(redis: RedisPort) -> None:
    await send(redis, message(1))

    assert await commit(redis, QUEUE, await take_one(redis), end()) is Committed.DONE

    assert await outcome_of(redis) == (1, b"1", 1)
    assert await is_gone(redis)
    assert [ids(claim) for claim in await take(redis, queue=OUT_QUEUE)] == [["r1"]]


async def test_a_repeated_commit_changes_nothing_and_says_so(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await commit(redis, QUEUE, claim, end())
    await send(redis, message(2))

    assert await commit(redis, QUEUE, claim, end()) is Committed.ALREADY

    assert await outcome_of(redis) == (1, b"1", 1)
    assert ids(await take_one(redis)) == ["7:2"]


async def test_who_lost_the_lease_can_commit_nothing(redis: RedisPort) -> None:
    await send(redis, message(1))
    stalled = await take_one(redis)
    await lose_lease(redis, stalled)
    current = await take_one(redis)

    assert await commit(redis, QUEUE, stalled, end("stale")) is Committed.FENCED
    assert not await release(redis, QUEUE, stalled, failed=True)
    with pytest.raises(LeaseLost):
        await keep(redis, stalled, {"round": b"x"})

    assert await outcome_of(redis) == (0, None, 0)
    assert await commit(redis, QUEUE, current, end("right")) is Committed.DONE
    assert await redis.lrange(keys.ring(OWNER), 0, -1) == [b"right"]


async def test_a_commit_that_cannot_do_everything_does_nothing(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await redis.set(keys.ring(OWNER), "not a list")

    with pytest.raises(CannotCommit, match="koi:ring:home:u:42"):
        await commit(redis, QUEUE, claim, end())

    assert await redis.get(keys.count("turns")) is None
    assert await redis.llen(keys.items(OUT)) == 0
    assert await redis.llen(keys.items(JOB)) == 1


async def test_a_commit_removes_exactly_its_messages_by_id(redis: RedisPort) -> None:
    await send(redis, message(1), message(2))
    claim = await take_one(redis)
    await send(redis, message(3))

    await commit(redis, QUEUE, claim, Commit(remove=("7:1",)))

    assert ids(await take_one(redis)) == ["7:2", "7:3"]


async def test_after_forgetting_a_turn_begun_before_sends_its_reply_and_stores_no_text(
    redis: RedisPort,
) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await redis.incr(keys.epoch(OWNER))

    assert await commit(redis, QUEUE, claim, end()) is Committed.FORGOTTEN

    assert await outcome_of(redis) == (0, b"1", 1)


async def test_a_message_that_arrives_while_the_turn_ends_is_never_stranded(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await send(redis, message(2))

    await commit(redis, QUEUE, claim, Commit())

    assert ids(await take_one(redis)) == ["7:2"]


async def test_what_came_while_its_turns_message_was_forgotten_is_not_lost(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await send(redis, message(2))
    await redis.lrem(keys.items(JOB), 0, "0:7:1")
    await redis.hdel(keys.bodies(JOB), "7:1")

    await commit(redis, QUEUE, claim, Commit())

    assert ids(await take_one(redis)) == ["7:2"]


async def test_what_stands_behind_a_message_that_is_there_twice_is_not_lost(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await redis.rpush(keys.items(JOB), "0:7:1")  # half a push
    await send(redis, message(2))

    await commit(redis, QUEUE, claim, Commit())

    assert ids(await take_one(redis)) == ["7:2"]


async def test_a_reply_to_the_lane_that_ends_waits_in_it(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)

    await commit(redis, QUEUE, claim, Commit(pushes=(message(2), message(3, hold_ms=700))))

    assert await redis.zscore(QUEUE, JOB) is not None
    assert await redis.lrange(keys.items(JOB), 0, -1) == [b"0:7:2", b"0:7:3"]


async def test_replies_to_one_new_lane_wait_there_as_if_they_came_one_by_one(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    part, whole = message(2, lane="7:43:0", hold_ms=700), message(3, lane="7:43:0")

    await commit(redis, QUEUE, claim, Commit(pushes=(part, whole)))

    assert await redis.hget(keys.state(part.job_id), "hold_until") is None
    assert ids(await take_one(redis)) == ["7:2", "7:3"]


async def test_what_was_kept_goes_with_the_commit(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    assert await keep(redis, claim, {"round": b"1"}, ttl_ms=1000)

    await commit(redis, QUEUE, claim, Commit())

    assert await redis.exists(keys.kept(JOB)) == 0


async def test_after_forgetting_nothing_more_is_kept_of_the_running_turn(redis: RedisPort) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await redis.incr(keys.epoch(OWNER))

    assert not await keep(redis, claim, {"round": b"words"}, ttl_ms=1000)

    assert await redis.exists(keys.kept(JOB)) == 0
