"""A tap on a button is the command that stands behind it, and Telegram hears that it was heard."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.webhook import SECRET_HEADER
from infra import keys
from infra.people import save_person
from infra.redis_port import RedisPort
from schemas.memory import RingEntry
from schemas.person import Person
from schemas.wire import dump
from tests.bot.conftest import CHAT, NOW_MS, until
from tests.bot.process import Process
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault

GROUP = {"id": -100123, "type": "supergroup", "title": "Home", "is_forum": True}


@pytest.fixture
async def process(redis: RedisPort, fake: FakeTelegram) -> AsyncIterator[Process]:
    async with Process(redis, fake, telegram_owner="1", telegram_allowed_users=(CHAT,)).running() as running:
        yield running


def answered(fake: FakeTelegram) -> int:
    """Taps whose button stopped spinning."""
    return sum(call.method == "answerCallbackQuery" and call.status == 200 for call in fake.calls)


async def test_a_tap_is_the_command_as_if_it_was_typed(process: Process, fake: FakeTelegram) -> None:
    fake.tap("777", 42, "/model strong", language="de", name="Jo")
    (message,) = await process.messages(1)
    await until(lambda: answered(fake) == 1)

    assert (message.kind, message.command, message.argument) == ("command", "model", "strong")
    assert (message.lane, message.owner, message.user_name) == ("777:42:0", "home:u:42", "Jo")
    assert message.sent_at_ms == NOW_MS  # an old message is no old tap
    assert fake.bot("777").spinning == set()


async def test_two_taps_are_two_commands(process: Process, fake: FakeTelegram) -> None:
    first = fake.tap("777", 42, "/new")
    fake.tap("777", 42, "/new")

    found = await process.messages(1)
    await until(lambda: answered(fake) == 2)

    assert found[0].id == f"777:{first}"
    assert (
        await process.redis.llen(keys.items(keys.inbox_job("777:42:0"))) == 2
    )  # a command is a turn of its own


async def test_a_tap_that_is_delivered_again_is_taken_once(
    process: Process, fake: FakeTelegram
) -> None:  # C6
    update_id = fake.tap("777", 42, "/new")
    await until(lambda: answered(fake) == 1)

    fake.feed("777", {**_tap_of(42, "/new"), "update_id": update_id})
    fake.say("777", 42, "after")
    await until(lambda: _has(process.redis, f"777:{update_id + 1}"))

    assert await process.redis.llen(keys.items(keys.inbox_job("777:42:0"))) == 2


async def _has(redis: RedisPort, item_id: str) -> bool:
    return await redis.exists(keys.claim_of(item_id)) == 1


def _tap_of(user_id: int, data: str) -> dict[str, Any]:
    other = FakeTelegram(now=lambda: NOW_MS / 1000)
    other.tap("777", user_id, data)
    (update,) = other.bot("777").updates
    del update["update_id"]
    return update


@pytest.mark.parametrize("role", ["stranger", "blocked"])
async def test_a_tap_of_somebody_who_was_not_let_in_is_answered_and_nothing_else(
    redis: RedisPort, process: Process, fake: FakeTelegram, role: str
) -> None:
    if role == "blocked":
        await save_person(redis, Person(user_id="99", role="blocked"))
    await redis.rpush(keys.ring("home:u:99"), dump(RingEntry(id="a", at_ms=1, user_message="a", summary="a")))

    fake.tap("777", 99, "/forget all")
    await until(lambda: answered(fake) == 1)

    assert await redis.llen(keys.ring("home:u:99")) == 1
    assert await redis.exists(keys.items(keys.inbox_job("777:99:0"))) == 0
    assert await redis.exists(keys.items(keys.outbox_job("777:99:0"))) == 0


async def test_in_a_group_whoever_taps_commands_in_the_topic_of_the_button(
    process: Process, fake: FakeTelegram
) -> None:  # C41 C42
    under = {"chat": GROUP, "message_thread_id": 77, "is_topic_message": True}

    fake.tap("777", 42, "/new", message=under)
    (message,) = await process.messages(1)

    assert (message.user_id, message.chat_kind) == ("42", "group")
    assert (message.lane, message.owner) == ("777:-100123:77", "home:g:-100123:77")


async def test_a_tap_forgets_at_admission(redis: RedisPort, process: Process, fake: FakeTelegram) -> None:
    await redis.rpush(keys.ring("home:u:42"), dump(RingEntry(id="a", at_ms=1, user_message="a", summary="a")))

    fake.tap("777", 42, "/forget all")
    (message,) = await process.messages(1)
    await until(lambda: answered(fake) == 1)

    assert message.forgot == 1
    assert await redis.exists(keys.ring("home:u:42")) == 0


async def test_what_is_no_button_of_ours_is_answered_all_the_same(
    process: Process, fake: FakeTelegram
) -> None:
    fake.tap("777", 42, "page:3")
    fake.tap("777", 42, "/new", message=None, inline_message_id="x")
    await until(lambda: answered(fake) == 2)

    assert await process.redis.exists(keys.items(keys.inbox_job("777:42:0"))) == 0


async def test_a_tap_is_answered_only_when_it_is_stored(
    redis: RedisPort, process: Process, fake: FakeTelegram
) -> None:  # C1
    broken = keys.items(keys.inbox_job("777:42:0"))
    await redis.set(broken, "not a list")

    fake.tap("777", 42, "/new")
    await until(lambda: bool(process.lines))  # it says that it cannot store
    assert answered(fake) == 0

    await redis.delete(broken)
    await process.messages(1)
    await until(lambda: answered(fake) == 1)


async def test_an_answer_that_hangs_holds_up_nothing(process: Process, fake: FakeTelegram) -> None:
    fake.fault(Fault("hang", method="answerCallbackQuery", times=-1))

    for _ in range(8):
        fake.tap("777", 42, "/new")
    fake.say(
        "777", 43, "hello", chat={"id": 42, "type": "private", "first_name": "x"}, **{"from": _person(42)}
    )

    await until(lambda: _has(process.redis, f"777:{fake.bot('777').next_update_id - 1}"))


def _person(user_id: int) -> dict[str, Any]:
    return {"id": user_id, "is_bot": False, "first_name": "x"}


async def test_a_tap_comes_in_by_webhook_too(
    redis: RedisPort, fake: FakeTelegram, unused_tcp_port: int
) -> None:
    here = f"127.0.0.1:{unused_tcp_port}"
    process = Process(
        redis, fake, telegram_allowed_users=(CHAT,), telegram_webhook_url=f"http://{here}",
        telegram_webhook_bind=here, telegram_webhook_secret=SecretStr("s3cret"),
    )  # fmt: skip
    async with process.running(), ClientSession() as http:
        await until(lambda: bool(fake.bot("777").webhook))
        fake.tap("777", 42, "/new")
        (update,) = fake.bot("777").updates
        async with http.post(
            f"http://{here}/tg/777", json=update, headers={SECRET_HEADER: "s3cret"}
        ) as response:
            assert response.status == 200
        (message,) = await process.messages(1)
        await until(lambda: answered(fake) == 1)

    assert "callback_query" in fake.bot("777").webhook["allowed_updates"]
    assert message.command == "new"
