"""A worker process that can be killed between any two of its steps, and its database put back to how it was.

It runs in the test's own process: a real LaneWorker with the real turn, settings, models over HTTP, and a recorder. Its
way to Redis leads through a `Door`, which counts its requests; at a chosen one the door shuts, before Redis hears it, or
after Redis did it and before the worker hears so. In the same moment the worker is cancelled, and nothing it still says
gets through: to Redis and to the next worker that is a killed process.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self, cast

from arq.connections import ArqRedis

from infra import keys
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.claim import Claim
from lanes.outcome import Commit, Outcome
from lanes.worker import LaneLimits, LaneWorker
from llm.candidates import Service
from llm.chain import build_chain
from llm.provider import Provider
from llm.routing import Models
from workers.purse import Purse
from workers.records import Recorder
from workers.services import Brain, Services
from workers.turn import TurnHandler

UNCOUNTED = (b"BLPOP", b"CLIENT", b"SCRIPT")
"""Requests that change nothing, or (the load of a script) are made once per server: no step of a turn."""
BYTES = 1 << 20

type When = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a worker dies: at its nth request to Redis."""

    nth: int
    when: When = "before"
    """Before Redis hears it, or after it did it and before the answer is heard."""


@dataclass
class Door:
    """Listens at `path` and leads to the server at `server`."""

    server: Path
    path: Path
    cut: Cut | None = None
    requests: int = 0
    shut: asyncio.Event = field(default_factory=asyncio.Event)
    on_shut: Callable[[], object] = lambda: None
    between: Callable[[int], Awaitable[None]] | None = None
    """Awaited before Redis hears the nth request."""

    def close(self) -> None:
        """Nothing gets through any more, in either direction."""
        if not self.shut.is_set():
            self.shut.set()
            self.on_shut()

    async def __aenter__(self) -> Self:
        self._visitors = dict[asyncio.StreamWriter, asyncio.Future[None]]()
        self._last: asyncio.StreamReader | None = None
        self._listening = await asyncio.start_unix_server(self._serve, self.path)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Redis has done all that got through."""
        self._listening.close()
        for writer in self._visitors:
            writer.transport.abort()
        await asyncio.gather(*self._visitors.values())
        await self._listening.wait_closed()
        self.path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        gone = self._visitors[writer] = asyncio.get_running_loop().create_future()
        there_reader, there = await asyncio.open_unix_connection(self.server)
        try:
            async with asyncio.TaskGroup() as group:
                answers = group.create_task(self._answers(there_reader, writer))
                await self._requests(reader, there, there_reader)
                answers.cancel()
            there.write_eof()
            while await there_reader.read(BYTES):
                pass
        except* ConnectionError:
            pass
        finally:
            for one in (writer, there):
                one.transport.abort()
            gone.set_result(None)

    async def _requests(
        self, reader: asyncio.StreamReader, there: asyncio.StreamWriter, answers: asyncio.StreamReader
    ) -> None:
        while (data := await reader.read(BYTES)) and not self.shut.is_set():
            counted = not any(word in data[:40] for word in UNCOUNTED)
            self.requests += counted
            if counted and self.between:
                await self.between(self.requests)
            if counted and self.cut == Cut(self.requests, "before"):
                self.close()
                await reader.read(BYTES)  # until the worker is gone, or says more: then it is cut off
                return
            if counted and self.cut == Cut(self.requests, "after"):
                self._last = answers
            there.write(data)
            await there.drain()

    async def _answers(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await there.read(BYTES):
            if there is self._last:
                self.close()
            if not self.shut.is_set():
                writer.write(data)
                await writer.drain()


@dataclass
class LastTurn:
    """A handler whose worker takes no more lanes once it has one."""

    turns: TurnHandler
    stop: Callable[[], None] = lambda: None

    async def run(self, claim: Claim) -> Outcome:
        self.stop()
        return await self.turns.run(claim)

    def bury(self, claim: Claim, reason: str) -> Commit:
        return self.turns.bury(claim, reason)


@dataclass
class Factory:
    """Makes worker processes; what takes long to make, they share: connections to the model, schemas of the tools."""

    common: Services
    settings: Settings
    providers: dict[Service, Provider] = field(default_factory=dict[Service, Provider])

    def services(self, redis: RedisPort) -> Services:
        """As a new process has them."""
        clock, settings = self.common.clock, self.settings
        chain = build_chain(settings, redis=redis, providers=self.providers)
        return replace(
            self.common, redis=redis, brain=Brain(chain, Models(settings.models)),
            people=PeopleCache(redis, settings, clock), recorder=Recorder(redis, clock),
            purse=Purse(redis, clock, self.common.zone, {}),
        )  # fmt: skip

    async def aclose(self) -> None:
        for provider in self.providers.values():
            await provider.aclose()


async def one_turn(door: Door, factory: Factory) -> bool:
    """A new worker process takes one turn and leaves; False: it was killed, by the door."""
    async with door, _connected(door.path) as redis:
        services = factory.services(redis)
        handler = LastTurn(TurnHandler(services))
        worker = LaneWorker(redis, keys.inbox_queue(), handler, LaneLimits(lease_ms=60_000), name="test")
        handler.stop = worker.stop

        async def live() -> None:
            async with asyncio.TaskGroup() as group:
                records = group.create_task(services.recorder.serve())
                await worker.serve()
                records.cancel()
            await services.recorder.flush()

        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            door.on_shut = group.create_task(live()).cancel
    return not door.shut.is_set()


@contextlib.asynccontextmanager
async def _connected(path: Path) -> AsyncGenerator[RedisPort]:
    client = ArqRedis.from_url(f"unix://{path}?db=0")
    yield cast("RedisPort", client)
    await client.aclose(close_connection_pool=True)


async def lease_over(redis: RedisPort, job_id: str) -> None:
    """As if its time had passed: whoever looks next takes the lane."""
    await redis.delete(keys.lease(job_id))
    await redis.zadd(keys.inbox_queue(), {job_id: 0}, xx=True)


# ── the database ─────────────────────────────────────────────────────────────────────────────────────────────────
type Image = tuple[tuple[bytes, int, bytes], ...]
"""Each key, its ttl in ms (0: none), its value as DUMP gives it."""


async def image(redis: RedisPort) -> Image:
    names = [name async for name in redis.scan_iter()]
    async with redis.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.pttl(name)
            pipe.dump(name)
        found = await pipe.execute()
    return tuple(
        (name, max(0, ttl_ms), value)
        for name, ttl_ms, value in zip(names, found[::2], found[1::2], strict=True)
    )


async def put_back(redis: RedisPort, old: Image) -> None:
    async with redis.pipeline(transaction=False) as pipe:
        pipe.flushdb()
        for name, ttl_ms, value in old:
            pipe.restore(name, ttl_ms, value)
        await pipe.execute()
