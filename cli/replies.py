"""The replies of one lane, as they are shown in its open windows."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from redis.exceptions import RedisError

from infra import keys
from infra.redis_port import PubSubPort, RedisPort
from schemas.reply import Reply
from schemas.wire import load

LOOK_S = 5.0
OUTAGE_PAUSE_S = 0.5
REMEMBERED = 1_000
"""Ids of replies that were shown: one that is published again after a crash is shown once."""


class Replies:
    """Subscribed from `open` on; then iterate."""

    def __init__(self, redis: RedisPort, lane: str) -> None:
        self._pubsub: PubSubPort = redis.pubsub()
        self._channel = keys.local_channel(lane)
        self._seen: deque[str] = deque(maxlen=REMEMBERED)

    async def open(self) -> None:
        """Subscribe. Raises what redis-py raises."""
        await self._pubsub.subscribe(self._channel)
        await self._pubsub.get_message(timeout=LOOK_S)  # the server's word that we are

    async def close(self) -> None:
        await self._pubsub.aclose()

    async def __aiter__(self) -> AsyncIterator[Reply]:
        """For ever; lives through a restart of Redis."""
        while True:
            try:
                event = await self._pubsub.get_message(ignore_subscribe_messages=True, timeout=LOOK_S)
            except RedisError:
                await asyncio.sleep(OUTAGE_PAUSE_S)
                continue
            if event is None:
                continue
            reply = load(Reply, event["data"])  # published by LocalSender, which has read it
            if reply.id not in self._seen:
                self._seen.append(reply.id)
                yield reply
