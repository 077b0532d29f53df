"""The bot process inside a test."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr

from bot.main import serve
from infra import keys
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.claim import claim_due
from schemas.inbound import InboundMessage
from schemas.wire import load
from tests.bot.conftest import clock
from tests.fakes.telegram import FakeTelegram


class Process:
    """A bot process inside the test."""

    def __init__(self, redis: RedisPort, fake: FakeTelegram, **settings: Any) -> None:
        tokens = settings.pop("tokens", ("777:a",))
        self.redis = redis
        self.lines: list[str] = []
        self.stop = asyncio.Event()
        self.settings = Settings(
            telegram_bot_tokens=tuple(SecretStr(token) for token in tokens),
            telegram_api_base=fake.base,
            **settings,
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Process"]:
        async with asyncio.timeout(15), asyncio.TaskGroup() as group:
            group.create_task(
                serve(self.settings, self.redis, clock=clock, stop=self.stop, say=self.lines.append)
            )
            try:
                yield self
            finally:
                self.stop.set()

    async def messages(self, count: int) -> list[InboundMessage]:
        """Wait for that many messages in the inbox, and take them."""
        found: list[InboundMessage] = []
        while len(found) < count:
            claims, _ = await claim_due(
                self.redis, keys.inbox_queue(), lease_ms=60_000, wanted=50, prefix="t", per_turn=20
            )
            found += [load(InboundMessage, item.body) for claim in claims for item in claim.items]
            await asyncio.sleep(0.002)
        return found
