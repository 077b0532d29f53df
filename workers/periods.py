"""The days and months that use is counted in: those of koi's zone. Pure."""

from datetime import UTC, datetime, timedelta, tzinfo

DAY_TTL_MS = MONTH_TTL_MS = 62 * 24 * 3_600_000
"""Of a day's counters and a month's money: a month is shown as the sum of its days, and calls that began in it may end
in the next one.
"""


def local_time(at_ms: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone)


def day_of(at_ms: int, zone: tzinfo) -> str:
    """ "2026-11-30"."""
    return local_time(at_ms, zone).date().isoformat()


def month_of(day: str) -> str:
    """ "2026-11-30" → "2026-11"."""
    return day[:7]


def days_until(day: str) -> tuple[str, ...]:
    """Those of its month up to `day`, that one last."""
    return tuple(f"{month_of(day)}-{number:02d}" for number in range(1, int(day[8:]) + 1))


def day_ends_ms(at_ms: int, zone: tzinfo) -> int:
    """The midnight after `at_ms`."""
    return _midnight_ms(local_time(at_ms, zone) + timedelta(days=1), zone)


def month_ends_ms(at_ms: int, zone: tzinfo) -> int:
    """The midnight after the last day of the month of `at_ms`."""
    return _midnight_ms(local_time(at_ms, zone).replace(day=1) + timedelta(days=32), zone, day=1)


def _midnight_ms(local: datetime, zone: tzinfo, *, day: int | None = None) -> int:
    midnight = datetime(local.year, local.month, day or local.day, tzinfo=zone)
    return round(midnight.timestamp() * 1000)
