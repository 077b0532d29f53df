"""What calls of models used and cost, added up as their records come in: the stream keys.calls(), read on as it grows.

Sums only: of each day (of the house's zone) by model, bot and person, and for the timeline by model and quarter of an hour. So a page costs the same at any number of calls, and what the stream has trimmed since this process started stays counted.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Literal
from weakref import WeakKeyDictionary

from dashboard.days import KEPT_DAYS, day_of, days_before
from dashboard.shared import Shared
from infra import keys
from infra.redis_port import RedisPort
from infra.together import checked, together
from schemas.call import CallRecord
from schemas.wire import NewerVersion, NotReadable, load

AT_ONCE = 1000
STREAM_KEPT = 20_000
"""Records that the stream keeps, about (workers.records.KEPT)."""
SLOT_MS = 15 * 60_000
SLOTS_MS = 7 * 24 * 3_600_000
"""How far the timeline goes back."""
TOKENS = ("input", "cache_write", "cache_read", "output")
"""The kinds that are counted and priced apart."""

type ModelAt = tuple[str, str]
"""Service and model."""
type Standing = Literal["up", "throttled", "down"]
"""What a call says of its model. throttled: it works, and was asked too much."""

UP = frozenset({"answered", "tools", "truncated", "interrupted", "refused", "paused"})
THROTTLED = frozenset({"rate_limited", "overloaded"})
DOWN = frozenset({
    "server_error", "timeout", "broken", "malformed", "empty", "unauthorized", "unpaid", "forbidden", "unknown_model",
})  # fmt: skip
"""Outcomes of calls (schemas.call) by what they say. The others are about the question, or nobody waited for the answer."""


@dataclass(slots=True)
class Sums:
    """Of some calls."""

    calls: int = 0
    failed: int = 0
    microusd: int = 0
    """Of those with a known price."""
    unpriced: int = 0
    """Calls whose cost is not known."""
    untold: int = 0
    """Those of them for which the service named no tokens: no price would help."""
    input: int = 0
    """Tokens: neither written to the service's cache nor read from it."""
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    def add(self, call: CallRecord) -> None:
        """One more."""
        self.calls += 1
        self.failed += standing_of(call.outcome) in {"throttled", "down"}
        if call.cost_microusd is None:
            self.unpriced += 1
            self.untold += call.input_tokens is None and call.output_tokens is None
        else:
            self.microusd += call.cost_microusd
        self.input += call.input_tokens or 0
        self.cache_write += call.cache_write_tokens or 0
        self.cache_read += call.cache_read_tokens or 0
        self.output += call.output_tokens or 0

    def add_sums(self, other: "Sums") -> None:
        """All of those."""
        self.calls += other.calls
        self.failed += other.failed
        self.microusd += other.microusd
        self.unpriced += other.unpriced
        self.untold += other.untold
        self.input += other.input
        self.cache_write += other.cache_write
        self.cache_read += other.cache_read
        self.output += other.output

    @property
    def tokens(self) -> int:
        """Of all kinds."""
        return self.input + self.cache_write + self.cache_read + self.output

    @property
    def cost_microusd(self) -> int | None:
        """None: there are calls whose cost is not known, and the others cost nothing."""
        return None if self.unpriced and not self.microusd else self.microusd

    @property
    def cache_share(self) -> float | None:
        """How much of what was read came from the service's cache; None: nothing was read."""
        read = self.input + self.cache_write + self.cache_read
        return self.cache_read / read if read else None


@dataclass(slots=True)
class Day:
    """All calls of one day, summed up in every way that is shown."""

    total: Sums = field(default_factory=Sums)
    models: dict[ModelAt, Sums] = field(default_factory=dict[ModelAt, Sums])
    bots: dict[str, Sums] = field(default_factory=dict[str, Sums])
    people: dict[str, Sums] = field(default_factory=dict[str, Sums])

    def add(self, call: CallRecord) -> None:
        """One more."""
        self.total.add(call)
        self.models.setdefault((call.service, call.model), Sums()).add(call)
        self.bots.setdefault(call.bot, Sums()).add(call)
        self.people.setdefault(call.user_id, Sums()).add(call)


@dataclass(slots=True)
class Slot:
    """A quarter of an hour of one model."""

    standings: Counter[Standing] = field(default_factory=Counter[Standing])
    turn_id: str = ""
    """Of the newest call that did not work."""
    outcome: str = ""
    detail: str = ""


class Calls:
    """One per Redis."""

    def __init__(self, zone: tzinfo) -> None:
        self.days: dict[str, Day] = {}
        self.slots: dict[ModelAt, dict[int, Slot]] = {}
        """Model → number of the quarter since 1970 → what was said in it."""
        self.first_ms: int | None = None
        """Of the oldest call that was read: before it nothing is known."""
        self.is_trimmed = False
        """There were older ones."""
        self.counted: dict[str, Sums] = {}
        """Day → what its counters say (dashboard.spent), of days that are over and older than `first_ms`."""
        self.unreadable = 0
        self._zone = zone
        self._day_of_quarter = (-1, "")
        self._last_id = "0"
        self._reading = asyncio.Lock()

    async def read_on(self, redis: RedisPort, now_ms: int) -> None:
        """Take in what is new, and let go what is too old to be shown.

        Raises what redis-py raises: what was read before is kept, nothing is added twice.
        """
        async with self._reading:
            while True:
                entries = await redis.xrange(keys.calls(), f"({self._last_id}", "+", AT_ONCE)
                for entry_id, fields in entries:
                    self._last_id = entry_id.decode()
                    self._take(fields)
                if len(entries) < AT_ONCE:
                    break
                await asyncio.sleep(0)
            (length,) = checked(await together(redis).run(("XLEN", keys.calls())))
            self.is_trimmed = length >= STREAM_KEPT
            self._let_go(now_ms)

    def of_days(self, days: Iterable[str]) -> tuple[Day, ...]:
        """Those of them on which there were calls."""
        return tuple(self.days[day] for day in days if day in self.days)

    def _take(self, fields: Mapping[bytes, bytes]) -> None:
        try:
            call = load(CallRecord, fields[b"record"])
        except (NotReadable, NewerVersion, KeyError):
            self.unreadable += 1
            return
        self.first_ms = call.at_ms if self.first_ms is None else min(self.first_ms, call.at_ms)
        self.days.setdefault(self._day_of(call.at_ms), Day()).add(call)
        if (standing := standing_of(call.outcome)) is not None:
            self._mark(call, standing)

    def _day_of(self, at_ms: int) -> str:
        """The same within a quarter of an hour: no zone changes its day or its offset inside one."""
        quarter = at_ms // SLOT_MS
        if self._day_of_quarter[0] != quarter:
            self._day_of_quarter = (quarter, day_of(at_ms, self._zone))
        return self._day_of_quarter[1]

    def _mark(self, call: CallRecord, standing: Standing) -> None:
        slots = self.slots.setdefault((call.service, call.model), {})
        slot = slots.setdefault(call.at_ms // SLOT_MS, Slot())
        slot.standings[standing] += 1
        if standing != "up":
            slot.turn_id, slot.outcome, slot.detail = call.turn_id, call.outcome, call.detail

    def _let_go(self, now_ms: int) -> None:
        oldest_day = days_before(day_of(now_ms, self._zone), KEPT_DAYS + 1)[0]
        for day in [day for day in self.days if day < oldest_day]:
            del self.days[day]
        oldest_slot = (now_ms - SLOTS_MS) // SLOT_MS
        for slots in self.slots.values():
            for at in [at for at in slots if at < oldest_slot]:
                del slots[at]


def standing_of(outcome: str) -> Standing | None:
    """Outcome of a call (schemas.call) → what it says of the model; None: nothing."""
    if outcome in UP:
        return "up"
    if outcome in THROTTLED:
        return "throttled"
    return "down" if outcome in DOWN else None


_OF: WeakKeyDictionary[RedisPort, Calls] = WeakKeyDictionary()


async def calls_of(shared: Shared) -> Calls:
    """Those of this Redis, as of now. Raises what redis-py raises."""
    found = _OF.get(shared.redis)
    if found is None:
        found = _OF[shared.redis] = Calls(shared.zone)
    await found.read_on(shared.redis, shared.clock())
    return found
