"""The main conversation against somebody else's Bot API server: lo-bot-api-emulator."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr

from bot.main import serve
from infra import keys
from infra.pushes import push_reply
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.claim import claim_due
from lanes.ingest import ingest
from schemas.inbound import InboundMessage
from schemas.reply import Button, Reply
from schemas.wire import load
from tests.bot.conftest import clock, until
from tests.fakes.emulator import emulator

TOKEN = "777:abc"


@asynccontextmanager
async def bots(redis: RedisPort, base: str, **more: Any) -> AsyncGenerator[None]:
    settings = Settings(
        telegram_bot_tokens=(SecretStr(TOKEN),), telegram_api_base=base, telegram_owner="42", **more
    )
    stop = asyncio.Event()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(serve(settings, redis, clock=clock, stop=stop, say=print))
        try:
            yield
        finally:
            stop.set()


async def echo(redis: RedisPort, buttons: tuple[tuple[Button, ...], ...] = ()) -> InboundMessage:
    """Stands for the workers: answers the next message with its own text in bold."""
    while True:
        claims, _ = await claim_due(
            redis, keys.inbox_queue(), lease_ms=60_000, wanted=1, prefix="t", per_turn=1
        )
        for claim in claims:
            message = load(InboundMessage, claim.items[0].body)
            answer = Reply(
                id=f"{message.id}:answer",
                bot_id="777",
                chat_id=message.chat_id,
                text=f"**{message.text}**",
                buttons=buttons,
            )
            await ingest(redis, [push_reply(answer)])
            return message
        await asyncio.sleep(0.002)


async def test_polling(redis: RedisPort) -> None:
    async with emulator() as (server, base), bots(redis, base):
        await server.say(TOKEN, "Check wo das Paket bleibt")
        message = await echo(redis)
        await until(lambda: bool(server.sent))

    assert (message.bot_id, message.language) == ("777", "de")
    assert (server.sent[0]["text"], server.sent[0]["entities"][0]["type"]) == (message.text, "bold")


async def test_a_tap_on_a_button(redis: RedisPort) -> None:
    async with emulator() as (server, base), bots(redis, base):
        await server.tap(TOKEN, "/model strong")
        message = await echo(redis, ((Button(text="Fresh start", command="/new"),),))
        await until(lambda: bool(server.sent) and server.asked("answerCallbackQuery") == 1)

    assert (message.command, message.argument) == ("model", "strong")
    assert server.sent[0]["reply_markup"]["inline_keyboard"][0][0]["callback_data"] == "/new"


async def test_a_restart_goes_on_where_it_stopped(redis: RedisPort) -> None:
    async with emulator() as (server, base):
        async with bots(redis, base):
            await server.say(TOKEN, "one")
            await echo(redis)
        await server.say(TOKEN, "two")
        async with bots(redis, base):
            await until(lambda: len(server.sent) == 1)
            await until(lambda: two_wait(redis))

    assert [fields["text"] for fields in server.sent] == ["one"]


async def two_wait(redis: RedisPort) -> bool:
    """The first message, whose turn is not committed here, and the second."""
    return await redis.llen(keys.items(keys.inbox_job("777:42:0"))) == 2


async def test_webhook(redis: RedisPort, unused_tcp_port: int) -> None:
    here = f"127.0.0.1:{unused_tcp_port}"
    more = {
        "telegram_webhook_url": f"http://{here}",
        "telegram_webhook_bind": here,
        "telegram_webhook_secret": SecretStr("s3cret"),
    }
    async with emulator() as (server, base), bots(redis, base, **more):
        await until(lambda: server.asked("setWebhook") > 0)
        for number in range(3):
            await server.say(TOKEN, f"message {number}")  # posted before it returns

        assert await redis.llen(keys.items(keys.inbox_job("777:42:0"))) == 3
