"""Tell Telegram that a tap on a button was heard: until then the button spins. It may be lost, and holds up nothing."""

import asyncio

import structlog
from aiogram.exceptions import AiogramError

from bot.api import BotApi

log = structlog.get_logger()

AT_ONCE = 5
WAITING = 100
"""More than that at the same moment: the rest spins until Telegram gives up."""


class Taps:
    """Taps of one bot that are to be answered."""

    def __init__(self, api: BotApi) -> None:
        self._api = api
        self._waiting = asyncio.Queue[str](WAITING)

    def answer(self, query_id: str) -> None:
        """Have it answered soon."""
        try:
            self._waiting.put_nowait(query_id)
        except asyncio.QueueFull:
            log.debug("tap_not_answered", error="too many")

    async def serve(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._answer_each())

    async def _answer_each(self) -> None:
        while True:
            query_id = await self._waiting.get()
            try:
                await self._api.tapped(query_id)
            except AiogramError as error:
                log.debug("tap_not_answered", error=type(error).__name__)
