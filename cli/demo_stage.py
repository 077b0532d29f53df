"""What `koi demo` plays on: a store of its own, real worker processes, and a look at everything that is stored."""

import asyncio
import os
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cli.local_sender import serve_outbox
from cli.replies import Replies
from cli.seat import Seat, message_from
from infra import keys
from infra.pushes import push_message
from infra.redis import data_folder, open_redis
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.valkey import Place
from lanes.ingest import ingest
from schemas.memory import AnswerRecord, Session
from schemas.reply import Reply
from schemas.wire import load

PATIENCE_S = 20.0
STOP_S = 5.0


@dataclass
class DemoWorker:
    """One worker process."""

    process: Process
    said: asyncio.StreamReader
    orders: asyncio.StreamWriter

    @property
    def pid(self) -> int:
        return self.process.pid

    async def heard(self, word: str) -> None:
        """Wait until it says the word. Raises: EOFError: it ended instead."""
        async with asyncio.timeout(PATIENCE_S):
            while line := await self.said.readline():
                if line.strip() == word.encode():
                    return
        raise EOFError(f"the demo's worker ended before it was {word}")

    def go(self) -> None:
        """Let it serve."""
        self.orders.write(b"go\n")

    async def kill(self) -> int:
        """kill −9; gives what the system says of its end (−9)."""
        self.process.kill()
        return await self.process.wait()

    async def end(self) -> None:
        """SIGTERM, and wait."""
        with suppress(ProcessLookupError):
            self.process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self.process.wait()
                return
        await self.kill()


@dataclass
class Talk:
    """One person with one bot."""

    redis: RedisPort
    seat: Seat
    replies: Replies

    async def say(self, text: str, now_ms: int) -> str:
        """Send a message; gives its id."""
        message = message_from(text, self.seat, now_ms=now_ms, nonce=secrets.token_hex(4))
        await ingest(self.redis, [push_message(message)])
        return message.id

    async def answer_to(self, message_id: str) -> Reply:
        """Raises: TimeoutError."""
        async with asyncio.timeout(PATIENCE_S):
            async for reply in self.replies:
                if message_id in reply.answers:
                    return reply
        raise AssertionError("replies never end")

    async def given(self) -> tuple[str, tuple[str, ...]]:
        """The memory block of the last answer, and the ids of the entries in it."""
        session, answer = await self.redis.mget([keys.session(self.seat.lane), keys.answer(self.seat.lane)])
        block = load(Session, session).exchanges[-1].block if session else ""
        return block, load(AnswerRecord, answer).entry_ids if answer else ()


class Stage:
    """Everything that the acts use."""

    def __init__(self, redis: RedisPort, socket: Path, language: str) -> None:
        self.redis = redis
        self._socket = socket
        self._language = language
        self._workers: list[DemoWorker] = []

    async def worker(self, *, ahead_s: int = 0, stalls: bool = False) -> DemoWorker:
        """Start a process whose clock is `ahead_s` ahead; it does not serve before `go`."""
        words = [sys.executable, "-m", "cli.demo_worker", str(self._socket), self._language]
        process = await asyncio.create_subprocess_exec(
            *words, *(["stall"] if stalls else []), stdin=PIPE, stdout=PIPE,
            env={**os.environ, "KOI_CLOCK_OFFSET": str(ahead_s)},
        )  # fmt: skip
        said, orders = (
            cast("asyncio.StreamReader", process.stdout),
            cast("asyncio.StreamWriter", process.stdin),
        )
        self._workers.append(DemoWorker(process, said, orders))
        return self._workers[-1]

    @asynccontextmanager
    async def talk(self, bot: str) -> AsyncGenerator[Talk]:
        """Talk with a bot of this name; all of them share a store."""
        seat = Seat(f"local-{bot}", bot, "home", "local:demo", "local:demo", "demo", self._language)
        replies, stop = Replies(self.redis, seat.lane), asyncio.Event()
        await replies.open()
        async with asyncio.TaskGroup() as group:
            group.create_task(serve_outbox(self.redis, seat.bot_id, stop))
            try:
                yield Talk(self.redis, seat, replies)
            finally:
                stop.set()
                await replies.close()

    async def end(self) -> None:
        for worker in self._workers:
            await worker.end()

    async def keys_with(self, *words: str) -> tuple[list[str], int]:
        """Keys in which one of the words is stored, and how many keys were searched: all there are."""
        found, searched = list[str](), 0
        async for key in self.redis.scan_iter(match="*", count=1000):
            searched += 1
            stored = f"{key!r} {await _stored(self.redis, key.decode())!r}"
            if any(word in stored for word in words):
                found.append(key.decode())
        return found, searched


async def _stored(redis: RedisPort, key: str) -> object:
    """The whole value of a key of any type; None if it is gone since it was found."""
    readers: Mapping[bytes, Callable[[], Awaitable[object]]] = {
        b"string": lambda: redis.get(key),
        b"list": lambda: redis.lrange(key, 0, -1),
        b"hash": lambda: redis.hgetall(key),
        b"set": lambda: redis.smembers(key),
        b"zset": lambda: redis.zrange(key, 0, -1),
        b"stream": lambda: redis.xrange(key),
    }
    kind = await redis.type(key)
    return None if kind == b"none" else await readers[kind]()


@asynccontextmanager
async def set_stage(settings: Settings) -> AsyncGenerator[Stage]:
    """A store of its own in settings.data_dir; at the end nothing of it runs any more."""
    async with open_redis(settings, name="demo") as redis:
        socket = Place(data_folder(settings) / "valkey", ()).socket
        stage = Stage(redis, socket, settings.language)
        try:
            yield stage
        finally:
            await stage.end()
