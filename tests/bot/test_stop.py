"""/stop and the button under a draft are carried out when they are admitted."""

import asyncio
from typing import Any

import pytest

from bot.intake import Taken
from bot.translate import read
from infra import keys
from infra.people import save_person
from infra.redis_port import RedisPort
from infra.stop import _STOP, draft_id_of  # pyright: ignore[reportPrivateUsage]
from lanes.claim import Claim, claim_due
from lanes.commit import commit
from lanes.outcome import Commit
from schemas.person import Person
from tests.bot.conftest import ME, NOW_MS
from tests.bot.test_intake import JO, LANE, answers, intake_of, update, waiting
from tests.fakes.telegram import FakeTelegram

GROUP = {"id": -5, "type": "group", "title": "x"}
STOP = keys.stop(LANE)


async def begin(redis: RedisPort, number: int = 10, text: str = "Tell me", **more: Any) -> Claim:
    """A message came, and a worker runs its turn."""
    await intake_of(redis).take([update(number, text, **more)])
    (claim,), _ = await claim_due(
        redis, keys.inbox_queue(), lease_ms=10_000, wanted=1, prefix="worker", per_turn=20
    )
    return claim


def press(number: int, draft_id: int, user_id: int = JO, topic_id: int = 0) -> dict[str, Any]:
    fake = FakeTelegram(now=lambda: NOW_MS / 1000)
    fake.press_stop("777", user_id, draft_id, topic_id)
    return {**fake.bot("777").updates[0], "update_id": number}


async def test_a_stop_names_the_turn_that_runs_and_is_no_turn_itself(redis: RedisPort) -> None:
    claim = await begin(redis)
    pubsub = redis.pubsub()
    await pubsub.subscribe(keys.stop_channel())
    await pubsub.get_message(timeout=1)

    taken = await intake_of(redis).take([update(11, "/stop")])

    assert taken == Taken(12)
    assert await redis.get(keys.offset("777")) == b"12"
    assert await redis.get(STOP) == claim.turn_id.encode()
    assert 0 < await redis.pttl(STOP) <= 600_000
    heard = await pubsub.get_message(ignore_subscribe_messages=True, timeout=1)
    assert heard is not None
    assert heard["data"] == claim.turn_id.encode()
    assert [m.text for m in await waiting(redis)] == ["Tell me"]
    await pubsub.aclose()


async def test_a_stop_that_is_delivered_again_stops_nothing_else(redis: RedisPort) -> None:
    claim = await begin(redis)
    stop = update(11, "/stop")
    await intake_of(redis).take([stop])
    await commit(redis, keys.inbox_queue(), claim, Commit())
    await redis.delete(STOP)
    await begin(redis, 12, "And now?")

    assert await intake_of(redis).take([stop]) == Taken(12)

    assert await redis.exists(STOP) == 0
    assert [m.text for m in await waiting(redis)] == ["And now?"]


async def test_with_nothing_to_stop_it_goes_into_the_lane(redis: RedisPort) -> None:
    await intake_of(redis).take([update(11, "/stop"), update(11, "/stop")])

    assert [m.command for m in await waiting(redis)] == ["stop"]
    assert await redis.exists(STOP) == 0


async def test_a_message_of_the_same_batch_is_stopped_before_its_turn_begins(redis: RedisPort) -> None:
    await intake_of(redis).take([update(10, "Tell me"), update(11, "/stop"), update(12, "Or this")])

    assert await redis.get(STOP) == b"777:10"
    assert [m.text for m in await waiting(redis)] == ["Tell me", "Or this"]


async def test_a_turn_that_waits_for_its_next_try_can_be_stopped(redis: RedisPort) -> None:
    claim = await begin(redis)
    await redis.delete(keys.lease(claim.job_id))  # its worker died

    await intake_of(redis).take([update(11, "/stop")])

    assert await redis.get(STOP) == claim.turn_id.encode()


async def test_only_people_who_are_let_in_can_stop(redis: RedisPort) -> None:
    lane = "777:-5:0"
    await redis.hset(keys.state(keys.inbox_job(lane)), "turn", "t1")
    await save_person(redis, Person(user_id="50", role="blocked"))

    for number, user_id in ((11, 99), (12, 50)):
        await intake_of(redis).take([update(number, "/stop", user_id=user_id, chat=GROUP)])
    assert await redis.exists(keys.stop(lane)) == 0

    await intake_of(redis).take([update(13, "/stop@koi777_bot", user_id=1, chat=GROUP)])
    assert await redis.get(keys.stop(lane)) == b"t1"


async def test_an_update_that_cannot_be_stored_stops_nothing_after_it(redis: RedisPort) -> None:
    await begin(redis)
    await redis.set(keys.items(keys.inbox_job("777:1:0")), "not a list")

    taken = await intake_of(redis).take([update(11, "hi", user_id=1), update(12, "/stop")])

    assert taken.next_update_id == 11
    assert await redis.exists(STOP) == 0


async def test_a_lane_of_another_shape_lets_the_stop_wait(redis: RedisPort) -> None:
    await redis.set(keys.state(keys.inbox_job(LANE)), "not a hash")

    taken = await intake_of(redis).take([update(11, "/stop")])

    assert taken.error.startswith("WRONGTYPE")


# ── the button ───────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_button_ends_the_turn_that_its_draft_belongs_to(redis: RedisPort) -> None:
    claim = await begin(redis)

    assert await intake_of(redis).take([press(11, draft_id_of(claim.turn_id))]) == Taken(12)

    assert await redis.get(STOP) == claim.turn_id.encode()
    assert len(await waiting(redis)) == 1


async def test_a_topic_has_a_turn_of_its_own(redis: RedisPort) -> None:
    claim = await begin(redis, message_thread_id=7, is_topic_message=True)
    assert claim.lane == "777:42:7"

    await intake_of(redis).take([press(11, draft_id_of(claim.turn_id))])
    assert [key async for key in redis.scan_iter(match=keys.stop("*"))] == []

    await intake_of(redis).take([press(12, draft_id_of(claim.turn_id), topic_id=7)])
    assert await redis.exists(keys.stop("777:42:7")) == 1


@pytest.mark.parametrize("draft_id", [0, -1, 12345], ids=["none", "odd", "of another turn"])
async def test_the_button_of_another_draft_changes_nothing(redis: RedisPort, draft_id: int) -> None:
    await begin(redis)

    assert await intake_of(redis).take([press(11, draft_id)]) == Taken(12)

    assert await redis.exists(STOP) == 0


async def test_the_button_of_a_turn_that_is_over_changes_nothing(redis: RedisPort) -> None:
    claim = await begin(redis)
    await commit(redis, keys.inbox_queue(), claim, Commit())
    await intake_of(redis).take([update(11, "And now?")])

    await intake_of(redis).take([press(12, draft_id_of(claim.turn_id))])

    assert await redis.exists(STOP) == 0
    assert [m.text for m in await waiting(redis)] == ["And now?"]
    assert await answers(redis) == []


@pytest.mark.parametrize("odd", [None, {}, {"chat": 7}, "x"])
async def test_an_odd_update_is_passed_over(redis: RedisPort, odd: object) -> None:
    taken = await intake_of(redis).take([{"update_id": 11, "stopped_message_generation": odd}])

    assert taken == Taken(12)


def test_the_button_is_no_message() -> None:
    assert not hasattr(read(press(11, 5), ME, NOW_MS), "message")


async def test_two_processes_that_stop_at_once_stop_once(redis: RedisPort) -> None:
    claim = await begin(redis)

    await asyncio.gather(*(intake_of(redis).take([update(11, "/stop")]) for _ in range(3)))

    assert await redis.get(STOP) == claim.turn_id.encode()
    assert len(await waiting(redis)) == 1


async def test_a_turn_that_took_the_place_of_the_one_that_was_meant_goes_on(redis: RedisPort) -> None:
    state = keys.state(keys.inbox_job(LANE))
    await redis.hset(state, "turn", "t2")  # between the look of the press and its step

    stopped = await _STOP(redis, [state, "items", "bodies", STOP, "claim"], ["t1", 1000, "channel", 1000])

    assert not stopped
    assert await redis.exists(STOP, "claim") == 0
