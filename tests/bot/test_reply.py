"""Invariant 7: a reply part is sent once, unless nobody can know."""

import asyncio
from dataclasses import replace

import pytest

from bot.render import render
from bot.reply import RESEND_MS, Sender
from infra import keys
from infra.redis_port import RedisPort
from lanes.claim import Claim
from lanes.keep import LeaseLost
from lanes.outcome import Done, HandBack
from tests.bot.conftest import CHAT, THREE_PARTS, attempt, die, one, queue, reply, take
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault


# ── nothing goes wrong ───────────────────────────────────────────────────────────────────────────────────────────
async def test_a_reply_is_sent_with_its_formatting_and_is_gone(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "It comes on **Wednesday**."))

    await attempt(redis, sender)

    (message,) = fake.sent()
    assert message == {
        "chat_id": 42,
        "text": "It comes on Wednesday.",
        "entities": [{"type": "bold", "offset": 12, "length": 9}],
    }
    assert await take(redis) == []
    assert await redis.exists(keys.kept(f"out:777:{CHAT}:0"), keys.bodies(f"out:777:{CHAT}:0")) == 0


async def test_parts_leave_in_order(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:  # C11
    await queue(redis, reply(1, THREE_PARTS), reply(2, "after"))

    await attempt(redis, sender)
    await attempt(redis, sender)

    texts = fake.texts(CHAT)
    assert len(texts) == 4
    assert "\n".join(texts) == f"{THREE_PARTS}\nafter"


async def test_a_topic_is_named_and_general_is_not(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C41
    await queue(redis, reply(1, "a", chat_id="-100", topic_id=77), reply(2, "b", chat_id="-100"))

    for claim in await take(redis):
        await sender.run(claim)

    assert {m["text"]: m.get("message_thread_id") for m in fake.sent()} == {"a": 77, "b": None}


async def test_a_part_is_marked_before_it_leaves(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "hello"))
    claim = await one(redis)
    fake.fault(Fault("hang"))

    async with asyncio.TaskGroup() as group:
        sending = group.create_task(sender.run(claim))
        while not fake.sent():
            await asyncio.sleep(0.001)
        kept = await redis.hgetall(keys.kept(claim.job_id))
        sending.cancel()

    assert b'"mark":"sending"' in kept[b"turn1:answer:place"]
    assert b"hello" in kept[b"turn1:answer:parts"]


# ── the process dies ─────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_reply_outlives_the_process_that_should_send_it(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C2
    await queue(redis, reply(1, "hello"))
    await die(redis, await one(redis))

    await attempt(redis, sender)

    assert fake.texts() == ["hello"]


@pytest.mark.parametrize("killed_in", [0, 1, 2])
async def test_after_a_death_in_mid_reply_only_the_open_part_is_sent_again(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, killed_in: int
) -> None:
    await queue(redis, reply(1, THREE_PARTS))
    claim = await one(redis)
    parts = [part.text for part in render(THREE_PARTS)]

    await killed_while_sending(redis, sender, fake, claim, killed_in)
    await attempt(redis, sender)

    expected = [*parts[: killed_in + 1], "↻ " + parts[killed_in], *parts[killed_in + 1 :]]
    assert fake.texts() == expected


async def killed_while_sending(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, claim: Claim, part: int
) -> None:
    """The message reaches the person, then the process is gone before it hears so."""
    before = len(fake.sent())
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(sender.run(claim))
        while len(fake.sent()) < before + part:
            await asyncio.sleep(0)
        fake.fault(Fault("hang"))
        while len(fake.sent()) < before + part + 1:
            await asyncio.sleep(0)
        sending.cancel()
    await die(redis, claim)


async def test_parts_whose_words_were_forgotten_are_made_again_where_it_stood(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, THREE_PARTS))
    claim = await one(redis)
    await killed_while_sending(redis, sender, fake, claim, 1)
    await redis.hdel(keys.kept(claim.job_id), "turn1:answer:parts")

    await attempt(redis, sender)

    parts = [part.text for part in render(THREE_PARTS)]
    assert fake.texts() == [parts[0], parts[1], "↻ " + parts[1], parts[2]]


async def test_who_lost_the_lane_sends_nothing(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:
    await queue(redis, reply(1, "hello"))
    claim = await one(redis)
    await die(redis, claim)
    await one(redis)

    with pytest.raises(LeaseLost):
        await sender.run(claim)

    assert fake.sent() == []


# ── Telegram does not say ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "fault",
    [Fault("drop_after"), Fault("drop_before"), Fault("error", status=502, description="Bad Gateway")],
    ids=["accepted, then dropped", "dropped", "5xx"],
)
async def test_an_unknown_send_is_repeated_once_and_marked(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, fault: Fault
) -> None:  # C7
    await queue(redis, reply(1, "hello"))
    fake.fault(replace(fault))

    assert await attempt(redis, sender) == HandBack(RESEND_MS)
    assert isinstance(await attempt(redis, sender), Done)

    assert fake.texts()[-1] == "↻ hello"
    assert len([c for c in fake.calls if c.method == "sendMessage"]) == 2


async def test_a_second_unknown_is_left_and_the_owner_told(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C7
    await queue(redis, reply(1, "hello"))
    fake.fault(Fault("drop_after", chat_id=CHAT, times=2))

    for _ in range(3):
        await attempt(redis, sender)
    await attempt(redis, sender)

    assert fake.texts(CHAT) == ["hello", "↻ hello"]
    (told,) = fake.texts("1")
    assert "parcel" in told
    assert CHAT in told
    assert await take(redis) == []


async def test_other_parts_follow_one_that_was_left(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, THREE_PARTS))
    fake.fault(Fault("drop_before", times=2))

    outcomes = [await attempt(redis, sender) for _ in range(3)]

    assert isinstance(outcomes[-1], Done)
    assert len(fake.texts(CHAT)) == 2
