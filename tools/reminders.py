"""Reminders: messages that are sent at a wall-clock time, once or again and again. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from schemas.things import Reminder
from tools.fields import OneLine, answer, filled
from tools.firing import cancelled, look_at, zone_of
from tools.lookup import find, find_any, label
from tools.recurrence import first_of, next_firing
from tools.rule import canonical
from tools.texts import say
from tools.times import (
    Fold,
    When,
    at_ms,
    for_model,
    for_people,
    future,
    is_day,
    kept_local,
    local_at,
    now_line,
    read_when,
    written,
    zone_named,
)
from tools.tool import Arguments, Here, Ran, Refused, Things, Tool, new_id

WAITING_MOST = 100
"""Reminders of one owner that will fire."""
TEXT_CHARS = 1_000
SHOWN_TIMES = 2
"""Occurrences that a preview names besides the first."""

type ReminderText = Annotated[str, Field(min_length=1, max_length=TEXT_CHARS)]


# ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────
class CreateReminder(Arguments):
    text: ReminderText
    at: OneLine = Field(description="2026-12-01T08:00, local")
    zone: OneLine = Field("", description="IANA")
    rrule: OneLine = Field("", description="RFC 5545, to repeat")
    about: OneLine = Field("", description="id, e.g. t17")
    fold: Fold | None = None


def create_reminder(asked: CreateReminder, here: Here, things: Things) -> Ran:
    made = _new(asked, here, things)
    return Ran(
        answer(made="reminder", **row(made)),
        put=(made,),
        effects=(look_at(here.owner, made.id, made.due_ms),),
    )


def preview_create(asked: CreateReminder, here: Here, things: Things) -> str:
    return say(here.language, "New reminder: {reminder}", reminder=told(_new(asked, here, things), here))


def _new(asked: CreateReminder, here: Here, things: Things) -> Reminder:
    waiting = sum(isinstance(thing, Reminder) and thing.due_ms > 0 for thing in things.by_id.values())
    if waiting >= WAITING_MOST:
        raise Refused(
            f"There are {WAITING_MOST} reminders waiting, the most there may be; cancel some first."
        )
    about = find_any(asked.about, things).id if asked.about else ""
    timing = _recurring(asked, here) if asked.rrule else _once(asked, here)
    return Reminder(
        id=new_id("r", things), text=asked.text, about=about, lane=here.lane, language=here.language,
        project=here.project, made_ms=here.now_ms, changed_ms=here.now_ms,
        local=timing.local, zone=timing.zone, due_ms=timing.due_ms, rrule=timing.rrule, first=timing.first,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Timing:
    """Fields of Reminder."""

    local: str
    zone: str
    due_ms: int
    rrule: str = ""
    first: str = ""


def _once(asked: CreateReminder, here: Here) -> _Timing:
    at = _of_a_day(future(asked.at, asked.zone, here, asked.fold))
    return _Timing(at.text, at.zone.key, at.ms)


def _recurring(asked: CreateReminder, here: Here) -> _Timing:
    """A rule may begin in the past or in a gap; what counts is its first occurrence from now on.

    Raises: Refused.
    """
    at, rrule = _of_a_day(read_when(asked.at, zone_named(asked.zone, here))), canonical(asked.rrule)
    first = first_of(at.local, rrule, at.zone)
    found = next_firing(first, rrule, at.zone, here.now_ms)
    if found is None:
        raise Refused(f"The rrule {rrule} never occurs again; it is {now_line(here, at.zone)} now.")
    local, due_ms = found
    if local == first and asked.fold == "second":
        due_ms = When(local, at.zone, second=True).ms
    return _Timing(written(local), at.zone.key, due_ms, rrule, written(first))


def _of_a_day(at: When) -> When:
    if at.whole_day:
        raise Refused(f"{at.text} has no time of day; write {at.text}T08:00, or ask when.")
    return at


# ── cancel ───────────────────────────────────────────────────────────────────────────────────────────────────────
class CancelReminder(Arguments):
    id: OneLine = Field(description="e.g. r4")


def cancel_reminder(asked: CancelReminder, here: Here, things: Things) -> Ran:
    found = find(Reminder, asked.id, things)
    ran = cancelled(found, here)
    return Ran(answer(cancelled=found.id, text=label(found)), drop=ran.drop, effects=ran.effects)


def preview_cancel(asked: CancelReminder, here: Here, things: Things) -> str:
    found = find(Reminder, asked.id, things)
    return say(here.language, "Cancel reminder: {reminder}", reminder=told(found, here))


# ── as they are read ─────────────────────────────────────────────────────────────────────────────────────────────
def row(reminder: Reminder) -> dict[str, Any]:
    """For the model; without what is not set."""
    return filled(
        id=reminder.id,
        text=reminder.text,
        at=for_model(reminder.local),
        zone=reminder.zone,
        rrule=reminder.rrule,
        about=reminder.about,
        fired="" if reminder.due_ms else "yes",
    )


def told(reminder: Reminder, here: Here) -> str:
    """As a person reads it: "Tue, 1 Dec, 08:00 · Take the pills"; of a recurring one also when it comes after that."""
    zone = zone_of(reminder)
    at = written(local_at(at_ms(kept_local(reminder.local), zone), zone))
    line = f"{for_people(at, zone, here.zone, here.language, here.now_ms)} · {reminder.text}"
    return line + repeats(reminder.first, reminder.rrule, zone, reminder.due_ms, here)


def repeats(
    first: str, rrule: str, zone: ZoneInfo, after_ms: int, here: Here, most: int = SHOWN_TIMES
) -> str:
    """A line that names the next occurrences, begun on a new line; "" if there are none, or the rule cannot be read (of
    another release). People see best by them what a rule means.
    """
    found = list(islice(_next_times(first, rrule, zone, after_ms), most + 1))
    if not found:
        return ""
    times = "; ".join(for_people(text, zone, here.zone, here.language, here.now_ms) for text in found[:most])
    return "\n" + say(here.language, "Repeats: {times}", times=times + (" …" if len(found) > most else ""))


def _next_times(first: str, rrule: str, zone: ZoneInfo, after_ms: int) -> Iterator[str]:
    """As the clock shows them."""
    while rrule:
        try:
            found = next_firing(kept_local(first), rrule, zone, after_ms)
        except Refused:
            return
        if found is None:
            return
        local, after_ms = found
        yield written(local if is_day(first) else local_at(after_ms, zone), whole_day=is_day(first))


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "create_reminder",
        "Send a message at a time.",
        CreateReminder,
        create_reminder,
        preview=preview_create,
    ),
    Tool("cancel_reminder", "Delete a reminder.", CancelReminder, cancel_reminder, preview=preview_cancel),
)
