"""Local times as a model or a person gives them ("2026-12-01T08:00", "2026-12-01"), and what they are in ms since 1970. Pure.

A wall time means what the clock in its zone shows. The clock skips some (a gap, in spring) and shows some twice (an
overlap, in autumn): what is asked for once is refused then, with how to say it; what recurs is moved (`at_ms`).
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from babel.dates import format_datetime

from tools.texts import say, spoken
from tools.tool import Here, Refused

type Fold = Literal["first", "second"]
"""Which of the two, for a time that the clock shows twice."""

FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Of what is understood; leaves room for arithmetic, and for birthdays."""
_SHAPE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)?", re.ASCII)
_OFFSET = re.compile(r"(?<=[:\d])\s*(?:Z|[+-]\d\d:?\d\d|UTC|GMT)$", re.IGNORECASE | re.ASCII)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NEAR = 5
"""Names of zones that are named for one that does not exist."""


@dataclass(frozen=True, slots=True)
class When:
    """A local time that was understood."""

    local: datetime
    """Naive; of a whole day its beginning."""
    zone: ZoneInfo
    whole_day: bool = False
    second: bool = False
    """The second of the two times at which the clock shows `local`."""

    @property
    def text(self) -> str:
        """As things keep it: "2026-12-01T08:00", "2026-12-01"."""
        return written(self.local, whole_day=self.whole_day)

    @property
    def ms(self) -> int:
        return at_ms(self.local, self.zone, second=self.second)

    @property
    def over_ms(self) -> int:
        """From when on it is past: of a whole day the end."""
        return at_ms(self.local + timedelta(days=1), self.zone) if self.whole_day else self.ms


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
def zone_named(name: str, here: Here) -> ZoneInfo:
    """ "" is the person's. Raises: Refused, with names that are near."""
    if not name or name == here.zone.key:
        return here.zone
    if name not in zone_names():
        near = _near(name)
        hint = f"; near: {', '.join(near)}" if near else ""
        raise Refused(f"{name[:40]!r} is no IANA time zone{hint}.")
    return ZoneInfo(name)


def kept_zone(name: str, otherwise: ZoneInfo) -> ZoneInfo:
    """Of a thing that is kept; `otherwise` if it has none, or one that this machine does not know."""
    try:
        return ZoneInfo(name) if name else otherwise
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return otherwise


def exact(text: str, zone: str, here: Here, fold: Fold | None = None) -> When:
    """A local date-time or date that exists, once: what a gap skips is refused, and so is what the clock shows twice,
    unless `fold` says which. zone: IANA name, "": the person's.

    Raises: Refused.
    """
    found = read_when(text, zone_named(zone, here))
    return found if found.whole_day else _once(found, fold)


def future(text: str, zone: str, here: Here, fold: Fold | None = None) -> When:
    """`exact`, not past by koi's clock; of days, today is not past. Raises: Refused."""
    found = exact(text, zone, here, fold)
    if found.over_ms <= here.now_ms:
        raise Refused(f"{found.text} is past; it is {now_line(here, found.zone)} now.")
    return found


def read_when(text: str, zone: ZoneInfo) -> When:
    """A date or date-time of the calendar, whether or not the zone's clock shows it. Raises: Refused."""
    if _OFFSET.search(text):
        raise Refused(f"{text[:40]!r}: give the local time without offset or Z, and the zone by itself.")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise Refused(
            f"{text[:40]!r} is no local time; write 2026-12-01T08:00, or 2026-12-01 for a whole day."
        )
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{text} does not exist: there is no such date or time of day.") from None
    if not FIRST_YEAR <= local.year <= LAST_YEAR:
        raise Refused(f"{text}: the year must be {FIRST_YEAR} to {LAST_YEAR}.")
    return When(local, zone, whole_day=shape[2] is None)


def _once(found: When, fold: Fold | None) -> When:
    local, zone = found.local, found.zone
    before, after = _offset(local, zone, 0), _offset(local, zone, 1)
    if before < after:
        start, end = _gap(local, zone, before, after)
        raise Refused(
            f"{found.text} does not exist in {zone.key}: that night the clock jumps from {start} to {end}."
        )
    if before > after and fold is None:
        raise Refused(f'{found.text} happens twice in {zone.key}; say which with fold "first" or "second".')
    return When(local, zone, second=before > after and fold == "second")


def _gap(local: datetime, zone: ZoneInfo, before: timedelta, after: timedelta) -> tuple[str, str]:
    """The wall times between which the clock jumps over `local`."""
    low, high = local - after, local - before  # UTC: the jump is between these
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        if middle.replace(tzinfo=UTC).astimezone(zone).utcoffset() == after:
            high = middle
        else:
            low = middle
    jump = high.replace(microsecond=0)
    return f"{jump + before:%H:%M}", f"{jump + after:%H:%M}"


def _offset(local: datetime, zone: ZoneInfo, fold: int) -> timedelta:
    return local.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta()


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Of the tzdata package: to look for those of the machine takes zoneinfo half a second."""
    return frozenset(files("tzdata").joinpath("zones").read_text("utf-8").split())


def _near(name: str) -> list[str]:
    """Zones whose name is like this one, or whose city is."""
    cities: dict[str, list[str]] = {}
    for zone in sorted(zone_names()):
        cities.setdefault(zone.rpartition("/")[2].casefold(), []).append(zone)
    names = {zone.casefold(): zone for zone in zone_names()}
    asked = name.strip().replace(" ", "_").casefold()
    by_city = get_close_matches(asked.rpartition("/")[2], cities, n=_NEAR, cutoff=0.75)
    by_name = get_close_matches(asked, names, n=_NEAR, cutoff=0.75)
    found = [zone for city in by_city for zone in cities[city] if "/" in zone]
    return list(dict.fromkeys((*found, *(names[near] for near in by_name))))[:_NEAR]


# ── wall time and ms ─────────────────────────────────────────────────────────────────────────────────────────────
def at_ms(local: datetime, zone: ZoneInfo, *, second: bool = False) -> int:
    """ms since 1970 at which the clock in `zone` shows the naive `local`.

    In a gap: moved forward by it (02:30 → 03:30). In an overlap: the first, or the second.
    """
    # PEP 495: fold=0 in a gap is the offset before it, so the sum is the wall time moved forward by the gap
    aware = local.replace(tzinfo=zone, fold=int(second and _offset(local, zone, 0) > _offset(local, zone, 1)))
    return (aware.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def local_at(ms: int, zone: ZoneInfo) -> datetime:
    """What the clock in `zone` shows then: naive, whole seconds."""
    aware = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return aware.astimezone(zone).replace(tzinfo=None, fold=0, microsecond=0)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────
def written(local: datetime, *, whole_day: bool = False) -> str:
    """As things keep it; seconds only if there are any."""
    if whole_day:
        return local.date().isoformat()
    return local.isoformat(timespec="seconds" if local.second else "minutes")


def kept_local(text: str) -> datetime:
    """A time of a thing that is kept, naive; of a day its beginning. Raises: ValueError: it was written by nobody here."""
    return datetime.fromisoformat(text).replace(tzinfo=None)


def is_day(text: str) -> bool:
    """A whole day, not a time of day."""
    return len(text) == len("2026-12-01")


def for_model(text: str) -> str:
    """A kept time with its weekday, which models reckon wrongly: "Tue 2026-12-01T08:00"."""
    return f"{_DAYS[kept_local(text).weekday()]} {text}"


def now_line(here: Here, zone: ZoneInfo) -> str:
    """For the model: what time it is."""
    return f"{for_model(written(local_at(here.now_ms, zone).replace(second=0)))} in {zone.key}"


def for_people(text: str, zone: ZoneInfo, here_zone: ZoneInfo, language: str, now_ms: int) -> str:
    """A kept time with its weekday: "Tue, 1 Dec, 08:00", "Di., 01.12., 08:00"; with the year if it is another one than
    this, and with the zone if it is not the person's (`here_zone`).
    """
    local, this_year = kept_local(text), local_at(now_ms, here_zone).year
    pattern = _pattern(language, day=is_day(text), year=local.year != this_year)
    said = format_datetime(local, pattern, locale=spoken(language))
    return said if zone.key == here_zone.key or is_day(text) else f"{said} ({zone.key})"


def _pattern(language: str, *, day: bool, year: bool) -> str:
    """Of Babel."""
    if day:
        return say(language, "EEE, d MMM y") if year else say(language, "EEE, d MMM")
    return say(language, "EEE, d MMM y, HH:mm") if year else say(language, "EEE, d MMM, HH:mm")
