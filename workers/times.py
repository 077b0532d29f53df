"""Stamps and durations as a person reads them."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from babel.dates import LOCALTZ, format_datetime

from workers.texts import say, spoken

MINUTE_MS = 60_000


def zone_of(name: str) -> tzinfo:
    """IANA name → zone; "" is the machine's.

    Raises: ZoneInfoNotFoundError.
    """
    return ZoneInfo(name) if name else LOCALTZ


def moment(at_ms: int, zone: tzinfo, language: str) -> str:
    """Day, month, hour and minute: "5 Apr, 14:23", "05.04. 14:23"."""
    local = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone)
    return format_datetime(local, say(language, "d MMM, HH:mm"), locale=spoken(language))


def span(duration_ms: int, language: str) -> str:
    """Hours and minutes, rounded down: "23 h 10 min"; less than a minute is "0 min"."""
    hours, minutes = divmod(max(0, duration_ms) // MINUTE_MS, 60)
    if hours and minutes:
        return say(language, "{hours} h {minutes} min", hours=hours, minutes=minutes)
    if hours:
        return say(language, "{hours} h", hours=hours)
    return say(language, "{minutes} min", minutes=minutes)
