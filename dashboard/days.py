"""Days and months of the house's zone, as use is counted in them (keys.spent). Pure."""

from datetime import date, datetime, timedelta, tzinfo

from dashboard.figures import local

KEPT_DAYS = 31
"""Shown of the past: as long as calls and lives are kept."""


def day_of(at_ms: int, zone: tzinfo) -> str:
    """ "2026-11-30"."""
    return local(at_ms, zone).date().isoformat()


def month_of(day: str) -> str:
    """ "2026-11-30" → "2026-11"."""
    return day[:7]


def days_before(day: str, count: int = KEPT_DAYS) -> tuple[str, ...]:
    """The last `count` days, oldest first, `day` the last of them."""
    last = date.fromisoformat(day)
    return tuple((last - timedelta(days=back)).isoformat() for back in reversed(range(count)))


def midnight_ms(day: str, zone: tzinfo) -> int:
    """When a day begins."""
    at = date.fromisoformat(day)
    return round(datetime(at.year, at.month, at.day, tzinfo=zone).timestamp() * 1000)
