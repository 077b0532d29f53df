"""A paused bot begins nothing and loses nothing: invariants 1, 3 and 5, with a real worker where it matters."""

import asyncio
import time
from collections import defaultdict

import pytest

from infra import keys
from infra.effect import Push
from infra.forget import forget
from infra.pause import EVERYTHING, PARKED_MS, Paused, due_ms, is_parked, pause, paused, resume
from infra.redis_port import RedisPort
from infra.scripts import source
from lanes.claim import CLAIM, Claim, claim_due
from lanes.commit import commit, release
from lanes.outcome import Commit, Done, Failed, Outcome
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
    take,
    take_one,
    until,
)

OTHER = "8:42:0"
SINCE_MS = 1_000
ROUNDS = 15


async def score(redis: RedisPort, job_id: str = JOB) -> float:
    found = await redis.zscore(QUEUE, job_id)
    assert found is not None
    return found


# ── what is begun ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("who", ["7", EVERYTHING])
async def test_nothing_of_a_paused_bot_is_begun(redis: RedisPort, who: str) -> None:
    await send(redis, message(1))
    assert await pause(redis, who, SINCE_MS)

    assert await take(redis) == []
    await send(redis, message(2), message(3, lane="7:43:0"))
    assert await take(redis) == []

    assert await redis.lrange(keys.items(JOB), 0, -1) == [b"0:7:1", b"0:7:2"]


async def test_other_bots_go_on(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, message(1), message(2, lane=OTHER))

    assert [claim.lane for claim in await take(redis)] == [OTHER]


async def test_a_crowd_of_paused_lanes_does_not_stand_in_the_way_of_others(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, *(message(n, lane=f"7:{n}:0") for n in range(10)), message(99, lane=OTHER))

    rounds = 0
    while not (found := (await claim_due(redis, QUEUE, lease_ms=9000, wanted=4, prefix="t", per_turn=9))[0]):
        rounds += 1

    assert [claim.lane for claim in found] == [OTHER]
    assert rounds <= 2


async def test_what_is_answered_is_still_sent(redis: RedisPort) -> None:
    await pause(redis, EVERYTHING, SINCE_MS)
    out = keys.outbox_queue("7")
    await send(redis, Push(keys.outbox_job("7:42:0"), out, "r1", b"{}", OWNER))

    assert [ids(claim) for claim in await take(redis, queue=out)] == [["r1"]]


async def test_a_paused_bot_folds_nothing(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, Push(keys.fold_job("7:42:0"), QUEUE, "f1", b"{}", OWNER, solo=True))

    assert await take(redis) == []


async def test_what_runs_ends_and_what_came_meanwhile_waits(redis: RedisPort) -> None:
    await send(redis, message(1))
    running = await take_one(redis)
    await pause(redis, "7", SINCE_MS)
    await send(redis, message(2))

    await commit(redis, QUEUE, running, Commit())

    assert await take(redis) == []
    assert await redis.lrange(keys.items(JOB), 0, -1) == [b"0:7:2"]


@pytest.mark.parametrize("spoiled", ["a string", "a list"])
async def test_a_pause_that_cannot_be_read_pauses_nobody(redis: RedisPort, spoiled: str) -> None:
    await (redis.set(keys.paused(), "7") if spoiled == "a string" else redis.rpush(keys.paused(), "7"))
    await send(redis, message(1))

    assert ids(await take_one(redis)) == ["7:1"]


async def test_a_claim_asks_nothing_more_of_a_house_in_which_nothing_is_paused(redis: RedisPort) -> None:
    await send(redis, *(message(n, lane=f"7:{n}:0") for n in range(20)))
    await redis.config_set("slowlog-log-slower-than", "-1")
    before = (await redis.info("commandstats")).get("cmdstat_hkeys", {"calls": 0})["calls"]

    await take(redis)
    await take(redis)

    after = (await redis.info("commandstats"))["cmdstat_hkeys"]["calls"]
    assert after - before == 1  # the second claim found nothing due


# ── kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_sweep_does_not_take_what_is_paused_for_stranded(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, message(1), message(2, lane=OTHER))
    await take(redis)

    assert await sweep(redis) == 0
    assert await redis.get(SWEPT) is None
    assert is_parked(await score(redis))


async def test_the_sweep_wakes_a_lane_whose_pause_is_gone_without_a_resume(
    redis: RedisPort, script: Script
) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, message(1))
    await take(redis)
    await redis.delete(keys.paused())  # by hand, or an old backup

    assert await sweep(redis) == 1
    await serve_until(redis, script, lambda: is_gone(redis))


async def test_nothing_of_a_paused_lane_expires(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, message(1))
    await take(redis)

    for key in (keys.items(JOB), keys.bodies(JOB), keys.state(JOB), keys.job(JOB), QUEUE, keys.paused()):
        if await redis.exists(key):
            assert await redis.pttl(key) == -1


async def test_a_failed_turn_waits_out_a_pause_without_another_failure(redis: RedisPort) -> None:
    await send(redis, message(1))
    first = await take_one(redis)
    await pause(redis, "7", SINCE_MS)
    await release(redis, QUEUE, first, failed=True)
    for _ in range(10):
        assert await take(redis) == []

    await resume(redis, "7", SINCE_MS)

    again = await take_one(redis)
    assert (again.turn_id, again.failures, again.deaths) == (first.turn_id, 1, 0)


async def test_a_worker_that_dies_while_its_bot_is_paused_is_one_death_however_long_that_lasts(
    redis: RedisPort,
) -> None:  # C46
    await send(redis, message(1))
    died = await take_one(redis)
    await pause(redis, "7", SINCE_MS)
    await lose_lease(redis, died)
    for _ in range(10):
        assert await take(redis) == []
    assert await sweep(redis) == 0

    await resume(redis, "7", SINCE_MS)

    again = await take_one(redis)
    assert (again.turn_id, again.deaths, ids(again)) == (died.turn_id, 1, ["7:1"])


async def test_a_pause_touches_no_lease(redis: RedisPort) -> None:
    await send(redis, message(1))
    running = await take_one(redis)

    await pause(redis, "7", SINCE_MS)
    await take(redis)

    assert await redis.get(keys.lease(JOB)) == running.token.encode()
    assert not is_parked(await score(redis))


async def test_what_is_forgotten_while_paused_is_gone_and_the_lane_goes_with_the_resume(
    redis: RedisPort,
) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, message(1))
    await take(redis)

    await forget(redis, OWNER, "all")
    await resume(redis, "7", SINCE_MS)

    assert await take(redis) == []
    assert await is_gone(redis)


# ── resumed ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_lanes_come_back_in_the_order_in_which_they_were_due(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    now_ms = int(time.time() * 1000)
    lanes = [f"7:{n}:0" for n in (3, 1, 2)]
    for place, lane in enumerate(lanes):
        await send(redis, message(place, lane=lane))
        await redis.zadd(QUEUE, {keys.inbox_job(lane): now_ms - 1000 + place})
    await take(redis)
    await send(redis, message(9, lane=lanes[0]))  # one more makes it no later

    await resume(redis, "7", SINCE_MS)

    assert [claim.lane for claim in await take(redis)] == lanes


async def test_a_lane_that_backs_off_does_so_after_the_resume_too(redis: RedisPort) -> None:
    await send(redis, message(1))
    await pause(redis, "7", SINCE_MS)
    await take(redis)
    await redis.hset(keys.state(JOB), "not_before", int(time.time() * 1000) + 60_000)

    await resume(redis, "7", SINCE_MS)

    assert await take(redis) == []
    assert not is_parked(await score(redis))


async def test_a_lane_that_two_pauses_hold_waits_for_the_end_of_both(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await pause(redis, EVERYTHING, SINCE_MS)
    await send(redis, message(1), message(2, lane=OTHER))
    await take(redis)

    await resume(redis, EVERYTHING, SINCE_MS)
    assert is_parked(await score(redis))
    assert [claim.lane for claim in await take(redis)] == [OTHER]

    await resume(redis, "7", SINCE_MS)
    assert ids(await take_one(redis)) == ["7:1"]


async def test_a_pause_and_its_end_happen_once(redis: RedisPort) -> None:
    assert [await pause(redis, "7", at_ms) for at_ms in (5, 6)] == [True, False]
    assert await paused(redis) == Paused({"7": 5})

    assert not await resume(redis, "7", 6)  # another pause than the one that was seen
    assert await paused(redis) == Paused({"7": 5})
    assert [await resume(redis, "7", 5) for _ in range(2)] == [True, False]
    assert not await paused(redis)


async def test_who_looks_sees_since_when_a_bot_is_paused(redis: RedisPort) -> None:
    await pause(redis, "7", 9)
    await pause(redis, EVERYTHING, 5)

    found = await paused(redis)

    assert (found.since("7"), found.since("8")) == (5, 5)
    assert (Paused({"7": 9}).since("7"), Paused({"7": 9}).since("8")) == (9, None)


async def test_a_queue_that_cannot_be_written_keeps_its_pause(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await redis.set(QUEUE, "no queue")

    with pytest.raises(Exception, match="WRONGTYPE"):
        await resume(redis, "7", SINCE_MS)

    assert (await paused(redis)).since("7") == SINCE_MS


async def test_a_lane_whose_state_is_broken_does_not_keep_the_others_asleep(redis: RedisPort) -> None:
    await pause(redis, "7", SINCE_MS)
    await send(redis, message(1), message(2, lane="7:43:0"))
    await take(redis)
    await redis.delete(keys.state(JOB))
    await redis.set(keys.state(JOB), "broken")

    assert await resume(redis, "7", SINCE_MS)

    assert [claim.lane for claim in await take(redis)] == ["7:43:0"]


def test_both_sides_park_by_the_same_number() -> None:
    assert f"local PARKED_MS = {PARKED_MS}\n" in source(CLAIM.path)
    assert due_ms(1_775_391_780_123.0 + PARKED_MS) == 1_775_391_780_123.0


# ── with a worker ────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_resume_wakes_a_worker_that_sleeps(redis: RedisPort, script: Script) -> None:
    worker = LaneWorker(redis, QUEUE, script, LaneLimits())
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve())
        await pause(redis, "7", SINCE_MS)
        await send(redis, message(1))
        await until(lambda: _is_parked(redis))
        await asyncio.sleep(0.05)  # so that it sleeps
        began = time.monotonic()
        await resume(redis, "7", SINCE_MS)
        await until(lambda: is_gone(redis))
        took_s = time.monotonic() - began
        worker.stop()

    assert took_s < 0.9  # not by the look that it takes every second


async def _is_parked(redis: RedisPort) -> bool:
    return is_parked(await score(redis))


async def test_pauses_under_load_lose_nothing_and_keep_the_order_of_every_lane(
    redis: RedisPort, script: Script
) -> None:
    lanes = [f"7:{n}:0" for n in range(20)]
    answered: dict[str, list[str]] = defaultdict(list)
    failed: set[str] = set()

    async def handle(claim: Claim) -> Outcome:
        await asyncio.sleep(0.001)
        if claim.failures == 0 and claim.items[0].id.endswith("7"):
            failed.add(claim.turn_id)
            return Failed("overloaded", retry_after_ms=1)
        answered[claim.lane] += ids(claim)
        return Done(Commit())

    script.run = handle  # pyright: ignore[reportAttributeAccessIssue]
    workers = [LaneWorker(redis, QUEUE, script, LaneLimits(concurrency=4)) for _ in range(2)]
    async with asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(worker.serve())
        for number in range(ROUNDS):
            await _pause_some(redis, number)
            await send(redis, *(message(f"{number}-{n}", lane=lane) for n, lane in enumerate(lanes)))
            await asyncio.sleep(0.01)
        await _resume_all(redis)
        await until(lambda: _all_answered(answered, len(lanes) * ROUNDS))
        for worker in workers:
            worker.stop()

    assert failed
    assert answered == {lane: [f"7:{number}-{n}" for number in range(ROUNDS)] for n, lane in enumerate(lanes)}
    assert await redis.zcard(QUEUE) == 0
    assert await redis.get(SWEPT) is None


async def _pause_some(redis: RedisPort, number: int) -> None:
    """Everything, then one bot too, then nothing."""
    match number % 3:
        case 0:
            await pause(redis, EVERYTHING, number)
        case 1:
            await pause(redis, "7", number)
        case _:
            await _resume_all(redis)


async def _resume_all(redis: RedisPort) -> None:
    for who, since_ms in (await paused(redis)).since_ms.items():
        await resume(redis, who, since_ms)


async def _all_answered(answered: dict[str, list[str]], count: int) -> bool:
    return sum(map(len, answered.values())) == count
