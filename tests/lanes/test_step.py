"""Changes that depend on what was read: made if it is still so, once, in one go or not at all (invariants 3, 4, 6)."""

import asyncio

import pytest

from infra import keys
from infra.deliver import CannotDeliver, deliver
from infra.effect import Effect, Expect, Push
from infra.redis_port import RedisPort
from lanes.claim import Claim
from lanes.commit import CannotCommit, Committed, commit, release
from lanes.keep import LeaseLost, keep
from lanes.outcome import Commit
from lanes.step import Changed, Forgotten, Known, Step, Stepped, step
from tests.lanes.conftest import JOB, OWNER, QUEUE, lose_lease, message, send, take, take_one

THINGS, FACTS = keys.things(OWNER), keys.facts(OWNER)
OUT = keys.outbox_job("7:42:0")
OUT_QUEUE = keys.outbox_queue("7")
TTL_MS = 60_000
REPLY = Push(OUT, OUT_QUEUE, "r1", b"{}", OWNER)


def version(number: int) -> tuple[Expect, ...]:
    """Nothing changed since the things were read in this version."""
    return (Expect(THINGS, "version", str(number).encode() if number else None),)


def making(number: int, thing: bytes = b"bread") -> tuple[Effect, ...]:
    """One thing more, in this version."""
    return Effect("HSET", THINGS, (f"t{number}", thing)), Effect("HSET", THINGS, ("version", number))


async def make(redis: RedisPort, claim: Claim, name: str = "result:1:c1", *, seen: int = 0) -> Step:
    """A tool that makes a thing in the turn of `claim`; `seen`: the version of the things that it was decided by."""
    return await step(
        redis, claim, name, b"made", ttl_ms=TTL_MS, expects=version(seen), effects=making(seen + 1)
    )


async def begun(redis: RedisPort) -> Claim:
    await send(redis, message(1))
    return await take_one(redis)


async def made(redis: RedisPort) -> list[str]:
    """Ids of the things there are."""
    return sorted(key.decode() for key in await redis.hkeys(THINGS) if key != b"version")


async def test_what_a_tool_changes_is_made_together_with_its_result(redis: RedisPort) -> None:
    claim = await begun(redis)

    assert await make(redis, claim) == Stepped()

    assert await redis.hgetall(THINGS) == {b"t1": b"bread", b"version": b"1"}
    assert await redis.hgetall(keys.kept(JOB)) == {b"result:1:c1": b"made"}
    assert 0 < await redis.pttl(keys.kept(JOB)) <= TTL_MS


async def test_a_call_whose_answer_was_lost_is_not_done_again(redis: RedisPort) -> None:  # C9
    claim = await begun(redis)
    await make(redis, claim)

    # what it expected is not so any more: it has changed that itself
    assert await make(redis, claim) == Known(b"made")

    assert await made(redis) == ["t1"]


async def test_a_retry_of_the_turn_knows_what_was_done(redis: RedisPort) -> None:  # C9
    first = await begun(redis)
    await keep(redis, first, {"round:1": b"{}"}, TTL_MS)
    await make(redis, first)
    await lose_lease(redis, first)

    second = await take_one(redis)

    assert second.turn_id == first.turn_id
    assert second.kept == {"round:1": b"{}", "result:1:c1": b"made"}
    assert await make(redis, second, seen=1) == Known(b"made")
    assert await made(redis) == ["t1"]


async def test_two_equal_calls_are_two(redis: RedisPort) -> None:  # C9
    claim = await begun(redis)

    assert await make(redis, claim, "result:1:c1") == Stepped()
    assert await make(redis, claim, "result:1:c2", seen=1) == Stepped()

    assert await made(redis) == ["t1", "t2"]


async def test_the_next_turn_may_use_the_same_name(redis: RedisPort) -> None:
    claim = await begun(redis)
    await make(redis, claim)
    assert await commit(redis, QUEUE, claim, Commit()) is Committed.DONE

    assert await make(redis, await begun_again(redis), seen=1) == Stepped()

    assert await made(redis) == ["t1", "t2"]


async def begun_again(redis: RedisPort) -> Claim:
    await send(redis, message(2))
    return await take_one(redis)


async def test_who_lost_the_lease_can_change_nothing(redis: RedisPort) -> None:
    stalled = await begun(redis)
    await lose_lease(redis, stalled)
    current = await take_one(redis)

    with pytest.raises(LeaseLost):
        await make(redis, stalled)
    assert await made(redis) == []

    assert await make(redis, current) == Stepped()
    with pytest.raises(LeaseLost):  # also not what is kept under that name
        await make(redis, stalled)


async def test_a_turn_that_is_over_can_change_nothing(redis: RedisPort) -> None:
    claim = await begun(redis)
    await commit(redis, QUEUE, claim, Commit())

    with pytest.raises(LeaseLost):
        await make(redis, claim)

    assert await redis.exists(THINGS, keys.kept(JOB)) == 0


async def test_after_forgetting_a_turn_begun_before_changes_nothing_more(redis: RedisPort) -> None:
    claim = await begun(redis)
    await redis.incr(keys.epoch(OWNER))

    assert await make(redis, claim) == Forgotten()

    assert await redis.exists(THINGS, keys.kept(JOB)) == 0


async def test_what_was_done_before_the_owner_forgot_is_not_denied(redis: RedisPort) -> None:
    claim = await begun(redis)
    await make(redis, claim)
    await redis.incr(keys.epoch(OWNER))

    assert await make(redis, claim) == Known(b"made")


EXPECTED = [
    pytest.param(None, b"1", id="it was not there"),
    pytest.param(b"1", b"2", id="it was another"),
    pytest.param(b"1", None, id="it was there"),
    pytest.param(b"", None, id="it was there and empty"),
    pytest.param(None, b"", id="it was not there, and is empty now"),
]


@pytest.mark.parametrize(("read", "found"), EXPECTED)
async def test_nothing_is_done_by_what_is_not_so_any_more(
    redis: RedisPort, read: bytes | None, found: bytes | None
) -> None:
    claim = await begun(redis)
    if found is not None:
        await redis.hset(THINGS, "version", found)
    before = await redis.hgetall(THINGS)
    expects = (Expect(FACTS, "f1", None), Expect(THINGS, "version", read))

    done = await step(redis, claim, "n", b"v", ttl_ms=TTL_MS, expects=expects, effects=making(9))
    delivered = await deliver(redis, expects=expects, effects=making(9), pushes=[REPLY])

    assert (done, delivered) == (Changed(), False)
    assert await redis.hgetall(THINGS) == before
    assert await redis.exists(keys.kept(JOB), keys.items(OUT), FACTS) == 0


@pytest.mark.parametrize("value", [None, b"", b"1"], ids=["nothing", "empty", "a value"])
async def test_what_is_as_it_was_read_lets_the_step_pass(redis: RedisPort, value: bytes | None) -> None:
    claim = await begun(redis)
    if value is not None:
        await redis.hset(THINGS, "version", value)

    done = await step(redis, claim, "n", b"", ttl_ms=TTL_MS, expects=[Expect(THINGS, "version", value)])

    assert done == Stepped()
    assert await redis.hget(keys.kept(JOB), "n") == b""
    assert await step(redis, claim, "n", b"other", ttl_ms=TTL_MS) == Known(b"")


async def test_of_two_that_read_the_same_exactly_one_wins(redis: RedisPort) -> None:
    lanes = [message(number, lane=f"7:42:{number}") for number in range(8)]
    await send(redis, *lanes)
    claims = await take(redis)

    ends = await asyncio.gather(*(make(redis, claim) for claim in claims))

    assert len(claims) == 8
    assert ends.count(Stepped()) == 1
    assert ends.count(Changed()) == 7
    assert await made(redis) == ["t1"]


@pytest.mark.parametrize("broken", [THINGS, FACTS, keys.kept(JOB), keys.due()])
async def test_a_step_that_cannot_do_everything_does_nothing(redis: RedisPort, broken: str) -> None:
    claim = await begun(redis)
    await redis.set(broken, "another type")
    effects = (*making(1), Effect("ZADD", keys.due(), (5, "x")))
    expects = (Expect(FACTS, "f1", None),)

    with pytest.raises(CannotCommit, match=broken):
        await step(redis, claim, "n", b"v", ttl_ms=TTL_MS, expects=expects, effects=effects)

    left = {THINGS, FACTS, keys.kept(JOB), keys.due()} - {broken}
    assert await redis.get(broken) == b"another type"
    assert await redis.exists(*left) == 0


async def test_a_reminder_is_delivered_with_what_it_changes(redis: RedisPort) -> None:
    due = Effect("ZREM", keys.due(), (f"{OWNER}|r4",))
    await redis.zadd(keys.due(), {f"{OWNER}|r4": 5})

    assert await deliver(redis, expects=version(0), effects=[due, *making(1)], pushes=[REPLY])

    assert await redis.exists(keys.due()) == 0
    assert await made(redis) == ["t1"]
    (claim,) = await take(redis, queue=OUT_QUEUE)
    assert [(item.id, item.body) for item in claim.items] == [("r1", b"{}")]
    assert claim.owner == OWNER


async def test_two_workers_deliver_a_reminder_once(redis: RedisPort) -> None:
    ends = await asyncio.gather(
        *(deliver(redis, expects=version(0), effects=making(1), pushes=[REPLY]) for _ in range(8))
    )

    assert sorted(ends) == [False] * 7 + [True]
    assert await redis.lrange(keys.items(OUT), 0, -1) == [b"0:r1"]


async def test_what_is_delivered_to_a_busy_lane_waits_there_and_rings_once_it_is_free(
    redis: RedisPort,
) -> None:
    first = Push(OUT, OUT_QUEUE, "r0", b"{}", OWNER)
    await send(redis, first)
    (busy,) = await take(redis, queue=OUT_QUEUE)

    assert await deliver(redis, expects=(), effects=(), pushes=[REPLY])

    assert await take(redis, queue=OUT_QUEUE) == []
    assert await commit(redis, OUT_QUEUE, busy, Commit()) is Committed.DONE
    (claim,) = await take(redis, queue=OUT_QUEUE)
    assert [item.id for item in claim.items] == ["r1"]


async def test_a_lane_that_cannot_be_written_gets_nothing(redis: RedisPort) -> None:
    await redis.set(OUT_QUEUE, "no queue")

    with pytest.raises(CannotDeliver, match=OUT_QUEUE):
        await deliver(redis, expects=version(0), effects=making(1), pushes=[REPLY])

    assert await redis.exists(THINGS, keys.items(OUT), keys.bodies(OUT), keys.lanes_of(OWNER)) == 0


async def test_a_step_leaves_the_lane_to_its_turn(redis: RedisPort) -> None:
    claim = await begun(redis)
    await make(redis, claim)

    assert await take(redis) == []
    assert await release(redis, QUEUE, claim)
    assert (await take_one(redis)).deaths == 0
