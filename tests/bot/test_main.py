"""The bot process as a whole: several bots, a real fake of Telegram, real lanes."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from bot.main import serve
from bot.webhook import SECRET_HEADER
from infra import health, keys
from infra.people import owner_id
from infra.pushes import push_reply
from infra.redis_port import RedisPort
from infra.settings import BotSettings
from lanes.ingest import ingest
from schemas.inbound import InboundMessage
from schemas.reply import Reply
from tests.bot.conftest import clock, until
from tests.bot.process import Process
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault


async def answer(redis: RedisPort, message: InboundMessage, text: str) -> None:
    reply = Reply(
        id=f"{message.id}:answer", bot_id=message.bot_id, chat_id=message.chat_id, topic_id=message.topic_id, text=text
    )  # fmt: skip
    await ingest(redis, [push_reply(reply)])


async def test_a_message_in_and_an_answer_out(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Process(redis, fake, telegram_allowed_users=("42",)).running() as process:
        fake.say("777", 42, "Check wo das Paket bleibt")
        (message,) = await process.messages(1)
        await answer(redis, message, "Es kommt am **Mittwoch**.")
        await until(lambda: bool(fake.sent(42)))

    assert (message.text, message.bot, message.store) == ("Check wo das Paket bleibt", "koi777_bot", "home")
    assert fake.texts(42) == ["Es kommt am Mittwoch."]


async def test_the_first_start_shows_the_code_and_the_link(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Process(redis, fake).running() as process:
        await until(lambda: bool(process.lines))
        code = (await redis.get(keys.pairing()) or b"").decode()
        fake.say("777", 42, code, language="de")
        await until(lambda: bool(fake.sent(42)))

    assert code in process.lines[0]
    assert "https://t.me/koi777_bot" in process.lines[0]
    assert fake.texts(42)[0].startswith("Hallo Person 42, ich gehöre jetzt dir.")
    assert await owner_id(redis, process.settings) == "42"


async def test_with_an_owner_no_code_is_shown(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Process(redis, fake, telegram_owner="1").running() as process:
        await until(lambda: any(call.method == "getUpdates" for call in fake.calls))

    assert process.lines == []
    assert await redis.exists(keys.pairing()) == 0


async def test_a_bad_token_stops_only_its_own_bot(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.revoked.add("778")

    async with Process(
        redis, fake, tokens=("778:revoked", "777:a"), telegram_owner="42"
    ).running() as process:
        await until(lambda: bool(process.lines))
        fake.say("777", 42, "hello")
        await process.messages(1)

    (line,) = process.lines
    assert "401" in line
    assert "revoked" not in line


async def test_a_token_revoked_later_stops_only_its_own_bot(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Process(redis, fake, tokens=("778:b", "777:a"), telegram_owner="42").running() as process:
        await until(lambda: sum(call.method == "getUpdates" for call in fake.calls) == 2)
        fake.revoked.add("778")
        fake.say("778", 42, "wake up")
        await until(lambda: bool(process.lines))
        fake.say("777", 42, "hello")
        await until(lambda: redis_has(redis, "777"))

    assert "401" in process.lines[0]


async def redis_has(redis: RedisPort, bot_id: str) -> bool:
    return await redis.exists(keys.offset(bot_id)) == 1


async def test_a_crash_starts_that_bot_again(
    redis: RedisPort, fake: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError

    async with Process(redis, fake, telegram_owner="42").running() as process:
        with monkeypatch.context() as patch:
            patch.setattr("bot.intake.Intake.take", broken)
            fake.say("777", 42, "hello")
            await until(lambda: bool(process.lines))
        await process.messages(1)

    assert "RuntimeError" in process.lines[0]


async def test_named_bots_have_their_name_store_and_language(redis: RedisPort, fake: FakeTelegram) -> None:
    work = BotSettings(name="work", token=SecretStr("778:b"), memory="office", language="de")
    process = Process(redis, fake, telegram_owner="42", bots=(work,), tokens=("778:b", "777:a"))

    async with process.running():
        fake.say("778", 42, "one", language="")
        fake.say("777", 42, "two", language="")
        messages = await process.messages(2)

    found = {m.text: (m.bot, m.store, m.language) for m in messages}
    assert found == {"one": ("work", "office", "de"), "two": ("koi777_bot", "home", "en")}
    assert sum(call.method == "getMe" for call in fake.calls) == 2


async def test_without_a_token_it_says_what_is_missing(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Process(redis, fake, tokens=(), language="de").running() as process:
        await until(lambda: bool(process.lines))

    assert "TELEGRAM_BOT_TOKEN" in process.lines[0]


async def test_it_beats_while_it_lives(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Process(redis, fake).running():
        await until(lambda: health.is_alive(redis, "bot"))

    assert not await health.is_alive(redis, "bot")


async def test_stopping_finishes_what_is_being_sent(redis: RedisPort, fake: FakeTelegram) -> None:
    hello = Reply(id="t:answer", bot_id="777", chat_id="42", text="hello")
    await ingest(redis, [push_reply(hello)])
    process = Process(redis, fake, telegram_owner="42")
    fake.fault(Fault("slow", delay_s=0.1))

    async with process.running():
        await until(lambda: any(call.method == "sendMessage" for call in fake.calls))
        process.stop.set()

    assert fake.texts() == ["hello"]
    assert await redis.exists(keys.items("out:777:42:0"), keys.lease("out:777:42:0")) == 0


# ── webhook ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
async def http() -> AsyncIterator[ClientSession]:
    async with ClientSession() as session:
        yield session


async def test_webhook_mode(
    redis: RedisPort, fake: FakeTelegram, http: ClientSession, unused_tcp_port: int
) -> None:
    process = Process(
        redis, fake, telegram_owner="42", telegram_webhook_url="https://koi.example/bots/",
        telegram_webhook_secret=SecretStr("s3cret"), telegram_webhook_bind=f"127.0.0.1:{unused_tcp_port}",
    )  # fmt: skip

    async with process.running():
        await until(lambda: bool(fake.bot("777").webhook))
        update = {"update_id": 1, "message": fake.message("777", 42, "hello")}
        async with http.post(
            f"http://127.0.0.1:{unused_tcp_port}/tg/777", json=update, headers={SECRET_HEADER: "s3cret"}
        ) as response:
            assert response.status == 200
        (message,) = await process.messages(1)

    hook = fake.bot("777").webhook
    assert message.text == "hello"
    assert hook["url"] == "https://koi.example/bots/tg/777"
    assert (hook["secret_token"], int(hook["max_connections"])) == ("s3cret", 1)
    assert not any(call.method == "getUpdates" for call in fake.calls)


async def test_webhook_mode_is_refused_without_its_secret(redis: RedisPort, fake: FakeTelegram) -> None:
    process = Process(redis, fake, telegram_webhook_url="https://koi.example")

    with pytest.raises(ValueError, match="SECRET"):
        await serve(process.settings, redis, clock=clock, stop=process.stop, say=process.lines.append)
