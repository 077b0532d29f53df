"""The worker as a whole, against a real server: woken at once, drained, stopped, fenced, never stuck."""

import asyncio

import pytest

from infra import keys
from infra.effect import Effect
from infra.redis_port import RedisPort
from lanes.claim import Claim
from lanes.lease import Lease
from lanes.outcome import Commit, Done, Failed, HandBack, Outcome
from lanes.step import step
from lanes.sweep import SWEPT, sweep
from lanes.worker import LaneLimits, LaneWorker
from tests.lanes.conftest import (
    JOB,
    OWNER,
    QUEUE,
    Script,
    ids,
    is_gone,
    lose_lease,
    message,
    send,
    serve_until,
    take_one,
    until,
)


async def test_a_message_is_answered_and_the_lane_is_empty(redis: RedisPort, script: Script) -> None:
    await send(redis, message(1))

    await serve_until(redis, script, lambda: is_gone(redis))

    assert [ids(claim) for claim in script.seen] == [["7:1"]]


async def test_messages_that_arrive_during_a_turn_are_the_next_turn(
    redis: RedisPort, script: Script
) -> None:  # C3
    async def slow(_: Claim) -> Outcome:
        await send(redis, message(2), message(3))
        return Done(Commit())

    script.steps["7:1"] = slow
    await send(redis, message(1))

    await serve_until(redis, script, lambda: is_gone(redis))

    assert [ids(claim) for claim in script.seen] == [["7:1"], ["7:2", "7:3"]]


async def test_lanes_run_side_by_side(redis: RedisPort, script: Script) -> None:
    both = asyncio.Barrier(2)

    async def meet(_: Claim) -> Outcome:
        await both.wait()
        return Done(Commit())

    script.steps = {"7:1": meet, "7:2": meet}
    await send(redis, message(1), message(2, lane="7:43:0"))

    await serve_until(redis, script, lambda: is_gone(redis))


async def test_a_worker_without_a_free_slot_leaves_the_bell_to_others(
    redis: RedisPort, script: Script
) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def wait(_: Claim) -> Outcome:
        started.set()
        await go.wait()
        return Done(Commit())

    script.steps["7:1"] = wait
    await send(redis, message(1))
    worker = LaneWorker(redis, QUEUE, script, LaneLimits(concurrency=1))
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        await started.wait()
        for number in range(2, 6):
            await send(redis, message(number, lane=f"7:{number}:0"))
        rung = await redis.llen(keys.bell(QUEUE))
        go.set()
        await until(lambda: _all_seen(script, 5))
        worker.stop()

    assert rung >= 2  # of five: one as it began, and one that it waited for before it was full


async def _all_seen(script: Script, count: int) -> bool:
    return len(script.seen) == count


async def test_a_crash_in_the_handler_is_a_counted_failure_and_in_the_end_buried(
    redis: RedisPort, script: Script
) -> None:
    async def crash(_: Claim) -> Outcome:
        raise KeyError("secret words of a person")

    script.steps["7:1"] = crash
    await send(redis, message(1))

    await serve_until(redis, script, lambda: is_gone(redis), LaneLimits(attempts=1))

    assert [item for item, _ in script.buried] == ["7:1"]
    assert "secret" not in script.buried[0][1]


async def test_a_poisonous_message_is_buried_alone_and_its_neighbours_are_answered(
    redis: RedisPort, script: Script
) -> None:
    async def poison(_: Claim) -> Outcome:
        return Failed("poison", retry_after_ms=0)

    script.steps["7:2"] = poison
    await send(redis, message(1), message(2), message(3))

    await serve_until(redis, script, lambda: is_gone(redis))

    assert script.buried == [("7:2", "poison")]
    assert ["7:1"] in [ids(claim) for claim in script.seen]
    assert ["7:3"] in [ids(claim) for claim in script.seen]


@pytest.mark.parametrize("keeps_in", [1, 2], ids=["kept by an earlier attempt", "kept by the last attempt"])
async def test_a_batch_that_has_done_something_is_tried_whole_and_buried_whole(
    redis: RedisPort, script: Script, keeps_in: int
) -> None:  # C9: no message of it becomes a new turn, in which a finished tool would run again
    async def dentist(claim: Claim) -> Outcome:
        if len(script.seen) == keeps_in:
            making = Effect("HSET", keys.things(OWNER), (f"e{keeps_in}", b"dentist"))
            await step(redis, claim, "result:1:c1", b"made", ttl_ms=60_000, effects=[making])
        return Failed("overloaded", retry_after_ms=0)

    script.steps["7:1"] = dentist
    await send(redis, message(1), message(2))

    await serve_until(redis, script, lambda: is_gone(redis), LaneLimits(attempts=2))

    assert [ids(claim) for claim in script.seen] == [["7:1", "7:2"]] * 2
    assert len({claim.turn_id for claim in script.seen}) == 1
    assert script.buried == [("7:1", "overloaded"), ("7:2", "overloaded")]
    assert await redis.hkeys(keys.things(OWNER)) == [f"e{keeps_in}".encode()]


@pytest.mark.parametrize(
    ("deaths", "kept", "seen", "buried"),
    [
        pytest.param(2, {}, [["7:1"], ["7:2"]], [], id="the third splits a batch that kept nothing"),
        pytest.param(2, {"round:1": b"{}"}, [["7:1", "7:2"]], [], id="one that kept something goes on"),
        pytest.param(4, {"round:1": b"{}"}, [["7:1", "7:2"]], [], id="up to the fifth"),
        pytest.param(5, {"round:1": b"{}"}, [], ["7:1", "7:2"], id="the sixth is the end of all of it"),
    ],
)
async def test_deaths_of_a_batch(
    redis: RedisPort,
    script: Script,
    deaths: int,
    kept: dict[str, bytes],
    seen: list[list[str]],
    buried: list[str],
) -> None:
    await send(redis, message(1), message(2))
    state = {"turn": "t", "taken": '["7:1","7:2"]', "open": "1", "deaths": str(deaths)}
    await redis.hset(keys.state(JOB), mapping=state)
    for name, value in kept.items():
        await redis.hset(keys.kept(JOB), name, value)

    await serve_until(redis, script, lambda: is_gone(redis))

    assert [ids(claim) for claim in script.seen] == seen
    assert [item for item, _ in script.buried] == buried


async def test_a_message_that_kills_its_worker_every_time_is_buried_in_the_end(
    redis: RedisPort, script: Script
) -> None:
    await send(redis, message(1))
    await redis.hset(keys.state(JOB), mapping={"turn": "t", "taken": '["7:1"]', "open": "1", "deaths": "5"})

    await serve_until(redis, script, lambda: is_gone(redis))

    assert script.seen == []
    assert script.buried[0][0] == "7:1"


async def test_a_commit_that_can_never_work_is_buried_not_repeated_for_ever(
    redis: RedisPort, script: Script
) -> None:
    async def into_broken_key(_: Claim) -> Outcome:
        return Done(Commit(texts=(Effect("RPUSH", keys.ring(OWNER), ("x",)),)))

    await redis.set(keys.ring(OWNER), "not a list")
    script.steps["7:1"] = into_broken_key
    await send(redis, message(1))

    await serve_until(redis, script, lambda: is_gone(redis), LaneLimits(attempts=1))

    assert script.buried[0][0] == "7:1"


async def test_handing_back_runs_the_same_turn_later(redis: RedisPort, script: Script) -> None:
    async def first_not_now(claim: Claim) -> Outcome:
        return HandBack(delay_ms=1) if len(script.seen) == 1 else Done(Commit())

    script.steps["7:1"] = first_not_now
    await send(redis, message(1))

    await serve_until(redis, script, lambda: is_gone(redis))

    first, second = script.seen
    assert first.turn_id == second.turn_id
    assert (second.failures, second.deaths) == (0, 0)


async def test_stopping_lets_a_running_turn_end(redis: RedisPort, script: Script) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def wait(_: Claim) -> Outcome:
        started.set()
        await go.wait()
        return Done(Commit())

    script.steps["7:1"] = wait
    await send(redis, message(1))
    worker = LaneWorker(redis, QUEUE, script, LaneLimits())
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        await started.wait()
        worker.stop()
        go.set()

    assert await is_gone(redis)


async def test_stopping_hands_back_what_does_not_end_in_time_uncounted(
    redis: RedisPort, script: Script
) -> None:
    started = asyncio.Event()

    async def hang(_: Claim) -> Outcome:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    script.steps["7:1"] = hang
    await send(redis, message(1))
    worker = LaneWorker(redis, QUEUE, script, LaneLimits(drain_ms=10))
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        await started.wait()
        worker.stop()

    script.steps.clear()
    await serve_until(redis, script, lambda: is_gone(redis))
    assert (script.seen[-1].deaths, script.seen[-1].failures) == (0, 0)


async def test_a_worker_whose_lane_was_taken_stops_its_turn(redis: RedisPort, script: Script) -> None:
    cancelled, started = asyncio.Event(), asyncio.Event()

    async def hang(_: Claim) -> Outcome:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    script.steps["7:1"] = hang
    await send(redis, message(1))
    worker = LaneWorker(redis, QUEUE, script, LaneLimits(lease_ms=200))
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        await started.wait()
        script.steps.clear()
        await redis.set(keys.lease(JOB), "somebody else", px=50)
        async with asyncio.timeout(5):
            await cancelled.wait()
        await until(lambda: is_gone(redis))  # and takes it again when that one is gone
        worker.stop()


def test_a_lease_that_could_end_within_the_margin_is_given_up_by_our_own_clock() -> None:
    lease = Lease(Claim(JOB, "t", "t", (), "0"), held_since=100.0, lease_s=10)

    assert not lease.ends_within(4, now=105.9)
    assert lease.ends_within(4, now=106.1)


async def test_a_long_turn_keeps_its_lease(redis: RedisPort, script: Script) -> None:
    renewed = asyncio.Event()

    async def long(claim: Claim) -> Outcome:
        lease = worker.leases[claim.job_id]
        since = lease.held_since
        await until(lambda: _changed(lease, since))
        renewed.set()
        return Done(Commit())

    script.steps["7:1"] = long
    await send(redis, message(1))
    worker = LaneWorker(redis, QUEUE, script, LaneLimits(lease_ms=100))
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        await until(lambda: is_gone(redis))
        worker.stop()

    assert renewed.is_set()
    assert len(script.seen) == 1


async def _changed(lease: Lease, since: float) -> bool:
    return lease.held_since > since


async def test_the_turn_of_a_killed_worker_runs_again(redis: RedisPort, script: Script) -> None:  # C46
    await send(redis, message(1))
    died = await take_one(redis)
    await lose_lease(redis, died)

    await serve_until(redis, script, lambda: is_gone(redis))

    assert script.seen[0].turn_id == died.turn_id
    assert script.seen[0].deaths == 1


async def test_the_sweep_finds_nothing_to_do_in_ordinary_life(redis: RedisPort) -> None:
    await send(redis, message(1), message(2, lane="7:43:0"))

    assert await sweep(redis) == 0


async def test_a_stranded_lane_is_given_its_job_back_and_counted(redis: RedisPort, script: Script) -> None:
    await send(redis, message(1))
    await redis.delete(QUEUE, keys.job(JOB))

    assert await sweep(redis) == 1
    assert await redis.get(SWEPT) == b"1"
    await serve_until(redis, script, lambda: is_gone(redis))


async def test_a_lane_whose_end_cannot_be_written_waits_and_the_worker_goes_on(
    redis: RedisPort, script: Script
) -> None:
    async def not_a_number(_: Claim) -> Outcome:
        return Done(Commit(effects=(Effect("HINCRBY", "koi:x", ("field", "many")),)))

    def no_bury(_claim: Claim, _reason: str) -> Commit:
        raise ValueError("no letter can be written")

    async def poison(_: Claim) -> Outcome:
        return Failed("poison", final=True)

    async def answered() -> bool:
        return await is_gone(redis, keys.inbox_job("7:44:0"))

    script.steps = {"7:1": not_a_number, "7:2": poison}
    script.bury = no_bury  # pyright: ignore[reportAttributeAccessIssue]
    await send(redis, message(1), message(2, lane="7:43:0"))

    async def then_another() -> bool:
        if len(script.seen) == 2:
            await send(redis, message(3, lane="7:44:0"))
        return len(script.seen) >= 3 and await answered()

    await serve_until(redis, script, then_another)

    for job_id in (JOB, keys.inbox_job("7:43:0")):
        assert await redis.exists(keys.lease(job_id)) == 0
        assert await redis.zscore(QUEUE, job_id) is not None
