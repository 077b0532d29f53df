""" "typing…" in a chat while its turn runs. It may be lost, and never holds up anything."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from aiogram.exceptions import AiogramError
from redis.exceptions import RedisError

from bot.api import BotApi
from infra import keys
from infra.redis_port import RedisPort

log = structlog.get_logger()

AT_ONCE = 20
"""More chats than that at the same moment: the rest does without."""
AWAY_S = 1.0


async def show_typing(
    redis: RedisPort, api: BotApi, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Follow keys.typing_channel (`chat:topic`), for ever; lives through any outage."""
    async with asyncio.TaskGroup() as group:
        running: set[asyncio.Task[None]] = set()
        while True:
            pubsub = redis.pubsub()
            try:
                await pubsub.subscribe(keys.typing_channel(api.bot_id))
                while True:
                    heard = await pubsub.get_message(ignore_subscribe_messages=True, timeout=None)
                    if heard is None or len(running) >= AT_ONCE:
                        continue
                    task = group.create_task(_show(api, heard["data"].decode()))
                    running.add(task)
                    task.add_done_callback(running.discard)
            except RedisError:
                await sleep(AWAY_S)
            finally:
                await pubsub.aclose()


async def _show(api: BotApi, place: str) -> None:
    chat_id, _, topic_id = place.rpartition(":")
    try:
        await api.typing(int(chat_id), int(topic_id))
    except (AiogramError, ValueError) as error:
        log.debug("typing_not_shown", error=type(error).__name__)
