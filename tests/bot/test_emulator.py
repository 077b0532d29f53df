"""The main conversation against somebody else's Bot API server: lo-bot-api-emulator."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import lo_bot_api_emulator as lo
from aiohttp import web
from pydantic import SecretStr

from bot.main import serve
from infra import keys
from infra.pushes import push_reply
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.claim import claim_due
from lanes.ingest import ingest
from schemas.inbound import InboundMessage
from schemas.reply import Reply
from schemas.wire import load
from tests.bot.conftest import clock, until

TOKEN = "777:abc"
JO = {"id": 42, "is_bot": False, "first_name": "Jo", "language_code": "de"}

for method in lo.CONTRACT["methods"].values():
    method["allowUnknownParameters"] = True


class Emulator(lo.LoBotApiEmulator):
    """Remembers what was sent."""

    def __init__(self) -> None:
        super().__init__(allow_insecure_loopback_webhooks=True)
        self.sent: list[dict[str, Any]] = []

    def validate(self, method: str, fields: dict[str, Any], uploads: dict[str, Any]) -> Any:
        result = cast("Any", super()).validate(method, fields, uploads)
        if method == "sendMessage":
            self.sent.append(dict(fields))
        return result

    async def say(self, text: str, number: int) -> None:
        chat = {"id": 42, "type": "private", "first_name": "Jo"}
        message = {"message_id": number, "date": 1_700_000_000, "chat": chat, "from": JO, "text": text}
        await self.enqueue_update({"message": message}, token=TOKEN)


@asynccontextmanager
async def emulator() -> AsyncGenerator[tuple[Emulator, str]]:
    server = Emulator()
    runner = web.AppRunner(server.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield server, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


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


async def echo(redis: RedisPort) -> InboundMessage:
    """Stands for the workers: answers the next message with its own text in bold."""
    while True:
        claims, _ = await claim_due(
            redis, keys.inbox_queue(), lease_ms=60_000, wanted=1, prefix="t", per_turn=1
        )
        for claim in claims:
            message = load(InboundMessage, claim.items[0].body)
            answer = Reply(
                id=f"{message.id}:answer", bot_id="777", chat_id=message.chat_id, text=f"**{message.text}**"
            )
            await ingest(redis, [push_reply(answer)])
            return message
        await asyncio.sleep(0.002)


async def test_polling(redis: RedisPort) -> None:
    async with emulator() as (server, base), bots(redis, base):
        await server.say("Check wo das Paket bleibt", 1)
        message = await echo(redis)
        await until(lambda: bool(server.sent))

    assert (message.bot_id, message.language) == ("777", "de")
    assert (server.sent[0]["text"], server.sent[0]["entities"][0]["type"]) == (message.text, "bold")


async def test_a_restart_goes_on_where_it_stopped(redis: RedisPort) -> None:
    async with emulator() as (server, base):
        async with bots(redis, base):
            await server.say("one", 1)
            await echo(redis)
        await server.say("two", 2)
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
        await until(lambda: hooked(server))
        for number in range(3):
            await server.say(f"message {number}", number)  # posted before it returns

        assert await redis.llen(keys.items(keys.inbox_job("777:42:0"))) == 3


def hooked(server: Emulator) -> bool:
    requests: list[Any] = server.requests
    return any(request["method"] == "setWebhook" for request in requests)
