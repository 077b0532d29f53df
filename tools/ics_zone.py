"""The rules of a time zone as a calendar file carries them (VTIMEZONE, RFC 5545, 3.6.5). Pure.

Calendar.add_missing_timezones of icalendar 7.3.2 is not used: it gives the beginning of summer time in the new local time,
an hour late; the RFC says the one before the change.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from icalendar import Timezone, TimezoneDaylight, TimezoneStandard

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a zone's clock does for a time."""

    offset: timedelta
    summer: bool
    name: str


@dataclass(frozen=True, slots=True)
class Change:
    """From one to the next."""

    at: datetime
    """UTC."""
    before: Rules
    after: Rules


def timezone_of(zone: ZoneInfo, first: date, last: date) -> Timezone:
    """Its rules on `first`, and every change up to `last`."""
    start = datetime.combine(first, time(), UTC)
    rules = _rules(start, zone)
    component = Timezone()
    component.add("TZID", zone.key)
    component.add_component(_part([Change(start, rules, rules)]))
    alike: dict[tuple[Rules, Rules], list[Change]] = {}
    for change in changes(zone, start, datetime.combine(last, time(), UTC)):
        alike.setdefault((change.before, change.after), []).append(change)
    for same in alike.values():
        component.add_component(_part(same))
    return component


def changes(zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[Change]:
    """In order, exact to the second; two within one day are seen as one."""
    at, rules = start, _rules(start, zone)
    while at < end:
        new = _rules(at + DAY, zone)
        if new != rules:
            yield Change(_first_second(at, at + DAY, rules, zone), rules, new)
        at, rules = at + DAY, new


def _first_second(low: datetime, high: datetime, before: Rules, zone: ZoneInfo) -> datetime:
    """Of the new rules; they are in force at `high`, not at `low`."""
    while high - low > SECOND:
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if _rules(middle, zone) == before:
            low = middle
        else:
            high = middle
    return high


def _rules(at: datetime, zone: ZoneInfo) -> Rules:
    local = at.astimezone(zone)
    return Rules(local.utcoffset() or timedelta(), bool(local.dst()), local.tzname() or zone.key)


def _part(alike: list[Change]) -> TimezoneStandard | TimezoneDaylight:
    """Changes between the same two rules."""
    before, after = alike[0].before, alike[0].after
    onsets = [(change.at + before.offset).replace(tzinfo=None) for change in alike]
    part = TimezoneDaylight() if after.summer else TimezoneStandard()
    part.add("TZNAME", after.name)
    part.add("TZOFFSETFROM", before.offset)
    part.add("TZOFFSETTO", after.offset)
    part.add("DTSTART", onsets[0])
    if len(onsets) > 1:
        part.add("RDATE", onsets[1:])
    return part
