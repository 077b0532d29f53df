"""What a person has, as a calendar file (RFC 5545) that other programs read. Pure.

Events and reminders are VEVENTs (a reminder with an alarm: few programs show VTODOs), tasks are VTODOs. Local times keep
their zone, whose rules the file brings along. Memos and facts have no place in a calendar.
"""

import hashlib
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from icalendar import Alarm, Calendar, Timezone, Todo, vRecur
from icalendar import Event as Entry

from infra.clean import clean
from schemas.things import Event, Memo, Reminder, Task, Thing
from tools.ics_zone import timezone_of
from tools.times import is_day, kept_local
from tools.tool import Things

PRODUCT = "-//koi//koi//EN"
PRIORITIES = {"high": 1, "normal": 5, "low": 9}
"""RFC 5545, 3.8.1.9."""
YEARS_AHEAD = 10
"""For so long after the last time in the file it brings the changes of clocks; programs know those of named zones anyway."""


def write_ics(things: Things, *, owner: str, now_ms: int) -> bytes:
    """One VCALENDAR. Ids are the same in every export of an owner, so that reading it in again changes, not doubles."""
    calendar = Calendar()
    calendar.add("PRODID", PRODUCT)
    calendar.add("VERSION", "2.0")
    calendar.add("CALSCALE", "GREGORIAN")
    entries = [entry for thing in things.by_id.values() if (entry := _component(thing, owner, now_ms))]
    for zone in _zones(things.by_id.values()):
        calendar.add_component(zone)
    for entry in entries:
        calendar.add_component(entry)
    return calendar.to_ical()


def _component(thing: Thing, owner: str, now_ms: int) -> Entry | Todo | None:
    """None: a memo."""
    match thing:
        case Event():
            entry = _event(thing)
        case Reminder():
            entry = _reminder(thing)
        case Task():
            entry = _todo(thing)
        case Memo():
            return None
    entry.add("UID", _uid(owner, thing.id))
    entry.add("DTSTAMP", _utc(now_ms))
    entry.add("CREATED", _utc(thing.made_ms))
    entry.add("LAST-MODIFIED", _utc(thing.changed_ms))
    return entry


def _event(event: Event) -> Entry:
    entry = Entry()
    start = _value(event.start, event.zone)
    entry.add("SUMMARY", clean(event.title))
    entry.add("DTSTART", start)
    if (end := _end(event)) is not None:
        entry.add("DTEND", end)
    _add_rule(entry, event.rrule, start, event.zone)
    _add_texts(entry, LOCATION=event.place, DESCRIPTION=event.note, CATEGORIES=event.project)
    return entry


def _end(event: Event) -> datetime | date | None:
    """Of whole days the day after the last one, since in a file the end is not part of it; None: none was said."""
    if is_day(event.start):
        return kept_local(event.end or event.start).date() + timedelta(days=1)
    return _value(event.end, event.zone) if event.end and not is_day(event.end) else None


def _reminder(reminder: Reminder) -> Entry:
    entry, alarm = Entry(), Alarm()
    start = _value(_begins(reminder), reminder.zone)
    entry.add("SUMMARY", clean(reminder.text))
    entry.add("DTSTART", start)
    entry.add("TRANSP", "TRANSPARENT")
    _add_rule(entry, reminder.rrule, start, reminder.zone)
    _add_texts(entry, CATEGORIES=reminder.project)
    alarm.add("ACTION", "DISPLAY")
    alarm.add("DESCRIPTION", clean(reminder.text))
    alarm.add("TRIGGER", timedelta(0))
    entry.add_component(alarm)
    return entry


def _todo(task: Task) -> Todo:
    todo = Todo()
    todo.add("SUMMARY", clean(task.title))
    if task.due:
        todo.add("DUE", _value(task.due, task.zone))
    todo.add("PRIORITY", PRIORITIES[task.priority])
    todo.add("STATUS", "COMPLETED" if task.done_ms else "NEEDS-ACTION")
    if task.done_ms:
        todo.add("COMPLETED", _utc(task.done_ms))
        todo.add("PERCENT-COMPLETE", 100)
    labels = [clean(name) for name in (task.list_name, task.project) if name]
    if labels:
        todo.add("CATEGORIES", labels)
    _add_texts(todo, DESCRIPTION=task.note)
    return todo


def _add_texts(component: Entry | Todo, **texts: str) -> None:
    for name, text in texts.items():
        if text:
            component.add(name, clean(text))


def _add_rule(entry: Entry, rrule: str, start: datetime | date, zone: str) -> None:
    """An end of the rule is written in UTC, or as a day, whichever the start asks for (RFC 5545, 3.3.10)."""
    if not rrule:
        return
    rule = cast("vRecur", vRecur.from_ical(rrule))
    if "UNTIL" in rule:
        rule["UNTIL"] = [_until(until, start, ZoneInfo(zone)) for until in rule["UNTIL"]]
    entry.add("RRULE", rule)


def _until(until: datetime | date, start: datetime | date, zone: ZoneInfo) -> datetime | date:
    if not isinstance(until, datetime):
        until = datetime.combine(until, time(23, 59, 59))
    aware = until if until.tzinfo else until.replace(tzinfo=zone)
    return aware.astimezone(UTC) if isinstance(start, datetime) else aware.astimezone(zone).date()


def _value(local: str, zone: str) -> datetime | date:
    """As icalendar takes it: a day, or a time in its zone; without a zone it is the reader's."""
    if is_day(local):
        return kept_local(local).date()
    return kept_local(local).replace(tzinfo=ZoneInfo(zone) if zone else None)


def _zones(things: Iterable[Thing]) -> Iterable[Timezone]:
    """The rules of every zone that is named, from the year before its first time to YEARS_AHEAD after its last."""
    days: dict[str, list[date]] = {}
    for zone, local in filter(None, map(_first_time, things)):
        days.setdefault(zone, []).append(kept_local(local).date())
    for zone, used in sorted(days.items()):
        first, last = date(min(used).year - 1, 1, 1), date(max(used).year + YEARS_AHEAD, 12, 31)
        yield timezone_of(ZoneInfo(zone), first, last)


def _first_time(thing: Thing) -> tuple[str, str] | None:
    """Zone and local time, of what has both and is no whole day."""
    match thing:
        case Event():
            local = thing.start
        case Reminder():
            local = _begins(thing)
        case Task():
            local = thing.due
        case Memo():
            return None
    return (thing.zone, local) if local and thing.zone not in {"", "UTC"} and not is_day(local) else None


def _begins(reminder: Reminder) -> str:
    """Local time that its rule counts from, or its only one."""
    return reminder.first if reminder.rrule and reminder.first else reminder.local


def _utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms // 1000, UTC)


def _uid(owner: str, id_: str) -> str:
    """Says nothing of who it is."""
    return f"{id_}-{hashlib.sha256(owner.encode()).hexdigest()[:16]}@koi"
