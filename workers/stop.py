"""Turns that are told to end early (infra.stop): heard at once, and looked for every second, since pub/sub may lose it."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from redis.exceptions import RedisError

from infra import keys
from infra.effect import Effect
from infra.redis_port import RedisPort
from infra.together import checked, together
from llm.halt import Halt
from workers.texts import say

LOOK_S = 1.0
AWAY_S = 1.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    lane: str
    names: frozenset[str]
    halt: Halt

    def told(self, name: str) -> None:
        if name in self.names and not self.halt.is_set():
            log.info("turn_stopped", stopped_lane=self.lane)
            self.halt.set()


class Stops:
    """Of all turns of this process. `serve` has to run."""

    def __init__(
        self, redis: RedisPort, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._redis = redis
        self._sleep = sleep
        self._running: set[_Running] = set()

    @contextmanager
    def watching(self, lane: str, names: frozenset[str]) -> Generator[Halt]:
        """What is set when somebody stops the turn, as long as the block lasts. names: its id and those of its messages."""
        running = _Running(lane, names, Halt())
        self._running.add(running)
        try:
            yield running.halt
        finally:
            self._running.discard(running)

    async def serve(self) -> None:
        """Listen until cancelled; lives through any outage of Redis."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear())
            group.create_task(self._look())

    async def _hear(self) -> None:
        while True:
            pubsub = self._redis.pubsub()
            try:
                await pubsub.subscribe(keys.stop_channel())
                while True:
                    heard = await pubsub.get_message(ignore_subscribe_messages=True, timeout=None)
                    if heard is not None:
                        self._told(heard["data"].decode("utf-8", "replace"))
            except RedisError:
                await self._sleep(AWAY_S)
            finally:
                await pubsub.aclose()

    async def _look(self) -> None:
        while True:
            await self._sleep(LOOK_S)
            try:
                await self.look()
            except RedisError as error:
                log.debug("stops_not_seen", error=type(error).__name__)

    async def look(self) -> None:
        """At the keys of all lanes that have a turn, in one round trip. Raises what redis-py raises."""
        running = tuple(self._running)
        if not running:
            return
        (names,) = checked(
            await together(self._redis).run(("MGET", *(keys.stop(one.lane) for one in running)))
        )
        for one, name in zip(running, names, strict=True):
            if name is not None:
                one.told(name.decode("utf-8", "replace"))

    def _told(self, name: str) -> None:
        for one in tuple(self._running):
            one.told(name)


def stop_effects(lane: str) -> tuple[Effect, ...]:
    """The turn is over: whatever was to stop it has done so, or came too late."""
    return (Effect("DEL", keys.stop(lane)),)


def stopped_line(language: str) -> str:
    """Instead of an answer of which nothing was written."""
    return say(language, "Stopped, before I had written anything.")


def nothing_to_stop_line(language: str) -> str:
    """The answer to a /stop that found nothing to end."""
    return say(language, "There is nothing to stop: I am not writing anything.")
