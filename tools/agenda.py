"""What stands in the calendar on some days: events with all their occurrences, tasks that are due, reminders. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Literal
from zoneinfo import ZoneInfo

from schemas.things import Event, Memo, Reminder, Task
from tools.fields import matches
from tools.firing import zone_of
from tools.recurrence import DAY, between
from tools.times import at_ms, is_day, kept_local, kept_zone, local_at
from tools.tool import Refused, Things

type Kind = Literal["event", "task", "reminder"]
type Planned = Event | Task | Reminder
"""What may stand in a calendar."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: an occurrence, or what is due."""

    start: datetime
    """Naive, in the zone of whoever reads it, as its clock shows it: what a gap skips is moved. Of whole days the beginning of
    the first, as it is anywhere.
    """
    thing: Planned
    end: datetime | None = None
    """The same, of an event that has one; of whole days the last one."""
    whole_day: bool = False
    there: datetime | None = None
    """`start` in the event's own zone; None: of whole days, and of what is no event."""

    @property
    def kind(self) -> Kind:
        match self.thing:
            case Event():
                return "event"
            case Task():
                return "task"
            case Reminder():
                return "reminder"


@dataclass(frozen=True, slots=True)
class Range:
    """From a moment to before another."""

    start: datetime
    """Naive, in `zone`."""
    end: datetime
    zone: ZoneInfo
    late: bool = False
    """With what was due before and still waits: open tasks, reminders that have not fired."""

    def holds(self, start: datetime, end: datetime) -> bool:
        """Wall times of the zone: something of it lies within."""
        return start < self.end and (start >= self.start or end > self.start)

    def holds_due(self, start: datetime, end: datetime) -> bool:
        """The same, of what waits."""
        return self.holds(start, end) or (self.late and start < self.start)


def agenda(things: Things, within: Range, query: str = "", *, most: int) -> list[Entry]:
    """In order of time, whole days first; of all that there is the first `most`, and no more than these is worked out."""
    found = merge(*(_entries(thing, within) for thing in planned(things, query)), key=_order)
    return list(islice(found, most))


def _order(entry: Entry) -> tuple[datetime, bool]:
    return entry.start, not entry.whole_day


def planned(things: Things, query: str = "") -> list[Planned]:
    """What has a time, whenever that is: events, reminders (also those that fired), open tasks that are due some day."""
    return [
        thing
        for thing in things.by_id.values()
        if not isinstance(thing, Memo)
        and (not isinstance(thing, Task) or (thing.due and not thing.done_ms))
        and matches(query, *_texts(thing))
    ]


def _texts(thing: Planned) -> tuple[str, ...]:
    match thing:
        case Event():
            return thing.title, thing.place, thing.note
        case Task():
            return thing.title, thing.note
        case Reminder():
            return (thing.text,)


def _entries(thing: Planned, within: Range) -> Iterator[Entry]:
    match thing:
        case Event() if is_day(thing.start):
            return _of_days(thing, within)
        case Event():
            return _of_event(thing, within)
        case Task():
            return _of_task(thing, within)
        case Reminder():
            return _of_reminder(thing, within)


def _of_task(task: Task, within: Range) -> Iterator[Entry]:
    whole_day, start = is_day(task.due), kept_local(task.due)
    if not whole_day:
        start = local_at(at_ms(start, kept_zone(task.zone, within.zone)), within.zone)
    if within.holds_due(start, start + DAY if whole_day else start):
        yield Entry(start, task, whole_day=whole_day)


def _of_reminder(reminder: Reminder, within: Range) -> Iterator[Entry]:
    """A snoozed one stands where it fires; an occurrence of its rule before that does not fire. What a gap moves onto
    another occurrence fires once.
    """
    if not reminder.due_ms:
        return
    zone, last_ms = zone_of(reminder), reminder.due_ms
    due = local_at(last_ms, within.zone)
    if within.holds_due(due, due):
        yield Entry(due, reminder)
    if not reminder.rrule:
        return
    for local in _occurrences(reminder.first, reminder.rrule, zone, within, timedelta()):
        ms = at_ms(local, zone)
        start = local_at(ms, within.zone)
        if ms > last_ms and within.holds(start, start):
            last_ms = ms
            yield Entry(start, reminder)


def _of_days(event: Event, within: Range) -> Iterator[Entry]:
    """Days are days, whatever the zone."""
    length = _length(event)
    for start in _starts(event, within.zone, within, length):
        if within.holds(start, start + length + DAY):
            yield Entry(start, event, start + length if event.end else None, whole_day=True)


def _of_event(event: Event, within: Range) -> Iterator[Entry]:
    length, zone = _length(event), kept_zone(event.zone, within.zone)
    second = not event.rrule and event.fold == "second"
    for local in _starts(event, zone, within, length):
        ms = at_ms(local, zone, second=second)
        start, end = local_at(ms, within.zone), local_at(at_ms(local + length, zone), within.zone)
        if within.holds(start, end):
            yield Entry(start, event, end if event.end else None, there=local_at(ms, zone))


def _length(event: Event) -> timedelta:
    return kept_local(event.end) - kept_local(event.start) if event.end else timedelta()


def _starts(event: Event, zone: ZoneInfo, within: Range, length: timedelta) -> Iterator[datetime]:
    if event.rrule:
        return _occurrences(event.start, event.rrule, zone, within, length)
    return iter((kept_local(event.start),))


def _occurrences(
    first: str, rrule: str, zone: ZoneInfo, within: Range, length: timedelta
) -> Iterator[datetime]:
    """Of the rule, in its own zone, all that may lie within: zones are less than two days apart. With a rule that cannot be
    read (of another release) it occurs once.
    """
    try:
        yield from between(
            kept_local(first), rrule, zone, within.start - length - 2 * DAY, within.end + 2 * DAY
        )
    except Refused:
        yield kept_local(first)
