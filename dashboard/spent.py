"""The counters of what people use (keys.spent): what /usage tells them, and what their plans are measured by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dashboard.calls import TOKENS, Calls, Sums
from dashboard.days import day_of, month_of
from dashboard.shared import Shared
from infra import keys
from infra.together import checked, together

type Counts = Mapping[bytes, bytes]

MOST_PEOPLE = 500
"""Whose counters are added up for days that the calls no longer tell of."""


@dataclass(frozen=True, slots=True)
class Use:
    """Of one person."""

    messages: int = 0
    """Today; counted only against a plan that limits them."""
    answers: int = 0
    """Today."""
    tokens: int = 0
    """Today, in and out, cached ones included."""
    microusd: int = 0
    """Today."""
    unpriced: int = 0
    """Calls of today whose cost is not known, and so not in `microusd`."""
    month_microusd: int = 0
    """This month, with what is reserved for calls that run."""

    @property
    def cost_microusd(self) -> int | None:
        """Of today; None: no price of any call is known."""
        return None if self.unpriced and not self.microusd else self.microusd


async def read_uses(shared: Shared, user_ids: Sequence[str], now_ms: int) -> Mapping[str, Use]:
    """Of some people, in one round trip. Raises what redis-py raises."""
    day = day_of(now_ms, shared.zone)
    asked = [
        ("HGETALL", keys.spent(user_id, period)) for user_id in user_ids for period in (day, month_of(day))
    ]
    if not asked:
        return {}
    found = checked(await together(shared.redis).run(*asked))
    return {user_id: use_of(found[2 * nth], found[2 * nth + 1]) for nth, user_id in enumerate(user_ids)}


def use_of(day: Counts, month: Counts) -> Use:
    """Of the two hashes of a person."""
    return Use(
        messages=_count(day, "messages"),
        answers=_count(day, "answers"),
        tokens=sum(_count(day, kind) for kind in TOKENS),
        microusd=_count(day, "microusd"),
        unpriced=_count(day, "unpriced"),
        month_microusd=_count(month, "microusd"),
    )


async def day_totals(
    shared: Shared, calls: Calls, days: Sequence[str], user_ids: Iterable[str]
) -> Mapping[str, Sums]:
    """What all calls of each day cost together: by their records, as long as all of them are there; of older days by the
    counters of these people. days: oldest first, the running one last.

    Raises what redis-py raises.
    """
    totals = {day: calls.days[day].total if day in calls.days else Sums() for day in days}
    old = uncovered(calls, days, day_of(calls.first_ms, shared.zone) if calls.first_ms is not None else "")
    if unread := [day for day in old if day not in calls.counted]:
        people = tuple(dict.fromkeys(user_ids))[:MOST_PEOPLE]
        counted = await _counted(shared, unread, people)
        calls.counted.update({day: sums for day, sums in counted.items() if day < days[-2]})
        totals.update(counted)
    return totals | {day: calls.counted[day] for day in old if day in calls.counted}


def uncovered(calls: Calls, days: Sequence[str], first_day: str) -> tuple[str, ...]:
    """Days of which calls may have been trimmed."""
    return tuple(day for day in days if calls.is_trimmed and day <= first_day)


async def _counted(shared: Shared, days: Sequence[str], people: Sequence[str]) -> dict[str, Sums]:
    totals = {day: Sums() for day in days}
    if people:
        asked = [("HGETALL", keys.spent(user_id, day)) for day in days for user_id in people]
        for nth, counts in enumerate(checked(await together(shared.redis).run(*asked))):
            totals[days[nth // len(people)]].add_sums(sums_of(counts))
    return totals


def sums_of(day: Counts) -> Sums:
    """Of the counters of one person's day."""
    return Sums(
        calls=_count(day, "answers") + _count(day, "others"),
        microusd=_count(day, "microusd"),
        unpriced=_count(day, "unpriced"),
        input=_count(day, "input"),
        cache_write=_count(day, "cache_write"),
        cache_read=_count(day, "cache_read"),
        output=_count(day, "output"),
    )


def _count(counts: Counts, name: str) -> int:
    raw = counts.get(name.encode(), b"0")
    return int(raw) if raw.lstrip(b"-").isdigit() else 0
