"""What was certainly not sent waits; what Telegram will never take is set aside."""

from dataclasses import replace

import pytest

from bot.api import BotApi
from bot.reply import BAD_TOKEN_MS, NEWER_MS, UNREACHED_MS, Sender
from infra import keys
from infra.dead import dead_letters
from infra.effect import Push
from infra.people import save_person
from infra.pushes import push_reply
from infra.redis_port import RedisPort
from infra.settings import TelegramSettings
from lanes.ingest import ingest
from lanes.outcome import Done, HandBack
from schemas.person import Person
from schemas.wire import dump
from tests.bot.conftest import (
    CHAT,
    ME,
    NOW_MS,
    OWNER,
    QUEUE,
    THREE_PARTS,
    TOKEN,
    attempt,
    make_sender,
    one,
    queue,
    reply,
    settle,
    take,
)
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault


# ── certainly not sent ───────────────────────────────────────────────────────────────────────────────────────────
async def test_a_429_waits_as_told_and_marks_nothing(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "hello"))
    fake.fault(Fault("flood", retry_after=7))

    assert await attempt(redis, sender) == HandBack(7_000)

    assert 6_000 < await redis.pttl(keys.send_pause(ME.bot_id, CHAT)) <= 7_000
    assert 6_000 < (await attempt_early(redis, sender)) <= 7_000
    await redis.delete(keys.send_pause(ME.bot_id, CHAT))
    await attempt(redis, sender)
    assert fake.texts() == ["hello"]


async def attempt_early(redis: RedisPort, sender: Sender) -> int:
    outcome = await attempt(redis, sender)
    assert isinstance(outcome, HandBack)
    return outcome.delay_ms


async def test_a_429_of_the_resend_does_not_use_it_up(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "hello"))
    fake.fault(Fault("drop_after"))
    await attempt(redis, sender)
    fake.fault(Fault("flood", retry_after=1))
    await attempt(redis, sender)
    await redis.delete(keys.send_pause(ME.bot_id, CHAT))

    await attempt(redis, sender)

    assert fake.texts() == ["hello", "↻ hello"]


async def test_a_429_of_one_chat_does_not_hold_up_another(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "slow"), reply(2, "quick", chat_id="43"))
    fake.fault(Fault("flood", chat_id=CHAT, retry_after=30))

    for claim in await take(redis):
        await settle(redis, claim, await sender.run(claim))

    assert fake.texts() == ["quick"]


async def test_429s_in_one_chat_after_the_other_pause_the_bot(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, *(reply(i, "x", chat_id=str(i)) for i in range(1, 6)))
    fake.fault(Fault("flood", times=-1, retry_after=9))

    for claim in await take(redis):
        await settle(redis, claim, await sender.run(claim))

    assert len(fake.calls) == 3
    assert await redis.pttl(keys.send_pause(ME.bot_id)) > 8_000


async def test_no_connection_means_not_sent(redis: RedisPort, fake: FakeTelegram) -> None:
    await queue(redis, reply(1, "hello"))
    nobody = BotApi(TOKEN, "http://127.0.0.1:9")
    sender = make_sender(redis, nobody)

    assert await attempt(redis, sender) == HandBack(UNREACHED_MS)
    assert await attempt(redis, sender) == HandBack(2 * UNREACHED_MS)
    await nobody.close()

    there = BotApi(TOKEN, fake.base)
    await attempt(redis, make_sender(redis, there))
    await there.close()
    assert fake.texts() == ["hello"]


async def test_a_revoked_token_loses_no_reply(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:
    await queue(redis, reply(1, "hello"))
    fake.revoked.add(ME.bot_id)

    assert await attempt(redis, sender) == HandBack(BAD_TOKEN_MS)

    fake.revoked.clear()
    await attempt(redis, sender)
    assert fake.texts() == ["hello"]


async def test_a_chat_that_had_its_share_waits_without_a_slot(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    sender = make_sender(redis, api, TelegramSettings())
    await queue(redis, reply(1, "\n".join("y" * 4000 for _ in range(6))))

    outcome = await attempt(redis, sender)

    assert isinstance(outcome, HandBack)
    assert 0 < outcome.delay_ms <= 1_000
    assert len(fake.sent()) == 4
    await redis.delete(keys.send_limit(ME.bot_id, CHAT))
    await attempt(redis, sender)
    assert len(fake.sent()) == 6
    assert not any(text.startswith("↻") for text in fake.texts())


# ── Telegram refuses ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("where", ["blocked", "gone"])
async def test_a_chat_without_a_person_ends_quietly(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, where: str
) -> None:
    await queue(redis, reply(1, THREE_PARTS))
    getattr(fake, where).add(CHAT)

    outcome = await attempt(redis, sender)

    assert isinstance(outcome, Done)
    assert (outcome.commit.pushes, outcome.commit.letters) == ((), ())
    assert len(fake.calls) == 1
    assert await dead_letters(redis) == []


async def test_refused_entities_are_sent_as_the_text_people_would_see(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C16 C17
    await queue(redis, reply(1, "It is **done**!"))
    fake.fault(Fault("error", description="Bad Request: can't parse entities: odd"))

    assert isinstance(await attempt(redis, sender), Done)

    assert fake.sent() == [{"chat_id": 42, "text": "It is done!"}]


async def test_a_reply_that_telegram_refuses_is_a_dead_letter_and_the_owner_hears(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "hello"), reply(2, "next"))
    fake.fault(Fault("error", description="Bad Request: TEXT_ODD"))

    await attempt(redis, sender)
    for claim in await take(redis):
        await settle(redis, claim, await sender.run(claim))

    (letter,) = await dead_letters(redis)
    assert (letter.id, letter.owner, letter.job_id) == ("turn1:answer", OWNER, "out:777:42:0")
    assert (letter.at_ms, letter.body) == (NOW_MS, dump(reply(1, "hello")).decode())
    assert "TEXT_ODD" in letter.reason
    assert fake.texts(CHAT) == ["next"]
    assert "TEXT_ODD" in fake.texts("1")[0]


async def test_the_owner_hears_in_his_language_through_his_last_bot(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await save_person(redis, Person(user_id="1", role="owner", language="de", chat_bot_id="888"))
    await queue(redis, reply(1, "hello"))
    fake.fault(Fault("error", description="Bad Request: TEXT_ODD"))

    await attempt(redis, sender)

    (claim,) = await take(redis, keys.outbox_queue("888"))
    assert "konnte nicht zugestellt werden" in claim.items[0].body.decode()


async def test_a_notice_that_fails_makes_no_further_notice(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "hello"))
    fake.fault(Fault("error", description="Bad Request: TEXT_ODD", times=-1))

    await attempt(redis, sender)
    await attempt(redis, sender)

    assert await take(redis) == []
    assert len(await dead_letters(redis)) == 2


async def test_what_is_no_reply_is_set_aside_and_the_lane_goes_on(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    broken = replace(push_reply(reply(1, "")), body=b"{not json")
    await ingest(redis, [broken, push_reply(reply(2, "next"))])

    await attempt(redis, sender)
    for claim in await take(redis):
        await settle(redis, claim, await sender.run(claim))

    assert [letter.body for letter in await dead_letters(redis)] == ["{not json"]
    assert fake.texts(CHAT) == ["next"]
    assert len(fake.texts("1")) == 1


async def test_a_reply_of_a_newer_release_is_handed_back(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    newer = Push(keys.outbox_job("777:42:0"), QUEUE, "new", b'{"v":99,"words":"x"}', OWNER)
    await ingest(redis, [newer])

    assert await attempt(redis, sender) == HandBack(NEWER_MS)
    assert fake.calls == []


async def test_a_chat_that_is_no_number_is_set_aside(redis: RedisPort, sender: Sender) -> None:
    await queue(redis, reply(1, "x", chat_id="local:Jo"))

    await attempt(redis, sender)

    assert [letter.id for letter in await dead_letters(redis)] == ["turn1:answer"]


async def test_giving_up_makes_a_dead_letter_and_tells_the_owner(redis: RedisPort, sender: Sender) -> None:
    await queue(redis, reply(1, "hello"))
    claim = await one(redis)

    await settle(redis, claim, Done(sender.bury(claim, "the process died 6 times")))

    assert [letter.reason for letter in await dead_letters(redis)] == ["the process died 6 times"]
    (notice,) = await take(redis)
    assert notice.items[0].id == "turn1:answer:notice"


@pytest.mark.parametrize(
    "fault",
    [
        Fault("error", status=429, description="Too Many Requests", times=3),
        Fault("flood", retry_after=0, times=3),
        Fault("flood", retry_after=-5, times=3),
    ],
    ids=["no parameters", "zero", "negative"],
)
async def test_a_429_that_names_no_wait_was_not_sent_either(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, fault: Fault
) -> None:
    fake.fault(fault)
    await queue(redis, reply(1, "hello"))

    for _ in range(4):
        await redis.delete(keys.send_pause("777", CHAT), keys.send_limit("777", CHAT))
        await attempt(redis, sender)

    assert fake.texts(CHAT) == ["hello"]


# ── the group has moved ──────────────────────────────────────────────────────────────────────────────────────────
async def test_a_reply_to_a_group_that_became_a_supergroup_is_sent_there(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    moved = """{"ok": false, "error_code": 400, "description": "Bad Request: group chat was upgraded to a supergroup chat",
    "parameters": {"migrate_to_chat_id": -1005}}"""
    fake.fault(Fault("raw", chat_id="-5", times=-1, description=moved))
    await queue(redis, reply(1, "hello").model_copy(update={"chat_id": "-5"}))

    await attempt(redis, sender)
    await attempt(redis, sender)

    assert fake.texts(-1005) == ["hello"]
    assert fake.texts(-5) == []
    assert await dead_letters(redis) == []
