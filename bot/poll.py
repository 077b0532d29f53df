"""Long polling of one bot: a batch is stored, then the next getUpdates confirms it. Nothing else ever confirms."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from redis.exceptions import RedisError

from bot.api import BotApi, Json
from bot.console import Console
from bot.insist import insist
from bot.intake import Taken
from infra import keys
from infra.clock import Clock
from infra.redis_port import RedisPort

QUIET_MS = 24 * 3_600_000
"""Telegram keeps an update for a day, and after a quiet week it may go on with smaller ids: an offset older than a day
confirms nothing any more, but could hide new updates.
"""


class Taker(Protocol):
    """Where batches go (bot.intake.Intake)."""

    async def take(self, updates: Sequence[Mapping[str, Any]]) -> Taken: ...


class Poller:
    """Fetches one bot's updates and has them taken, for ever."""

    def __init__(
        self,
        redis: RedisPort,
        api: BotApi,
        intake: Taker,
        console: Console,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._redis = redis
        self._api = api
        self._intake = intake
        self._console = console
        self._clock = clock
        self._sleep = sleep

    async def run(self) -> NoReturn:
        """Until cancelled, which is safe at any moment: what is not confirmed comes again.

        Raises: TokenRefused.
        """
        offset = await self._stored_offset()
        await insist(self._api.stop_webhook, self._console, self._sleep)
        heard_ms = self._clock()
        while True:
            updates = await insist(lambda at=offset: self._api.poll(at), self._console, self._sleep)
            now_ms = self._clock()
            if updates:
                offset, heard_ms = await self._take(updates, offset), now_ms
            elif now_ms - heard_ms > QUIET_MS:
                offset = 0

    async def _stored_offset(self) -> int:
        """Where the last process stopped; 0: wherever Telegram is."""
        while True:
            try:
                stored = int(await self._redis.get(keys.offset(self._api.bot_id)) or 0)
            except RedisError as error:
                await self._sleep(self._console.redis_away(error))
            else:
                self._console.redis_back()
                return stored

    async def _take(self, updates: list[Json], offset: int) -> int:
        """Store a batch, however long it takes; gives the offset that confirms what is safe."""
        while True:
            try:
                taken = await self._intake.take(updates)
            except RedisError as error:
                await self._sleep(self._console.redis_away(error))
                continue
            offset = max(offset, taken.next_update_id)
            if not taken.error:
                self._console.redis_back()
                return offset
            await self._sleep(self._console.cannot_store(taken.error))
            updates = [update for update in updates if update["update_id"] >= offset]
