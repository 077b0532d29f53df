""" "typing…" while a model works. May be lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from redis.exceptions import RedisError

from infra import keys
from workers.outgoing import Place
from workers.services import Services

FIRST_S = 0.3
"""A faster answer needs no sign."""
AGAIN_S = 4.0
"""Telegram shows the sign for 5 s: core.telegram.org/bots/api#sendchataction."""

log = structlog.get_logger()


@asynccontextmanager
async def typing(s: Services, place: Place) -> AsyncGenerator[None]:
    """Asks the bot of the place to show that it is being worked on, until the block ends.

    An exception of the block comes out as it is, not in a group.
    """
    try:
        async with asyncio.TaskGroup() as group:
            signs = group.create_task(_show(s, place))
            try:
                yield
            finally:
                signs.cancel()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _show(s: Services, place: Place) -> None:
    pause_s = FIRST_S
    while True:
        await s.sleep(pause_s)
        try:
            await s.redis.publish(keys.typing_channel(place.bot_id), f"{place.chat_id}:{place.topic_id}")
        except RedisError as error:
            log.debug("typing_not_shown", error=type(error).__name__)
        pause_s = AGAIN_S
