"""A koi of real processes, `koi bot` and `koi worker`, on a Valkey of its own: started, killed, talked to, looked into."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from redis.exceptions import RedisError

import bench.stack
from infra import keys
from infra.redis_port import RedisPort
from schemas.call import CallRecord
from schemas.things import Thing
from schemas.turn import TurnRecord
from schemas.wire import load
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system.stack import Process, Stack
from tools.store import load_things

PATIENCE_S = 90.0
"""For what other processes bring about; a bot alone needs five seconds of CPU to start."""
API_KEY = "sk-test-8c1f5e7a0b"
SECRET = "AAsecret"
"""Begins the secret part of each bot's token."""
ENVIRONMENT = {
    "KOI_LOG": "debug", "TZ": "Europe/Berlin", "ANTHROPIC_API_KEY": API_KEY,
    "KOI_TELEGRAM__CHAT_MESSAGES_PER_SECOND": "1000", "KOI_TELEGRAM__GROUP_MESSAGES_PER_MINUTE": "60000",
    "KOI_TELEGRAM__PERSON_MESSAGES_PER_MINUTE": "100000", "KOI_TELEGRAM__PERSON_MESSAGES_PER_HOUR": "100000",
}  # fmt: skip
"""What all processes here are given: debug logs (which may show no text either), and no limits to wait for."""


def token(bot_id: str) -> str:
    """Of a bot."""
    return f"{bot_id}:{SECRET}{bot_id:x<20}"


async def until(condition: Callable[[], object | Awaitable[object]], *, what: str = "it") -> None:
    """Wait for what other processes bring about."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = condition()
                if await found if isinstance(found, Awaitable) else found:
                    return
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"{what} did not come about in {PATIENCE_S:g} s") from None


@asynccontextmanager
async def valkey_of(stack: bench.stack.Stack) -> AsyncGenerator[RedisPort]:
    """A client, once the server answers."""
    redis = await stack.redis_ready()
    try:
        yield redis
    finally:
        await redis.aclose(close_connection_pool=True)


async def is_up(redis: RedisPort) -> bool:
    """Also after a restart."""
    try:
        return await redis.ping()
    except RedisError:
        return False


def two_workers(
    stack: Stack, telegram: FakeTelegram, model: ModelServer, bot_id: str, people: Sequence[int]
) -> list[Process]:
    """A bot that lets these people in, and two workers; not started yet."""
    allowed = {"TELEGRAM_ALLOWED_USERS": ",".join(map(str, people)), "TELEGRAM_BOT_TOKEN": token(bot_id)}
    workers = [
        stack.koi(name, "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m")
        for name in ("worker-1", "worker-2")
    ]
    return [stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **allowed), *workers]


def start(*processes: Process) -> None:
    for process in processes:
        process.start()


def kill(*processes: Process) -> None:
    """kill −9, all at once."""
    for process in processes:
        process.kill()


async def end(*processes: Process) -> list[int]:
    """SIGTERM; gives the exit codes."""
    await asyncio.gather(*(asyncio.to_thread(process.end) for process in processes))
    return [process.wait() for process in processes]


def at(shift_s: float, *processes: Process) -> None:
    """From their next start on these have a clock that is so far ahead."""
    for process in processes:
        process.environment["KOI_CLOCK_OFFSET"] = f"{shift_s:.3f}"


async def printed(stack: Stack, *words: str, fails: bool = False) -> str:
    """What a koi command for people prints."""
    process = stack.koi(f"command-{len(stack.processes)}", *words, KOI_LOG="info")
    process.start()
    code = await asyncio.to_thread(process.wait)
    said = process.log.read_text("utf-8")
    assert bool(code) == fails, said
    return said


async def explained(stack: Stack, turn: str) -> TurnRecord:
    """`koi explain TURN --json`."""
    return load(TurnRecord, (await printed(stack, "explain", turn, "--json")).encode())


async def calls_of(redis: RedisPort, user_id: int) -> list[CallRecord]:
    """All calls of models that were recorded for a person, oldest first."""
    records = [load(CallRecord, fields[b"record"]) for _, fields in await redis.xrange(keys.calls())]
    return [record for record in records if record.user_id == str(user_id)]


async def things_of(redis: RedisPort, user_id: int) -> list[Thing]:
    """What a person keeps in the store `home`, in the order of its ids' numbers."""
    return list((await load_things(redis, f"home:u:{user_id}")).by_id.values())


def logs(stack: Stack) -> str:
    """All that the koi processes wrote, stdout and stderr."""
    files = (process.log for process in stack.processes if Path(process.command[0]).name == "koi")
    return "\n".join(file.read_text("utf-8") for file in dict.fromkeys(files) if file.exists())


async def all_done(redis: RedisPort) -> bool:
    """Nothing waits in any lane."""
    return not [key async for key in redis.scan_iter(match=keys.items("*"))]


async def everlasting(redis: RedisPort) -> set[str]:
    """Keys without a TTL."""
    names = [key.decode() async for key in redis.scan_iter()]
    return {name for name in names if await redis.pttl(name) == -1}


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one message."""

    update: dict[str, Any]
    """As Telegram delivered it."""
    reply: str
    requests: tuple[Asked, ...]
    """What models were asked for it."""
    buttons: dict[str, str] = field(default_factory=dict[str, str])
    """Under the reply: text → command."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Of the only request."""
        (request,) = self.requests
        return request.body["messages"]


@dataclass(frozen=True, slots=True)
class Talk:
    """People who talk to the bots, one message at a time."""

    telegram: FakeTelegram
    model: ModelServer

    async def say(self, bot_id: str, user_id: int, text: str, *, times: int = 1, **more: Any) -> Heard:
        """Wait for the answer. times: Telegram delivers the update that often. more: see FakeTelegram.say."""
        chat_id = more.get("chat", {}).get("id", user_id)
        before, asked = len(self._answers(chat_id)), len(self.model.requests)
        update: dict[str, Any] = {"message": self.telegram.message(bot_id, user_id, text, **more)}
        for _ in range(times):
            self.telegram.feed(bot_id, update)
        return await self._heard(update, chat_id, before, asked)

    async def tap(self, bot_id: str, user_id: int, command: str, **more: Any) -> Heard:
        """A tap on a button, in private; wait for the answer. more: see FakeTelegram.tap."""
        before, asked = len(self._answers(user_id)), len(self.model.requests)
        self.telegram.tap(bot_id, user_id, command, **more)
        return await self._heard({}, user_id, before, asked)

    async def _heard(self, update: dict[str, Any], chat_id: int, before: int, asked: int) -> Heard:
        """What comes after so many messages in the chat and so many requests."""
        await until(lambda: len(self._answers(chat_id)) > before, what=f"an answer in chat {chat_id}")
        message = self._answers(chat_id)[before]
        return Heard(update, message["text"], tuple(self.model.requests[asked:]), buttons_of(message))

    def _answers(self, chat_id: int) -> list[dict[str, Any]]:
        """What was sent there but alerts, which come when they come."""
        sent = self.telegram.sent(chat_id)
        return [message for message in sent if not message.get("text", "").startswith("⚠")]


def buttons_of(message: dict[str, Any]) -> dict[str, str]:
    """Text on each button → the command that it sends."""
    markup = message.get("reply_markup") or "{}"
    rows = (orjson.loads(markup) if isinstance(markup, str) else markup).get("inline_keyboard", [])
    return {button["text"]: button["callback_data"] for row in rows for button in row}
