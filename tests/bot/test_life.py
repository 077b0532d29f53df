"""What is written down of a reply in the step that takes it out of the outbox."""

import pytest

from bot.api import BotApi
from bot.limiter import Limiter
from bot.reply import Sender
from infra import keys
from infra.clock import Clock
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from lanes.commit import Committed, commit
from lanes.outcome import Done
from schemas.life import SentLife
from schemas.wire import load
from tests.bot.conftest import (
    BOSS,
    CHAT,
    FAST,
    ME,
    NOW_MS,
    QUEUE,
    THREE_PARTS,
    attempt,
    die,
    one,
    queue,
    reply,
)
from tests.contents import contents
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault


async def lives(redis: RedisPort) -> list[SentLife]:
    return [load(SentLife, fields[b"sent"]) for _, fields in await redis.xrange(keys.life())]


def sender_at(redis: RedisPort, api: BotApi, clock: Clock) -> Sender:
    return Sender(redis, api, ME, Limiter(redis, ME.bot_id, FAST), PeopleCache(redis, BOSS, clock), clock)


async def test_a_reply_says_when_it_was_taken_and_each_of_its_parts_sent(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, THREE_PARTS))

    await attempt(redis, sender)

    (life,) = await lives(redis)
    assert life == SentLife(
        reply_id="turn1:answer", lane=f"777:{CHAT}:0", bot_id="777", taken_ms=NOW_MS,
        sent_ms=(NOW_MS,) * len(fake.texts(CHAT)), ended_ms=NOW_MS,
    )  # fmt: skip
    assert len(life.sent_ms) == 3


async def test_a_reply_that_takes_several_attempts_is_one_whole_life(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    def first_clock() -> int:
        if fake.texts(CHAT):
            fake.fault(Fault("flood", chat_id=CHAT))
        return 1_000

    await queue(redis, reply(1, THREE_PARTS))
    await attempt(redis, sender_at(redis, api, first_clock))
    await redis.delete(keys.send_pause("777", CHAT))

    await attempt(redis, sender_at(redis, api, lambda: 9_000))  # another process

    (life,) = await lives(redis)
    assert (life.taken_ms, life.sent_ms, life.ended_ms) == (1_000, (1_000, 9_000, 9_000), 9_000)
    assert (life.outcome, life.resent, life.left) == ("sent", 0, 0)


async def test_a_part_that_was_sent_twice_is_counted_as_resent(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "hello"))
    fake.fault(Fault("drop_after"))

    for _ in range(2):
        await attempt(redis, sender)

    (life,) = await lives(redis)
    assert (life.outcome, life.resent, life.left, len(life.sent_ms)) == ("sent", 1, 0, 1)


async def test_a_part_that_was_given_up_is_counted_as_left(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, THREE_PARTS))
    fake.fault(Fault("drop_before", times=2))

    for _ in range(3):
        await attempt(redis, sender)

    (life,) = await lives(redis)
    assert (life.outcome, life.resent, life.left, len(life.sent_ms)) == ("sent", 0, 1, 2)


async def test_a_blocked_bot_ends_the_life_of_a_reply(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    fake.blocked.add(CHAT)
    await queue(redis, reply(1, "hello"))

    await attempt(redis, sender)

    (life,) = await lives(redis)
    assert (life.outcome, life.sent_ms) == ("gone", ())


async def test_a_dead_reply_says_how_far_it_came(redis: RedisPort, api: BotApi, fake: FakeTelegram) -> None:
    def refusing_what_follows() -> int:
        if fake.texts(CHAT):
            fake.fault(Fault("error", chat_id=CHAT, times=-1))
        return NOW_MS

    await queue(redis, reply(1, THREE_PARTS))

    await attempt(redis, sender_at(redis, api, refusing_what_follows))

    (life,) = await lives(redis)
    assert (life.outcome, len(life.sent_ms)) == ("dead", 1)


@pytest.mark.parametrize("kept", [{}, {"turn1:answer:place": b'{"v":2,"at":1,"taken_ms":5,"sent_ms":[7]}'}])
async def test_a_reply_whose_process_died_too_often_says_what_is_known(
    redis: RedisPort, sender: Sender, kept: dict[str, bytes]
) -> None:
    await queue(redis, reply(1, "hello"))
    claim = await one(redis)
    if kept:
        await redis.hset(keys.kept(claim.job_id), mapping=kept)
        await die(redis, claim)
        claim = await one(redis)

    await commit(redis, QUEUE, claim, sender.bury(claim, "the process died"))

    (life,) = await lives(redis)
    assert (life.outcome, life.taken_ms, life.sent_ms) == (
        ("dead", 5, (7,)) if kept else ("dead", NOW_MS, ())
    )


async def test_a_repeated_commit_writes_no_second_life(redis: RedisPort, sender: Sender) -> None:
    await queue(redis, reply(1, "hello"))
    claim = await one(redis)
    outcome = await sender.run(claim)
    assert isinstance(outcome, Done)

    done = [await commit(redis, QUEUE, claim, outcome.commit) for _ in range(2)]

    assert done == [Committed.DONE, Committed.ALREADY]
    assert len(await lives(redis)) == 1


async def test_who_lost_the_lane_writes_nothing(redis: RedisPort, sender: Sender) -> None:
    await queue(redis, reply(1, "hello"))
    claim = await one(redis)
    outcome = await sender.run(claim)
    await die(redis, claim)
    await one(redis)
    assert isinstance(outcome, Done)

    assert await commit(redis, QUEUE, claim, outcome.commit) is Committed.FENCED
    assert await lives(redis) == []


async def test_the_stream_holds_no_text_and_goes_by_itself(redis: RedisPort, sender: Sender) -> None:
    await queue(redis, reply(1, "Quitten und Schlehen"))

    await attempt(redis, sender)

    assert "Quitten" not in (await contents(redis))[keys.life()]
    assert 0 < await redis.pttl(keys.life()) <= 31 * 24 * 3_600_000
