"""What waits and runs, read from real lanes."""

import pytest

from dashboard.queue import STUCK_MS, Block, LaneNow, QueueNow, lane_rows, queue_now, state_of, worker_of
from infra import health, keys
from infra.pause import EVERYTHING, PARKED_MS, Paused, pause
from infra.redis_port import RedisPort
from lanes.claim import Claim, claim_due
from lanes.commit import release
from tests.dashboard.house import NOW_MS
from tests.dashboard.records import message, wait


async def take(redis: RedisPort, wanted: int = 1) -> list[Claim]:
    found, _ = await claim_due(
        redis, keys.inbox_queue(), lease_ms=10_000, wanted=wanted, prefix="host-9-abc", per_turn=20
    )
    return found


async def test_messages_that_wait_are_counted_with_the_age_of_the_oldest(redis: RedisPort) -> None:
    await wait(redis, message(1), message(2), message(3, chat="1002"))
    await redis.set(keys.claim_of("7:1"), (await redis_ms(redis)) - 6_400)

    now = await queue_now(redis)

    assert now.waiting == 3
    assert now.running == 0
    assert now.oldest_ms is not None
    assert 6_400 <= now.oldest_ms < 60_000
    assert {lane.lane: lane.item_ids for lane in now.inbox} == {
        "7:1001:0": ("7:1", "7:2"),
        "7:1002:0": ("7:3",),
    }


async def redis_ms(redis: RedisPort) -> int:
    seconds, micros = await redis.time()
    return seconds * 1000 + micros // 1000


async def test_what_a_turn_has_taken_runs_and_what_came_after_waits(redis: RedisPort) -> None:
    await wait(redis, message(1), message(2))
    (claim,) = await take(redis)
    await wait(redis, message(3))
    await redis.set(keys.claim_of("7:1"), (await redis_ms(redis)) - 600_000)

    now = await queue_now(redis)

    assert now.oldest_ms is not None
    assert now.oldest_ms < 600_000  # that of the one that waits, not of the one that runs
    (lane,) = now.inbox
    assert (now.running, now.waiting) == (1, 1)
    assert (lane.state, lane.running, lane.waiting, lane.turn_id) == ("running", 2, 1, claim.turn_id)
    assert lane.worker == "host-9"


async def test_a_lane_whose_attempt_failed_is_tried_again_soon(redis: RedisPort) -> None:
    await wait(redis, message(1))
    (claim,) = await take(redis)
    await release(redis, keys.inbox_queue(), claim, delay_ms=5_000, failed=True)

    (lane,) = (await queue_now(redis)).inbox

    assert (lane.state, lane.failures, lane.has_failed) == ("retrying", 1, True)


async def test_a_paused_lane_says_so_and_keeps_its_messages(redis: RedisPort) -> None:
    await wait(redis, message(1))
    await pause(redis, EVERYTHING, NOW_MS)
    await take(redis)

    now = await queue_now(redis)

    assert [lane.state for lane in now.inbox] == ["paused"]
    assert now.waiting == 1
    assert now.inbox[0].due_ms < PARKED_MS


async def test_a_lane_that_is_due_and_that_nobody_takes_is_stuck(redis: RedisPort) -> None:
    await wait(redis, message(1))
    await redis.zadd(keys.inbox_queue(), {"in:7:1001:0": (await redis_ms(redis)) - STUCK_MS - 1_000})

    assert [lane.lane for lane in (await queue_now(redis)).stuck] == ["7:1001:0"]


async def test_behind_full_hands_nothing_is_stuck(redis: RedisPort) -> None:
    await health.beat(redis, "worker", "elsewhere-1", slots=1)
    await wait(redis, message(1))
    await take(redis)
    await wait(redis, message(2, chat="1002"))
    await redis.zadd(keys.inbox_queue(), {"in:7:1002:0": (await redis_ms(redis)) - STUCK_MS - 1_000})

    now = await queue_now(redis)

    assert now.slots == 1
    assert now.stuck == ()


async def test_slots_are_those_of_living_workers(redis: RedisPort) -> None:
    assert (await queue_now(redis)).slots is None
    await health.beat(redis, "worker", "elsewhere-1", slots=50)
    await health.beat(redis, "worker", "elsewhere-2", slots=4)
    await redis.set(keys.slots("elsewhere-3"), 7)

    now = await queue_now(redis)

    assert (now.slots, now.workers) == (54, 2)


async def test_replies_that_are_not_sent_are_counted_apart(redis: RedisPort) -> None:
    await redis.zadd(keys.outbox_queue("7"), {"out:7:1001:0": 1})
    await redis.rpush(keys.items("out:7:1001:0"), "0:a", "0:b")

    now = await queue_now(redis, ["7"])

    assert (now.sending, now.waiting) == (2, 0)


async def test_a_broken_lane_hides_no_other(redis: RedisPort) -> None:
    await wait(redis, message(1), message(2, chat="1002"))
    await redis.delete(keys.state("in:7:1001:0"))
    await redis.set(keys.state("in:7:1001:0"), "no hash")

    now = await queue_now(redis)

    assert now.waiting == 2
    assert [lane.lane for lane in now.inbox] == ["7:1002:0"]


@pytest.mark.parametrize(
    ("score", "is_held", "attempts", "state"),
    [
        (1_000, True, 0, "running"),
        (1_000, False, 0, "waiting"),
        (1_000, False, 1, "retrying"),
        (2_000, False, 0, "held"),
        (2_000, False, 1, "retrying"),
        (1_500 - STUCK_MS - 1, False, 0, "stuck"),
        (PARKED_MS + 1_000, False, 0, "paused"),
    ],
)
def test_the_state_of_a_lane(score: float, is_held: bool, attempts: int, state: str) -> None:
    assert state_of("in:7:1:0", score, 1_500, is_held=is_held, attempts=attempts, paused=Paused()) == state


def test_what_is_to_be_sent_is_not_held_up_by_a_pause() -> None:
    paused = Paused({"7": 1})

    assert state_of("in:7:1:0", 1_000, 1_500, is_held=False, attempts=0, paused=paused) == "paused"
    assert state_of("out:7:1:0", 1_000, 1_500, is_held=False, attempts=0, paused=paused) == "waiting"


def test_a_worker_is_named_by_machine_and_process() -> None:
    assert worker_of("my-host-42-0123abcd:17") == "my-host-42"


def test_stuck_lanes_stand_first_and_those_answered_last_behind_what_waits() -> None:
    lanes = (
        LaneNow("in:7:1:0", "waiting", ("a",), 1, oldest_ms=5_000),
        LaneNow("in:7:2:0", "stuck", ("b",), 12, oldest_ms=100),
        LaneNow("in:7:3:0", "running", ("c", "d"), 2, taken=1, oldest_ms=9_000),
        LaneNow("out:7:9:0", "waiting", ("e",), 1),
    )

    rows = lane_rows(QueueNow(lanes=lanes), {"7:4:0": [Block("answered", "answered", "t")]}, {"7:4:0": 7})

    assert [row.lane for row in rows] == ["7:2:0", "7:3:0", "7:1:0", "7:4:0"]
    assert rows[0].is_stuck
    assert rows[0].more == 4
    assert [block.state for block in rows[0].blocks][:2] == ["stuck", "waiting"]
    assert [block.state for block in rows[1].blocks] == ["running", "waiting"]
