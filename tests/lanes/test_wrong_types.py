"""Invariant 4: a key that holds another type stops a step before it changed anything, or does not matter to it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from redis.exceptions import ResponseError

from infra import keys
from infra.dead import index_member, retry_dead
from infra.deliver import CannotDeliver, deliver
from infra.effect import Effect, Expect, Push
from infra.redis_port import RedisPort
from lanes.commit import CannotCommit, Committed, MustStayWhole, commit, release
from lanes.keep import keep
from lanes.outcome import Commit
from lanes.step import Stepped, step
from schemas.dead import DeadLetter
from schemas.wire import dump
from tests.lanes.conftest import JOB, OWNER, QUEUE, ids, message, send, take, take_one

OUT = keys.outbox_job("7:42:0")
OUT_QUEUE = keys.outbox_queue("7")
LETTER = DeadLetter(id="7:9", job_id=JOB, at_ms=5, reason="overloaded", body="{}", owner=OWNER)

type Step = Callable[[], Awaitable[bool]]
"""Tries something; True: all of it was done, False or an error: nothing."""


def lane(job_id: str, queue: str) -> list[str]:
    """Every key that the scripts touch for one lane."""
    return [
        keys.items(job_id), keys.bodies(job_id), keys.state(job_id), keys.kept(job_id), keys.done(job_id),
        keys.lease(job_id), keys.job(job_id), queue, keys.bell(queue),
    ]  # fmt: skip


INBOX = [*lane(JOB, QUEUE), keys.lanes_of(OWNER), keys.epoch(OWNER)]
ALL = [*INBOX, *lane(OUT, OUT_QUEUE), keys.ring(OWNER), keys.count("turns"), keys.dead_of(OWNER), keys.dead()]


async def spoil(redis: RedisPort, key: str) -> None:
    """Give the key a type that no script expects anywhere."""
    await redis.delete(key)
    await redis.xadd(key, {"not": "what it should be"})


async def everything(redis: RedisPort) -> dict[bytes, bytes]:
    """The whole database, by value."""
    names = sorted([key async for key in redis.scan_iter()])
    async with redis.pipeline() as pipe:
        for name in names:
            pipe.dump(name)
        return dict(zip(names, await pipe.execute(), strict=True))


async def is_all_or_nothing(redis: RedisPort, step: Step) -> bool:
    """Run the step; gives whether all of it was done.

    Fails if it was not, and something changed.
    """
    before = await everything(redis)
    with suppress(ResponseError, CannotCommit, CannotDeliver, MustStayWhole):
        if await step():
            return True
    assert await everything(redis) == before
    return False


def end() -> Commit:
    """One effect of each kind, and a reply."""
    letter = Effect("HSET", keys.dead_of(OWNER), ("7:2", b"{}"))
    return Commit(
        effects=(Effect("INCRBY", keys.count("turns"), (1,)),),
        texts=(Effect("RPUSH", keys.ring(OWNER), ("text",)),),
        letters=(("7:2", letter), ("7:2", Effect("ZADD", keys.dead(), (1, "x")))),
        pushes=(Push(OUT, OUT_QUEUE, "r1", b"{}", OWNER),),
        remove=("7:1", "7:2"),
    )


@pytest.mark.parametrize("waits", [False, True], ids=["a new lane", "a lane in which something waits"])
@pytest.mark.parametrize("key", INBOX)
async def test_an_item_is_taken_whole_or_not_at_all(redis: RedisPort, key: str, waits: bool) -> None:
    if waits:
        await send(redis, message(1))
    await spoil(redis, key)

    async def step() -> bool:
        return (await send(redis, message(2, hold_ms=700))).taken == 1

    if await is_all_or_nothing(redis, step):
        assert await redis.lrange(keys.items(JOB), -1, -1) == [b"0:7:2"]
        assert await redis.hget(keys.bodies(JOB), "7:2") is not None
        assert await redis.hget(keys.state(JOB), "owner") == OWNER.encode()
        assert JOB.encode() in await redis.smembers(keys.lanes_of(OWNER))
        assert await redis.zscore(QUEUE, JOB) is not None
        assert await redis.exists(keys.claim_of("7:2"))


@pytest.mark.parametrize("waits", [False, True], ids=["the turn takes all", "something waits"])
@pytest.mark.parametrize("key", ALL)
async def test_a_turn_ends_whole_or_not_at_all(redis: RedisPort, key: str, waits: bool) -> None:
    await send(redis, message(1), message(2))
    claim = await take_one(redis)
    if waits:
        await send(redis, message(3))
    await spoil(redis, key)

    async def step() -> bool:
        return await commit(redis, QUEUE, claim, end()) is Committed.DONE

    if await is_all_or_nothing(redis, step):
        assert await redis.get(keys.count("turns")) == b"1"
        assert await redis.lrange(keys.ring(OWNER), 0, -1) == [b"text"]
        assert await redis.hget(keys.dead_of(OWNER), "7:2") == b"{}"
        assert await redis.zcard(keys.dead()) == 1
        assert [ids(reply) for reply in await take(redis, queue=OUT_QUEUE)] == [["r1"]]
        assert await redis.get(keys.done(JOB)) == claim.turn_id.encode()
        assert [ids(left) for left in await take(redis)] == ([["7:3"]] if waits else [])


@pytest.mark.parametrize("split", [False, True], ids=["the same turn again", "split"])
@pytest.mark.parametrize("key", lane(JOB, QUEUE))
async def test_a_lane_is_given_back_whole_or_not_at_all(redis: RedisPort, key: str, split: bool) -> None:
    await send(redis, message(1), message(2))
    claim = await take_one(redis)
    await spoil(redis, key)

    async def step() -> bool:
        return await release(redis, QUEUE, claim, failed=True, split=split)

    if await is_all_or_nothing(redis, step):
        assert await redis.exists(keys.lease(JOB)) == 0
        assert await redis.zscore(QUEUE, JOB) is not None
        assert await redis.hget(keys.state(JOB), "single" if split else "failures") == (
            b"2" if split else b"1"
        )


@pytest.mark.parametrize("key", INBOX)
async def test_something_is_kept_whole_or_not_at_all(redis: RedisPort, key: str) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await spoil(redis, key)

    async def step() -> bool:
        await keep(redis, claim, {"round": b"1"}, ttl_ms=1000)
        return await redis.exists(keys.kept(JOB)) == 1

    if await is_all_or_nothing(redis, step):
        assert await redis.hget(keys.kept(JOB), "round") == b"1"


CHANGED = [keys.things(OWNER), keys.facts(OWNER), keys.due()]
CHANGES = (
    Effect("HSET", keys.things(OWNER), ("t1", b"bread")),
    Effect("ZADD", keys.due(), (5, "x")),
)
EXPECTS = (Expect(keys.facts(OWNER), "f1", None),)


@pytest.mark.parametrize("key", [*INBOX, *CHANGED])
async def test_a_step_is_made_whole_or_not_at_all(redis: RedisPort, key: str) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    await spoil(redis, key)

    async def make() -> bool:
        done = await step(redis, claim, "n", b"v", ttl_ms=1000, expects=EXPECTS, effects=CHANGES)
        return done == Stepped()

    if await is_all_or_nothing(redis, make):
        assert await redis.hget(keys.things(OWNER), "t1") == b"bread"
        assert await redis.zcard(keys.due()) == 1
        assert await redis.hget(keys.kept(JOB), "n") == b"v"


@pytest.mark.parametrize("waits", [False, True], ids=["a new lane", "a lane in which something waits"])
@pytest.mark.parametrize("key", [*lane(OUT, OUT_QUEUE), keys.lanes_of(OWNER), *CHANGED])
async def test_something_is_delivered_whole_or_not_at_all(redis: RedisPort, key: str, waits: bool) -> None:
    if waits:
        await send(redis, Push(OUT, OUT_QUEUE, "r0", b"{}", OWNER))
    await spoil(redis, key)
    reply = Push(OUT, OUT_QUEUE, "r1", b"{}", OWNER)

    if await is_all_or_nothing(
        redis, lambda: deliver(redis, expects=EXPECTS, effects=CHANGES, pushes=[reply])
    ):
        assert await redis.hget(keys.things(OWNER), "t1") == b"bread"
        assert await redis.zcard(keys.due()) == 1
        assert await redis.lrange(keys.items(OUT), -1, -1) == [b"0:r1"]
        assert await redis.hget(keys.bodies(OUT), "r1") == b"{}"
        assert await redis.zscore(OUT_QUEUE, OUT) is not None


@pytest.mark.parametrize("key", [*INBOX, keys.dead_of(OWNER), keys.dead()])
async def test_a_dead_letter_is_retried_whole_or_not_at_all(redis: RedisPort, key: str) -> None:
    await redis.hset(keys.dead_of(OWNER), LETTER.id, dump(LETTER))
    await redis.zadd(keys.dead(), {index_member(LETTER): LETTER.at_ms})
    await spoil(redis, key)

    if await is_all_or_nothing(redis, lambda: retry_dead(redis, LETTER)):
        assert await redis.lrange(keys.items(JOB), 0, -1) == [b"1:7:9"]
        assert await redis.hkeys(keys.dead_of(OWNER)) == []


@pytest.mark.parametrize("again", [False, True], ids=["a new turn", "a turn whose holder died"])
@pytest.mark.parametrize("key", INBOX)
async def test_a_lane_is_claimed_whole_or_put_back(redis: RedisPort, key: str, again: bool) -> None:
    await send(redis, message(1))
    if again:
        await take_one(redis)
        await redis.delete(keys.lease(JOB))
        await redis.zadd(QUEUE, {JOB: 0})
    await spoil(redis, key)
    before = await everything(redis)

    with suppress(ResponseError):
        if claims := await take(redis):
            assert [ids(claim) for claim in claims] == [["7:1"]]
            assert await redis.get(keys.lease(JOB)) == claims[0].token.encode()
            return

    after = await everything(redis)
    # the fence and the count of broken lanes moved; a broken lane waits for a minute
    passing = {name.encode() for name in (QUEUE, keys.bell(QUEUE), keys.fence(), keys.count("broken_lanes"))}
    assert {k: v for k, v in after.items() if k not in passing} == {
        k: v for k, v in before.items() if k not in passing
    }
