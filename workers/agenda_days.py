"""/agenda as it is read: a heading for each day that has something, and a line for each thing on it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from schemas.things import Event, Reminder, Task
from tools.agenda import Entry
from tools.times import for_people, kept_zone, local_at, written
from tools.tool import Here
from workers.listing import brief
from workers.tasks_list import due_text
from workers.texts import say, say_n

MOST_LINES = 40
"""Of one answer; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Row:
    """A thing on a day."""

    day: date
    """Where it is shown: the first day, if it has begun or was due before."""
    entry: Entry
    times: int
    """How often it is on that day; `entry` is the first."""


def today(here: Here) -> date:
    return local_at(here.now_ms, here.zone).date()


def rows_of(entries: Iterable[Entry], first: date) -> list[Row]:
    """In order, whole days first. What is several times on one day is one row; several days in a row are one, too."""
    found: dict[tuple[date, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((max(entry.start.date(), first), entry.thing.id), []).append(entry)
    rows = [Row(day, same[0], len(same)) for (day, _), same in found.items()]
    return sorted(rows, key=_order)


def _order(row: Row) -> tuple[date, bool, datetime, str]:
    return row.day, not row.entry.whole_day, row.entry.start, row.entry.thing.id


def days_text(rows: Sequence[Row], here: Here, *, is_all: bool = True) -> str:
    """is_all: False: there are more rows than these, nobody knows how many."""
    lines = list[str]()
    for day, of_day in groupby(rows[:MOST_LINES], key=lambda row: row.day):
        lines += ["", _heading(day, here), *(_line(row, here) for row in of_day)]
    if len(rows) > MOST_LINES:
        left = len(rows) - MOST_LINES
        counted = say_n(here.language, "and {n} more", "and {n} more", left)
        lines += ["", f"… {counted if is_all else say(here.language, 'and many more')}"]
    return "\n".join(lines[1:])


def _heading(day: date, here: Here) -> str:
    said = _said(day.isoformat(), here)
    match (day - today(here)).days:
        case 0:
            return say(here.language, "Today, {day}", day=said)
        case 1:
            return say(here.language, "Tomorrow, {day}", day=said)
        case _:
            return said


def _line(row: Row, here: Here) -> str:
    """ "10:00–10:45 Dentist · Room 3 · e2"."""
    parts = _parts(row, here)
    if row.times > 1:
        parts.append(say_n(here.language, "{n} time that day", "{n} times that day", row.times))
    return " · ".join([*parts, row.entry.thing.id])


def _parts(row: Row, here: Here) -> list[str]:
    entry = row.entry
    match entry.thing:
        case Event() as event:
            place = [brief(event.place)] if event.place else []
            if entry.whole_day:
                return [f"• {brief(event.title)}", *_until(entry, here), *place]
            return [f"{_hours(entry, here)} {brief(event.title)}", *place, *_elsewhere(entry, event, here)]
        case Task() as task:
            return _task_parts(row, task, here)
        case Reminder() as reminder:
            return [f"{clock_time(entry.start)} ⏰ {brief(reminder.text)}"]


def _task_parts(row: Row, task: Task, here: Here) -> list[str]:
    """Without its date on the day when it is due."""
    title = f"☐ {brief(task.title)}"
    if row.entry.start.date() < row.day:
        return [title, due_text(task, here)]
    return [title if row.entry.whole_day else f"{clock_time(row.entry.start)} {title}"]


def _until(entry: Entry, here: Here) -> list[str]:
    """The last of several days."""
    if not entry.end or entry.end <= entry.start:
        return []
    return [say(here.language, "until {when}", when=_said(written(entry.end, whole_day=True), here))]


def _hours(entry: Entry, here: Here) -> str:
    """ "10:00", "10:00–11:00", of several days "10:00 – Tue, 1 Dec, 12:00"."""
    said, end = clock_time(entry.start), entry.end
    if end is None or end <= entry.start:
        return said
    if end.date() == entry.start.date():
        return f"{said}–{clock_time(end)}"
    return f"{said} – {_said(written(end), here)}"


def _elsewhere(entry: Entry, event: Event, here: Here) -> list[str]:
    """What the clock shows in the zone that was meant, if it is another one."""
    if entry.there is None or entry.there == entry.start:
        return []
    return [f"{clock_time(entry.there)} {kept_zone(event.zone, here.zone).key}"]


def clock_time(local: datetime) -> str:
    """ "08:00"."""
    return f"{local:%H:%M}"


def _said(local: str, here: Here) -> str:
    """A time or day of the person's own zone."""
    return for_people(local, here.zone, here.zone, here.language, here.now_ms)
