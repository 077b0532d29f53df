"""What a person asked to be kept: tasks, memos, events of the calendar, reminders, facts. Kept until they are deleted.

All belong to a memory owner (InboundMessage.owner) and have short ids of their own there ("t17"), which models and people
use. Local times are written as people say them, without an offset: "2026-12-01T08:00", or "2026-12-01" for a whole day;
`zone` is the IANA zone they are meant in.
"""

from typing import Literal

from schemas.wire import WireModel

type Priority = Literal["low", "normal", "high"]


class Task(WireModel):
    """Something to be done; also an item of a list ("bread" of "shopping")."""

    v: Literal[1] = 1
    id: str
    """ "t17"."""
    title: str
    note: str = ""
    list_name: str = ""
    """ "shopping"; "" for the tasks that have none."""
    due: str = ""
    """Local date or date-time; "" for none."""
    zone: str = ""
    priority: Priority = "normal"
    done_ms: int = 0
    """When it was done; 0: it is open."""
    project: str = ""
    made_ms: int
    changed_ms: int


class Memo(WireModel):
    """A note."""

    v: Literal[1] = 1
    id: str
    """ "m2"."""
    text: str
    title: str = ""
    about: str = ""
    """Id of the task, event or reminder that it belongs to; "" for none."""
    project: str = ""
    made_ms: int
    changed_ms: int


class Event(WireModel):
    """An entry of the calendar."""

    v: Literal[1] = 1
    id: str
    """ "e3"."""
    title: str
    start: str
    """Local date-time, or date for whole days."""
    end: str = ""
    """The same; of whole days the last one; "": none was said."""
    zone: str
    rrule: str = ""
    """RFC 5545, without "RRULE:"; "" for once."""
    fold: Literal["first", "second"] = "first"
    """Which of the two, if the clock shows `start` twice."""
    place: str = ""
    note: str = ""
    project: str = ""
    made_ms: int
    changed_ms: int


class Reminder(WireModel):
    """A message that is sent at a wall-clock time."""

    v: Literal[1] = 1
    id: str
    """ "r4"."""
    text: str
    local: str
    """Local date-time of the occurrence that comes next; of the last one, if none does."""
    zone: str
    rrule: str = ""
    """RFC 5545, without "RRULE:"; "" for once."""
    first: str = ""
    """Local date-time that the rule counts from; "" without a rule."""
    due_ms: int
    """When it fires next, ms since 1970 by koi's clock; of a snooze, that; 0: it will not."""
    fired_ms: int = 0
    """When it fired last; 0: it has not."""
    about: str = ""
    """Id of a task or event; "" for none."""
    lane: str
    """`bot:chat:topic` where it is sent."""
    language: str = "en"
    project: str = ""
    made_ms: int
    changed_ms: int


class Fact(WireModel):
    """One thing to be known of a person (only with `tools.facts`)."""

    v: Literal[1] = 1
    id: str
    """ "f5"."""
    subject: str
    """What it is about, in a word or two ("diet"): a newer fact of the same subject takes its place."""
    text: str
    at_ms: int
    before: str = ""
    """What was held true until `at_ms`; "" for nothing."""


type Thing = Task | Memo | Event | Reminder
