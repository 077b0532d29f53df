"""/agenda: events, tasks that are due and reminders of the coming days. Pure.

/agenda (today and the next seven days), /agenda 30 (days), /agenda e3 or r4 (one; of a task as /tasks shows it), /agenda
delete e3.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from itertools import islice

from schemas.reply import Button
from schemas.things import Event, Reminder, Task
from tools.agenda import Planned, Range, agenda, planned
from tools.calendar import span_text
from tools.firing import cancelled
from tools.reminders import repeats
from tools.times import kept_zone
from tools.tool import Here, Ran, Things
from workers.agenda_days import Row, days_text, rows_of, today
from workers.listing import (
    MOST_BUTTONS,
    Edit,
    Line,
    Listed,
    Order,
    Rows,
    Shown,
    deleted_text,
    looked_at_or_deleted,
    memo_lines,
    moment_of,
    not_there,
    nothing_found,
    open_button,
    order_of,
)
from workers.tasks_list import COMMAND as TASKS
from workers.tasks_list import tasks_answer
from workers.texts import say, say_n

COMMAND = "agenda"
DAYS, MORE_DAYS, MOST_DAYS = 7, 30, 366
MOST_ENTRIES = 5_000
"""Occurrences that are worked out for one answer: 0.2 s of a slow processor."""
NEXT_TIMES = 3


def agenda_answer(things: Things, argument: str, here: Here) -> Listed:
    """The answer to `/agenda ARGUMENT`."""
    order = order_of(argument)
    if not order.id:
        return _list(things, order, here)
    thing = things.by_id.get(order.id)
    if isinstance(thing, Task):
        return tasks_answer(things, argument, here)
    if not isinstance(thing, Event | Reminder):
        return not_there(COMMAND, order.id, here.language)

    def delete() -> Listed:
        return _deleted(thing, things, here)

    return looked_at_or_deleted(
        order, thing_text(thing, things, here), delete, _all(here.language), here, command=COMMAND
    )


# ── all ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _list(things: Things, order: Order, here: Here) -> Listed:
    if not planned(things):
        return Shown(_none(here))
    if not planned(things, order.words):
        return nothing_found(order.words, COMMAND, here.language)
    days = min(order.number or (MOST_DAYS if order.words else DAYS), MOST_DAYS)
    entries = agenda(things, _coming(days, here), order.words, most=MOST_ENTRIES)
    rows = rows_of(entries, today(here))
    further = _further(order, days, here.language)
    if not rows:
        return Shown(
            say_n(
                here.language,
                "Nothing today and tomorrow.",
                "Nothing today and in the {n} days after it.",
                days,
            ),
            further,
        )
    text = days_text(rows, here, is_all=len(entries) < MOST_ENTRIES)
    return Shown(text, (*_opened(rows, MOST_BUTTONS - len(further)), *further))


def _coming(days: int, here: Here) -> Range:
    """Today and the days after it, with what is late."""
    start = datetime.combine(today(here), time.min)
    return Range(start, start + timedelta(days=days + 1), here.zone, late=True)


def _none(here: Here) -> str:
    if here.private:
        return say(here.language, "Nothing is planned. Just write me, for instance: “Dentist on Friday at 10” or “Remind me tomorrow at 8 to take my pills.”")  # fmt: skip
    return say(here.language, "Nothing is planned in this group. Just write, for instance: “We meet on Friday at 10.”")  # fmt: skip


def _further(order: Order, days: int, language: str) -> Rows:
    """A row for the days after those that are shown."""
    if order.words or days >= MORE_DAYS:
        return ()
    label = say_n(language, "The next {n} day", "The next {n} days", MORE_DAYS)
    return ((Button(text=label, command=f"/{COMMAND} {MORE_DAYS}"),),)


def _opened(rows: Sequence[Row], most: int) -> Rows:
    """A row for each thing, the soonest first."""
    found = {row.entry.thing.id: row.entry.thing for row in rows}
    return tuple(
        open_button(TASKS if isinstance(thing, Task) else COMMAND, Line(thing.id, "", _title(thing)))
        for thing in islice(found.values(), most)
    )


# ── one ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def thing_text(thing: Event | Reminder, things: Things, here: Here) -> str:
    """All of one, with the memos about it."""
    language = here.language
    lines = [
        _title(thing),
        *(_event_lines(thing, here) if isinstance(thing, Event) else _reminder_lines(thing, here)),
    ]
    if thing.rrule:
        lines.append(_again(thing, here))
    if thing.project:
        lines.append(say(language, "Project: {name}", name=thing.project))
    lines += ["", thing.note] if isinstance(thing, Event) and thing.note else []
    lines += memo_lines(thing.id, things)
    return "\n".join([*lines, "", f"{thing.id} · {moment_of(thing.made_ms, here)}"])


def _event_lines(event: Event, here: Here) -> list[str]:
    lines = [say(here.language, "When: {when}", when=span_text(event, here))]
    return lines + ([say(here.language, "Where: {place}", place=event.place)] if event.place else [])


def _reminder_lines(reminder: Reminder, here: Here) -> list[str]:
    if reminder.due_ms:
        return [say(here.language, "When: {when}", when=moment_of(reminder.due_ms, here))]
    fired = moment_of(reminder.fired_ms or reminder.changed_ms, here)
    return [say(here.language, "Was due: {when}", when=fired)]


def _again(thing: Event | Reminder, here: Here) -> str:
    """What a rule means is seen best by when it occurs."""
    first = thing.start if isinstance(thing, Event) else thing.first
    zone = kept_zone(thing.zone, here.zone)
    said = repeats(first, thing.rrule, zone, here.now_ms, here, NEXT_TIMES)
    return said.removeprefix("\n") or say(here.language, "Repeats: not any more")


def _title(thing: Planned) -> str:
    return thing.text if isinstance(thing, Reminder) else thing.title


def _all(language: str) -> Button:
    return Button(text=say(language, "Agenda"), command=f"/{COMMAND}")


def _deleted(thing: Event | Reminder, things: Things, here: Here) -> Edit:
    text = deleted_text(_title(thing), thing.id, things, here.language)
    ran = cancelled(thing, here) if isinstance(thing, Reminder) else Ran("", drop=(thing.id,))
    return Edit(replace(ran, text=text), text, ((_all(here.language),),))
