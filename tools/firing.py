"""When a reminder fires, and what it is afterwards: next occurrence, snoozed, done, over. Pure.

`keys.due()` says when somebody has to look at a reminder; the reminder itself says what is to be done then. A reminder that
will not fire again stays for a week, so that it can be snoozed, and is then deleted by way of the same zset: its due_ms is 0,
its score the end of the week.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from infra import keys
from infra.effect import Effect
from schemas.things import Reminder
from tools.recurrence import firings_between, next_firing
from tools.times import kept_local, kept_zone, local_at, written
from tools.tool import Here, Ran, Refused

KEPT_MS = 7 * 24 * 3_600_000
"""How long a reminder that fired for the last time can be snoozed."""
LATE_MS = 2 * 60_000
"""From then on a reminder says that it is late: nobody was there to send it. Well above a busy worker's delay."""
LONGEST_SNOOZE_MS = 366 * 24 * 3_600_000
_SPAN = re.compile(r"(\d{1,4})\s*(m|min|h|d)", re.ASCII | re.IGNORECASE)
_UNIT_MS = {"m": 60_000, "min": 60_000, "h": 3_600_000, "d": 24 * 3_600_000}


@dataclass(frozen=True, slots=True)
class Fires:
    """It is due."""

    reminder: Reminder
    """As it is afterwards."""
    local: datetime
    """When it was due, as the clock in its zone shows it; naive."""
    late: bool
    missed: int
    """How many more times it was due since then."""


@dataclass(frozen=True, slots=True)
class Waits:
    """It is not due before then, ms."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Over:
    """It fired for the last time a week ago: it is deleted."""


type Due = Fires | Waits | Over


# ── keys.due() ───────────────────────────────────────────────────────────────────────────────────────────────────
def due_member(owner: str, id_: str) -> str:
    return f"{owner}|{id_}"


def owner_and_id(member: str) -> tuple[str, str]:
    """Of a member."""
    owner, _, id_ = member.rpartition("|")
    return owner, id_


def look_at(owner: str, id_: str, at_ms: int) -> Effect:
    """Somebody looks at the reminder then."""
    return Effect("ZADD", keys.due(), (at_ms, due_member(owner, id_)))


def look_no_more(owner: str, id_: str) -> Effect:
    return Effect("ZREM", keys.due(), (due_member(owner, id_),))


def looked_at_ms(reminder: Reminder) -> int:
    """Its score in keys.due()."""
    return reminder.due_ms or max(reminder.fired_ms, reminder.changed_ms) + KEPT_MS


# ── firing ───────────────────────────────────────────────────────────────────────────────────────────────────────
def decide(reminder: Reminder, now_ms: int) -> Due:
    """What is to be done with a reminder now.

    Raises: Refused: its rule is none that this process knows.
    """
    at_ms = looked_at_ms(reminder)
    if at_ms > now_ms:
        return Waits(at_ms)
    if not reminder.due_ms:
        return Over()
    zone = zone_of(reminder)
    missed = 0
    if reminder.rrule:
        first = kept_local(reminder.first)
        missed = firings_between(first, reminder.rrule, zone, reminder.due_ms, now_ms)
    return Fires(
        reminder=_after(reminder, now_ms).model_copy(update={"fired_ms": now_ms}),
        local=local_at(reminder.due_ms, zone),
        late=now_ms - reminder.due_ms >= LATE_MS,
        missed=missed,
    )


def _after(reminder: Reminder, now_ms: int) -> Reminder:
    """Waiting for its next occurrence; for nothing if there is none."""
    found = _next(reminder, now_ms)
    if found is None:
        return reminder.model_copy(update={"due_ms": 0})
    local, due_ms = found
    return reminder.model_copy(update={"local": written(local), "due_ms": due_ms})


def _next(reminder: Reminder, now_ms: int) -> tuple[datetime, int] | None:
    if not reminder.rrule:
        return None
    return next_firing(kept_local(reminder.first), reminder.rrule, zone_of(reminder), now_ms)


def zone_of(reminder: Reminder) -> ZoneInfo:
    """UTC if this machine does not know it: due_ms is right all the same."""
    return kept_zone(reminder.zone, ZoneInfo("UTC"))


# ── what people do with one ──────────────────────────────────────────────────────────────────────────────────────
def read_span(text: str) -> int:
    """ "10m", "1h", "1d" in ms, at most a year. Raises: Refused."""
    shape = _SPAN.fullmatch(text.strip())
    span_ms = int(shape[1]) * _UNIT_MS[shape[2].lower()] if shape else 0
    if not 0 < span_ms <= LONGEST_SNOOZE_MS:
        raise Refused(f"{text[:20]!r} is no span; write 10m, 1h or 1d.")
    return span_ms


def snoozed(reminder: Reminder, span_ms: int, here: Here) -> Ran:
    """It fires again after `span_ms`. An occurrence that comes before is not held back: then it is that."""
    at_ms, due = here.now_ms + span_ms, _next(reminder, here.now_ms)
    if due is not None and due[1] <= at_ms:
        update = {"local": written(due[0]), "due_ms": due[1]}
    elif due is not None:
        update = {"local": written(due[0]), "due_ms": at_ms}
    else:
        local = local_at(at_ms, zone_of(reminder)).replace(second=0)
        update = {"local": written(local), "due_ms": at_ms}
    return _put(reminder.model_copy(update=update), here)


def done(reminder: Reminder, here: Here) -> Ran:
    """Over, and deleted, if nothing comes after; a recurring one stays and waits for its next occurrence, snoozed or not."""
    new = _after(reminder, here.now_ms)
    return _put(new, here) if new.due_ms else cancelled(reminder, here)


def cancelled(reminder: Reminder, here: Here) -> Ran:
    """Deleted."""
    return Ran("", drop=(reminder.id,), effects=(look_no_more(here.owner, reminder.id),))


def _put(reminder: Reminder, here: Here) -> Ran:
    new = reminder.model_copy(update={"changed_ms": here.now_ms})
    return Ran("", put=(new,), effects=(look_at(here.owner, new.id, looked_at_ms(new)),))
