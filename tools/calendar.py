"""The calendar: events at local times, once or recurring, and the agenda. Pure."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from schemas.things import Event, Reminder
from tools.agenda import Entry, Range, agenda
from tools.fields import OneLine, Text, Title, answer, filled
from tools.lookup import find, label, things_about
from tools.recurrence import DAY, first_of, next_firing
from tools.reminders import repeats
from tools.rule import canonical
from tools.texts import say
from tools.times import (
    Fold,
    When,
    at_ms,
    exact,
    for_model,
    for_people,
    is_day,
    kept_local,
    kept_zone,
    local_at,
    now_line,
    read_when,
    written,
    zone_named,
)
from tools.tool import Arguments, Here, Ran, Refused, Things, Tool, new_id

EVENTS_MOST = 500
"""Of one owner."""
PLACE_CHARS = 200
ROWS_MOST = 50
"""Of an agenda."""
WEEK, YEAR = timedelta(days=7), timedelta(days=366)
OLDEST_COUNT = 10 * YEAR
"""A rule with COUNT is counted from its start each time it is looked at; others are looked up where they are needed."""

type Place = Annotated[OneLine, Field(max_length=PLACE_CHARS)]


# ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────
class CreateEvent(Arguments):
    title: Title
    start: OneLine = Field(description="2026-12-01T08:00 local, or 2026-12-01: all day")
    end: OneLine = ""
    zone: OneLine = Field("", description="IANA")
    place: Place = ""
    note: Text = ""
    rrule: OneLine = Field("", description="RFC 5545")
    fold: Fold | None = None


def create_event(asked: CreateEvent, here: Here, things: Things) -> Ran:
    made = _new(asked, here, things)
    return Ran(answer(made="event", **row(made)), put=(made,))


def preview_create(asked: CreateEvent, here: Here, things: Things) -> str:
    return say(here.language, "New event: {event}", event=told(_new(asked, here, things), here))


def _new(asked: CreateEvent, here: Here, things: Things) -> Event:
    if sum(isinstance(thing, Event) for thing in things.by_id.values()) >= EVENTS_MOST:
        raise Refused(f"There are {EVENTS_MOST} events already, the most there may be; delete some first.")
    event = Event(
        id=new_id("e", things), title=asked.title, place=asked.place, note=asked.note, project=here.project,
        start=asked.start, end=asked.end, zone=asked.zone, rrule=asked.rrule,
        made_ms=here.now_ms, changed_ms=here.now_ms,
    )  # fmt: skip
    return _timed(event, here, asked.fold)


def _timed(event: Event, here: Here, fold: Fold | None) -> Event:
    """The event with the times that were asked for, as they are kept. Raises: Refused."""
    zone = zone_named(event.zone, here)
    rrule = canonical(event.rrule) if event.rrule else ""
    start = read_when(event.start, zone) if rrule else exact(event.start, event.zone, here, fold)
    length = _length(start, event.end, zone)
    if "COUNT=" in rrule and start.local < local_at(here.now_ms, zone) - OLDEST_COUNT:
        raise Refused("With COUNT start must lie within the last ten years; leave COUNT out, or use UNTIL.")
    if rrule:
        start = When(first_of(start.local, rrule, zone), zone, start.whole_day)
    _refuse_past(start, length or timedelta(), rrule, here)
    end = "" if length is None else written(start.local + length, whole_day=start.whole_day)
    return event.model_copy(
        update={
            "start": start.text, "end": end, "zone": zone.key, "rrule": rrule,
            "fold": "second" if start.second else "first",
        }
    )  # fmt: skip


def _length(start: When, end_text: str, zone: ZoneInfo) -> timedelta | None:
    """None: no end was said. Raises: Refused."""
    if not end_text:
        return None
    end = read_when(end_text, zone)
    if end.whole_day != start.whole_day:
        kind = "a day" if start.whole_day else "a date-time"
        raise Refused(f"start and end must be of the same kind: end must be {kind} as start is.")
    if end.local < start.local or (end.local == start.local and not start.whole_day):
        raise Refused(f"end {end.text} must be after start {start.text}.")
    return end.local - start.local


def _refuse_past(start: When, length: timedelta, rrule: str, here: Here) -> None:
    """It must not be over, nor its last occurrence."""
    over = start.local + length + (DAY if start.whole_day else timedelta())
    if rrule:
        since_ms = at_ms(local_at(here.now_ms, start.zone) - (over - start.local), start.zone)
        if next_firing(start.local, rrule, start.zone, since_ms) is None:
            raise Refused(f"The rrule {rrule} never occurs again; it is {now_line(here, start.zone)} now.")
    elif at_ms(over, start.zone, second=start.second) <= here.now_ms:
        raise Refused(f"{start.text} is past; it is {now_line(here, start.zone)} now.")


# ── update ───────────────────────────────────────────────────────────────────────────────────────────────────────
class UpdateEvent(Arguments):
    id: OneLine = Field(description="e.g. e3")
    title: Title | None = None
    start: OneLine | None = None
    end: OneLine | None = Field(None, description='"" clears')
    zone: OneLine | None = None
    place: Place | None = None
    note: Text | None = Field(None, description="replaces the old")
    rrule: OneLine | None = None
    fold: Fold | None = None
    status: Literal["kept", "deleted"] = "kept"


def update_event(asked: UpdateEvent, here: Here, things: Things) -> Ran:
    event = find(Event, asked.id, things)
    if asked.status == "deleted":
        related = tuple(thing.id for thing in things_about(event.id, things))
        return Ran(answer(deleted=event.id, title=event.title, still_kept_about_it=related), drop=(event.id,))
    new = _changed(event, asked, here)
    if new == event:
        return Ran(answer(unchanged="event", **row(event)))
    return Ran(answer(changed="event", **row(new)), put=(new,))


def preview_update(asked: UpdateEvent, here: Here, things: Things) -> str:
    event = find(Event, asked.id, things)
    if asked.status == "deleted":
        return say(here.language, "Delete event: {event}", event=told(event, here))
    new = _changed(event, asked, here)
    return say(here.language, "Change event {old}: {event}", old=label(event), event=told(new, here))


_TIMES = {"start", "end", "zone", "rrule", "fold"}


def _changed(event: Event, asked: UpdateEvent, here: Here) -> Event:
    """The event as it will be; the same value if it is so already. A new start moves the end with it. Raises: Refused."""
    given = {name: value for name, value in asked if name not in {"id", "status"} and value is not None}
    if not given:
        raise Refused(
            f"Nothing to change in {event.id} was given; give title, start, end, place, note or status."
        )
    if "start" in given and event.end and "end" not in given:
        given["end"] = _end_moved(event, given["start"], here)
    if not given.get("zone", event.zone):
        given["zone"] = here.zone.key
    fold = given.pop("fold", None)
    new = event.model_copy(update=given)
    if _TIMES & given.keys():
        new = _timed(new, here, fold or (event.fold if new.start == event.start else None))
    return event if new == event else new.model_copy(update={"changed_ms": here.now_ms})


def _end_moved(event: Event, start: str, here: Here) -> str:
    """As long after the new start as it was after the old; "" if it is of days now, or was."""
    begin = read_when(start, here.zone)
    if begin.whole_day != is_day(event.start):
        return ""
    return written(begin.local + (kept_local(event.end) - kept_local(event.start)), whole_day=begin.whole_day)


# ── agenda ───────────────────────────────────────────────────────────────────────────────────────────────────────
class ListAgenda(Arguments):
    first_day: OneLine = Field("", description="default today")
    last_day: OneLine = Field("", description="default in a week")
    query: OneLine = ""


def list_agenda(asked: ListAgenda, here: Here, things: Things) -> Ran:
    within = _range(asked, here)
    entries = agenda(things, within, asked.query, most=ROWS_MOST + 1)
    rows = [_agenda_row(entry, here) for entry in entries[:ROWS_MOST]]
    return Ran(
        answer(
            first_day=for_model(within.start.date().isoformat()),
            last_day=for_model((within.end - DAY).date().isoformat()),
            more=f"only the first {ROWS_MOST} are here" if len(entries) > ROWS_MOST else "",
            entries=rows or "none",
        )
    )


def _range(asked: ListAgenda, here: Here) -> Range:
    """Whole days; of a query without days, the year ahead. Raises: Refused."""
    today = local_at(here.now_ms, here.zone).replace(hour=0, minute=0, second=0)
    start = _day(asked.first_day, here) if asked.first_day else today
    last = _day(asked.last_day, here) if asked.last_day else start + (YEAR if asked.query else WEEK)
    if not start <= last <= start + YEAR:
        raise Refused("last_day must not be before first_day, nor more than a year after it.")
    return Range(start, last + DAY, here.zone)


def _day(text: str, here: Here) -> datetime:
    return read_when(text, here.zone).local.replace(hour=0, minute=0, second=0)


# ── as they are read ─────────────────────────────────────────────────────────────────────────────────────────────
def row(event: Event) -> dict[str, Any]:
    """For the model; without what is not set."""
    return filled(
        id=event.id,
        title=event.title,
        start=for_model(event.start),
        end=for_model(event.end) if event.end else "",
        zone=event.zone,
        rrule=event.rrule,
        place=event.place,
        note=event.note,
        project=event.project,
    )


def _agenda_row(entry: Entry, here: Here) -> dict[str, Any]:
    """For the model, in the person's zone; of another zone also how it is kept."""
    thing = entry.thing
    values = {
        "id": thing.id,
        "kind": entry.kind,
        "at": for_model(written(entry.start, whole_day=entry.whole_day)),
        "end": for_model(written(entry.end, whole_day=entry.whole_day)) if entry.end else "",
        "title": label(thing) if isinstance(thing, Reminder) else thing.title,
        "rrule": getattr(thing, "rrule", ""),
    }
    if isinstance(thing, Event):
        values |= {"place": thing.place, "note": thing.note}
        if thing.zone != here.zone.key and not entry.whole_day:
            values |= {"zone": thing.zone, "start_there": thing.start}
    return filled(**values)


def told(event: Event, here: Here) -> str:
    """As a person reads it: "Tue, 1 Dec, 08:00–09:30 · Dentist", then place, note and when it comes again."""
    zone = kept_zone(event.zone, here.zone)
    lines = [f"{span_text(event, here)} · {event.title}", event.place, event.note]
    start = kept_local(event.start)
    again = repeats(event.start, event.rrule, zone, at_ms(start, zone), here)
    return "\n".join(line for line in lines if line) + again


def span_text(event: Event, here: Here) -> str:
    """ "Tue, 1 Dec, 08:00–09:30"."""
    zone = kept_zone(event.zone, here.zone)

    def said(text: str) -> str:
        return for_people(text, zone, here.zone, here.language, here.now_ms)

    if not event.end or event.end == event.start:
        return said(event.start)
    if not is_day(event.end) and event.end[:10] == event.start[:10]:
        return f"{said(event.start)}–{kept_local(event.end):%H:%M}"
    return f"{said(event.start)} – {said(event.end)}"


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "create_calendar_event",
        "Put something into the calendar; it sends no reminder.",
        CreateEvent,
        create_event,
        preview=preview_create,
    ),
    Tool(
        "update_calendar_event",
        "Change, move or delete an event.",
        UpdateEvent,
        update_event,
        preview=preview_update,
    ),
    Tool(
        "list_agenda",
        "Events, due tasks and reminders of some days.",
        ListAgenda,
        list_agenda,
        changes=False,
    ),
)
