"""What is measured for Prometheus: the queue as it is, and what this UTC day has counted so far, as the pages count it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dashboard.shared import Shared
from infra import health, keys
from infra.pause import PARKED_MS
from infra.together import checked, together
from schemas.call import CallRecord
from schemas.wire import NewerVersion, NotReadable, load

COUNTED = ("messages", "answered", "fallback", "failed", "turns", "conversations", "exchanges", "retries")
"""Counters of keys.minutes()."""
AT_ONCE = 1000
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Measured:
    """At one moment."""

    waiting: int
    """Conversations whose turn is due and has not begun."""
    busy: int
    """In work, or tried again later."""
    parked: int
    """Held up by a pause."""
    oldest_ms: int
    """How long the first one waits."""
    dead: int
    paused: int
    """Bots, or everything."""
    swept: int
    living: Mapping[str, int]
    """Kind of process → how many."""
    counts: Mapping[str, int]
    """Of this UTC day, by COUNTED."""
    calls: "CallSums"


@dataclass(slots=True)
class CallSums:
    """Calls of models of one UTC day, added up as their records are read."""

    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    """(service, model, outcome)."""
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """(model, kind)."""
    microusd: Counter[str] = field(default_factory=Counter[str])
    unpriced: Counter[str] = field(default_factory=Counter[str])
    """Model → calls whose price is not known."""

    def add(self, call: CallRecord) -> None:
        """One more."""
        self.calls[call.service, call.model, call.outcome] += 1
        for kind in ("input", "cache_write", "cache_read", "output"):
            self.tokens[call.model, kind] += getattr(call, f"{kind}_tokens") or 0
        if call.cost_microusd is None:
            self.unpriced[call.model] += 1
        else:
            self.microusd[call.model] += call.cost_microusd


@dataclass(slots=True)
class Tally:
    """The calls of today, read on from where the last scrape stopped."""

    day_ms: int = -1
    last_id: str = ""
    sums: CallSums = field(default_factory=CallSums)

    async def read_on(self, shared: Shared, redis_ms: int) -> CallSums:
        """redis_ms: Redis' clock, which gives entries their ids. Raises what redis-py raises: then nothing was added twice."""
        now_ms = shared.clock()
        today_ms = now_ms // DAY_MS * DAY_MS
        if today_ms != self.day_ms:
            self.day_ms, self.sums = today_ms, CallSums()
            self.last_id = f"{redis_ms - (now_ms - today_ms)}-0"
        while True:
            entries = await shared.redis.xrange(keys.calls(), f"({self.last_id}", "+", AT_ONCE)
            for entry_id, fields in entries:
                self.last_id = entry_id.decode()
                if (call := _read(fields)) and call.at_ms >= today_ms:
                    self.sums.add(call)
            if len(entries) < AT_ONCE:
                return self.sums


def _read(fields: Mapping[bytes, bytes]) -> CallRecord | None:
    try:
        return load(CallRecord, fields[b"record"])
    except (NotReadable, NewerVersion, KeyError):
        return None


async def measure(shared: Shared, tally: Tally) -> Measured:
    """Two round trips and the new calls. Raises what redis-py raises."""
    seconds, micros = await shared.redis.time()
    redis_ms = seconds * 1000 + micros // 1000
    queue, day = keys.inbox_queue(), f"{datetime.fromtimestamp(shared.clock() / 1000, UTC):%Y-%m-%d}"
    lanes, due, parked, first, dead, paused, swept, totals, *living = checked(
        await together(shared.redis).run(
            ("ZCARD", queue),
            ("ZCOUNT", queue, "-inf", redis_ms),
            ("ZCOUNT", queue, PARKED_MS, "+inf"),
            ("ZRANGE", queue, 0, 0, "WITHSCORES"),
            ("ZCARD", keys.dead()),
            ("HLEN", keys.paused()),
            ("GET", keys.count("swept")),
            ("HMGET", keys.minutes(day), *(f"total:{what}" for what in COUNTED)),
            *(("ZCOUNT", keys.alive(kind), redis_ms - health.ALIVE_MS, "+inf") for kind in health.KINDS),
        )
    )
    return Measured(
        waiting=due,
        busy=lanes - due - parked,
        parked=parked,
        oldest_ms=_wait_ms(first, redis_ms),
        dead=dead,
        paused=paused,
        swept=int(swept or 0),
        living=dict(zip(health.KINDS, living, strict=True)),
        counts={what: int(n or 0) for what, n in zip(COUNTED, totals, strict=True)},
        calls=await tally.read_on(shared, redis_ms),
    )


def _wait_ms(first: list[Any], redis_ms: int) -> int:
    """first: member and score of the lane that is due first."""
    return max(0, redis_ms - round(float(first[1]))) if first else 0
