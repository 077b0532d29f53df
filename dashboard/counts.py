"""What was counted: messages by the minute (keys.minutes), money by the day and month (keys.spent).

The counters of minutes are kept by UTC day; a day of the house is read as the minutes from its midnight on, so that it is exact
in every zone, also in those that are off by 30 or 45 minutes, and on the day of a clock change.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from infra import keys
from infra.redis_port import RedisPort
from infra.together import checked, together

COUNTED = ("messages", "answered", "fallback", "failed", "turns", "conversations", "exchanges", "retries")
DRAWN = ("answered", "fallback", "failed")
DAY_MS, MINUTE_MS = 86_400_000, 60_000
HOUR_MINUTES = 60
CLOCK_CHARS = 4
"""Of "HHMM"; "total" is longer."""

type Hash = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Counts:
    """Of keys.minutes()."""

    today: Counter[str] = field(default_factory=Counter[str])
    """Since midnight in the zone of the house."""
    week: Counter[str] = field(default_factory=Counter[str])
    """Today and the six days before."""
    minutes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Of DRAWN: the last sixty minutes, the running one last."""
    first_minute_ms: int = 0


@dataclass(frozen=True, slots=True)
class Money:
    """Micro-dollars of all people; calls without a known price are not in it."""

    today: int = 0
    month: int = 0
    """With what is reserved for running calls."""
    unpriced: int = 0
    """Calls of today whose price is not known."""
    has_unpriced: bool = False
    """There is such a call among those of the last month."""


def day_begins_ms(now_ms: int, zone: tzinfo, days_ago: int = 0) -> int:
    """Midnight in a zone, today's or an earlier one."""
    day = _local(now_ms, zone).date() - timedelta(days=days_ago)
    return round(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp() * 1000)


def utc_days(since_ms: int, now_ms: int) -> tuple[str, ...]:
    """The UTC days that a span touches, oldest first."""
    return tuple(_day(at) for at in range(since_ms // DAY_MS * DAY_MS, now_ms + 1, DAY_MS))


async def read_counts(redis: RedisPort, now_ms: int, zone: tzinfo) -> Counts:
    """One round trip: whole days by their totals, days that begin elsewhere by their minutes.

    Raises what redis-py raises.
    """
    midnight_ms, week_ms = day_begins_ms(now_ms, zone), day_begins_ms(now_ms, zone, 6)
    days = utc_days(week_ms, now_ms)
    cut = {_day(at_ms) for at_ms in (midnight_ms, week_ms) if at_ms % DAY_MS}
    asks = [("HGETALL", keys.minutes(day)) if day in cut else _totals(day) for day in days]
    recent = recent_minutes(now_ms)
    by_day = {
        day: [f"{at:%H%M}:{what}" for at in recent if f"{at:%Y-%m-%d}" == day for what in DRAWN]
        for day in days[-2:]
    }
    asks += [("HMGET", keys.minutes(day), *fields) for day, fields in by_day.items() if fields]
    found = checked(await together(redis).run(*asks))
    per_day: dict[str, Hash] = {}
    for day, one in zip(days, found, strict=False):
        per_day[day] = (
            _pairs(one)
            if day in cut
            else {f"total:{w}".encode(): n or b"0" for w, n in zip(COUNTED, one, strict=True)}
        )
    drawn: dict[str, bytes | None] = {}
    for (day, fields), values in zip(
        [one for one in by_day.items() if one[1]], found[len(days) :], strict=True
    ):
        drawn |= {f"{day}:{name}": n for name, n in zip(fields, values, strict=True)}
    return Counts(
        counted(per_day, midnight_ms, now_ms),
        counted(per_day, week_ms, now_ms),
        {what: [int(drawn.get(f"{at:%Y-%m-%d}:{at:%H%M}:{what}") or 0) for at in recent] for what in DRAWN},
        round(recent[0].timestamp() * 1000),
    )


def counted(days: Mapping[str, Hash], since_ms: int, now_ms: int) -> Counter[str]:
    """The sum from a moment on. days: UTC day → its counters; of those that are not cut only the totals are needed."""
    summed = Counter[str]()
    for day in utc_days(since_ms, now_ms):
        found = days.get(day, {})
        begins_ms = round(datetime.fromisoformat(f"{day}T00:00+00:00").timestamp() * 1000)
        first = (since_ms - begins_ms) // MINUTE_MS
        if first <= 0:
            summed.update({what: int(found.get(f"total:{what}".encode(), 0)) for what in COUNTED})
            continue
        first_clock = f"{first // 60:02d}{first % 60:02d}".encode()
        for name, n in found.items():
            clock, _, what = name.partition(b":")
            if len(clock) == CLOCK_CHARS and clock >= first_clock:
                summed[what.decode()] += int(n)
    return summed


def recent_minutes(now_ms: int) -> tuple[datetime, ...]:
    """The last sixty, UTC, the running one last."""
    last = datetime.fromtimestamp(now_ms // MINUTE_MS * 60, UTC)
    return tuple(last - timedelta(minutes=ago) for ago in range(HOUR_MINUTES - 1, -1, -1))


async def read_money(redis: RedisPort, user_ids: Iterable[str], now_ms: int, zone: tzinfo) -> Money:
    """Of these people together, one round trip; days and months are those of the house, as workers count them.

    Raises what redis-py raises.
    """
    day = _local(now_ms, zone).date().isoformat()
    ids = tuple(dict.fromkeys(user_ids))
    if not ids:
        return Money()
    asks = [("HMGET", keys.spent(one, day), "microusd", "unpriced") for one in ids]
    asks += [("HMGET", keys.spent(one, day[:7]), "microusd") for one in ids]
    found = checked(await together(redis).run(*asks))
    days, months = found[: len(ids)], found[len(ids) :]
    unpriced = sum(int(one[1] or 0) for one in days)
    return Money(
        sum(int(one[0] or 0) for one in days),
        sum(int(one[0] or 0) for one in months),
        unpriced,
        unpriced > 0,
    )


def _totals(day: str) -> tuple[str, ...]:
    return ("HMGET", keys.minutes(day), *(f"total:{what}" for what in COUNTED))


def _pairs(found: object) -> Hash:
    """HGETALL as it came: a mapping, or names and values in turn."""
    if isinstance(found, Mapping):
        return found  # pyright: ignore[reportUnknownVariableType]
    flat = list(found)  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportUnknownArgumentType]
    return dict(zip(flat[::2], flat[1::2], strict=True))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _day(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d}"


def _local(at_ms: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone)
