"""Every model call is written down once, when it ended, whatever became of its turn."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import islice
from pathlib import Path

import structlog
from redis.exceptions import RedisError

from infra import keys
from infra.clock import Clock
from infra.redis_port import RedisPort
from infra.scripts import Script
from llm.request import CallEnded
from schemas.call import CallRecord
from schemas.wire import dump

KEPT = 20_000
"""Records in the stream: about a month of a busy household."""
MARK_TTL_MS = 48 * 3_600_000
"""A record is tried again only by the process that made the call: hours would do."""
STREAM_TTL_MS = 31 * 24 * 3_600_000
RETRY_PAUSE_S = 1.0
WAITING_MAX = 10_000
"""Records that wait in memory while Redis is away; beyond that the oldest are lost."""

BATCH = 100
"""Records per step."""

RECORD = Script(Path(__file__).with_name("record.lua"))

log = structlog.get_logger()


class Recorder:
    """Takes ended calls without waiting for Redis, so that a cancelled turn loses none; `serve` writes them."""

    def __init__(
        self, redis: RedisPort, clock: Clock, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.redis = redis
        self.clock = clock
        self.sleep = sleep
        self._waiting: deque[CallRecord] = deque(maxlen=WAITING_MAX)
        self._wake = asyncio.Event()

    def ended(self, call: CallEnded, *, turn_id: str, lane: str, user_id: str) -> None:
        """Remember the call; written within moments."""
        self._waiting.append(record_of(call, turn_id=turn_id, lane=lane, user_id=user_id, at_ms=self.clock()))
        self._wake.set()

    async def serve(self) -> None:
        """Write until cancelled; lives through any outage of Redis."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.flush()
            except RedisError as error:
                log.warning("calls_not_recorded", waiting=len(self._waiting), error=type(error).__name__)
                await self.sleep(RETRY_PAUSE_S)
                self._wake.set()

    async def flush(self) -> None:
        """Write all that waits, oldest first.

        Raises: RedisError: what was not written still waits.
        """
        while self._waiting:
            batch = list(islice(self._waiting, BATCH))
            await RECORD(
                self.redis,
                [keys.calls(), *(keys.call(record.id) for record in batch)],
                [KEPT, MARK_TTL_MS, STREAM_TTL_MS, *(dump(record) for record in batch)],
            )
            written = {record.id for record in batch}
            while self._waiting and self._waiting[0].id in written:
                self._waiting.popleft()


def record_of(call: CallEnded, *, turn_id: str, lane: str, user_id: str, at_ms: int) -> CallRecord:
    """The call as it is stored."""
    return CallRecord(
        id=call.id,
        turn_id=turn_id,
        lane=lane,
        user_id=user_id,
        at_ms=at_ms,
        model=call.model,
        outcome=call.outcome,
        took_ms=call.took_ms,
        input_tokens=call.usage.input_tokens,
        cache_write_tokens=call.usage.cache_write_tokens,
        cache_read_tokens=call.usage.cache_read_tokens,
        output_tokens=call.usage.output_tokens,
    )
