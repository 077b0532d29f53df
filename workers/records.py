"""Every model call is written down once, when it ended, whatever became of its turn; with it go the counters of its
person, and the settlement of what was reserved for it (workers.purse).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from itertools import islice
from pathlib import Path
from typing import NotRequired, TypedDict, Unpack

import structlog
from redis.exceptions import RedisError

from infra import keys
from infra.clock import Clock
from infra.redis_port import RedisPort, Value
from infra.scripts import Script
from llm.candidates import OFFLINE_MODEL
from llm.pricing import Price, cost_microusd
from llm.request import UNKNOWN, CallEnded
from schemas.call import CallRecord
from schemas.wire import dump
from workers.periods import DAY_TTL_MS, MONTH_TTL_MS, day_of, month_of

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

REFUSED_AT_ONCE = frozenset({
    "rate_limited", "overloaded", "server_error",
    "unauthorized", "unpaid", "forbidden", "unknown_model", "rejected", "too_long",
})  # fmt: skip
"""Outcomes that are an error answer of the service: without a word about tokens, nothing was done and nothing is due."""
NEVER_REACHED = "ConnectError"
"""CallEnded.detail of a call that found no service."""
FOLD = "fold"
"""`why` of a call that summarises a conversation (workers.fold): it is paid for, but no answer to anybody."""
ANSWERS = frozenset({"answered", "truncated", "interrupted", "refused"})

RECORD = Script(Path(__file__).with_name("record.lua"))

log = structlog.get_logger()


class About(TypedDict):
    """Why a call was made."""

    turn_id: str
    lane: str
    user_id: str
    """Whose use it counts as."""
    bot: NotRequired[str]
    asked: NotRequired[str]
    why: NotRequired[str]
    """See schemas.call.CallRecord."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One call on its way to Redis."""

    record: CallRecord
    day: str

    @property
    def keys(self) -> tuple[str, str, str, str]:
        record, user_id = self.record, self.record.user_id
        return (
            keys.call(record.id),
            keys.spent(user_id, self.day),
            keys.spent(user_id, month_of(self.day)),
            keys.reserved(record.id),
        )

    @property
    def values(self) -> tuple[Value, Value, Value]:
        return dump(self.record), used(self.record), self.cost

    @property
    def cost(self) -> Value:
        """As record.lua wants it: "" unknown, "-" nothing to settle."""
        if self.record.service == OFFLINE_MODEL:
            return "-"
        return "" if self.record.cost_microusd is None else self.record.cost_microusd


class Recorder:
    """Takes ended calls without waiting for Redis, so that a cancelled turn loses none; `serve` writes them."""

    def __init__(
        self,
        redis: RedisPort,
        clock: Clock,
        *,
        zone: tzinfo = UTC,
        prices: Mapping[str, Price] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """zone: whose days and months are counted. prices: those of the settings."""
        self.redis = redis
        self.clock = clock
        self.zone = zone
        self.prices = prices or {}
        self.sleep = sleep
        self._waiting: deque[Entry] = deque(maxlen=WAITING_MAX)
        self._wake = asyncio.Event()

    def ended(self, call: CallEnded, **about: Unpack[About]) -> CallRecord:
        """Remember the call, written within moments; given back as it is stored."""
        at_ms = self.clock()
        record = record_of(call, about, at_ms=at_ms, cost_microusd=cost_of(call, self.prices))
        self._waiting.append(Entry(record, day_of(at_ms, self.zone)))
        self._wake.set()
        return record

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
            _, over_microusd = await RECORD(
                self.redis,
                [keys.calls(), *(key for entry in batch for key in entry.keys)],
                [
                    KEPT, MARK_TTL_MS, STREAM_TTL_MS, DAY_TTL_MS, MONTH_TTL_MS,
                    *(value for entry in batch for value in entry.values),
                ],
            )  # fmt: skip
            if over_microusd:
                log.warning("calls_cost_more_than_reserved", microusd=over_microusd)
            written = {entry.record.id for entry in batch}
            while self._waiting and self._waiting[0].record.id in written:
                self._waiting.popleft()


def cost_of(call: CallEnded, prices: Mapping[str, Price]) -> int | None:
    """Micro-dollars. None: not known; a call that a service refused, or that reached none, costs nothing."""
    if call.usage == UNKNOWN and (call.outcome in REFUSED_AT_ONCE or call.detail == NEVER_REACHED):
        return 0
    return cost_microusd(call.provider, call.model, call.usage, prices)


def used(record: CallRecord) -> str:
    """What the counters of the day grow by: "answers 1 input 40"; nothing that is 0."""
    is_answer = record.outcome in ANSWERS and record.why != FOLD
    counts = {
        "answers" if is_answer else "others": 1,
        "input": record.input_tokens,
        "cache_write": record.cache_write_tokens,
        "cache_read": record.cache_read_tokens,
        "output": record.output_tokens,
        "unpriced": record.cost_microusd is None,
    }
    return " ".join(f"{name} {int(n)}" for name, n in counts.items() if n)


def record_of(call: CallEnded, about: About, *, at_ms: int, cost_microusd: int | None) -> CallRecord:
    """The call as it is stored."""
    return CallRecord(
        id=call.id,
        at_ms=at_ms,
        model=call.model,
        outcome=call.outcome,
        took_ms=call.took_ms,
        input_tokens=call.usage.input_tokens,
        cache_write_tokens=call.usage.cache_write_tokens,
        cache_read_tokens=call.usage.cache_read_tokens,
        output_tokens=call.usage.output_tokens,
        web_searches=call.usage.web_searches,
        service=call.provider,
        effort=call.effort,
        detail=call.detail,
        cost_microusd=cost_microusd,
        **about,
    )
