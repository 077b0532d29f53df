"""What will happen by itself: reminders of people, and koi's own periodic jobs with what came of their last run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dashboard.actions import RunReminder, field_of, stamp_of
from dashboard.figures import moment_text
from dashboard.names import read_names
from dashboard.recurrence import rule_words
from dashboard.shared import Shared
from infra import keys
from infra.deliver import deliver
from infra.effect import Effect, Expect
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.together import checked, together
from schemas.life import JobRun
from schemas.things import Reminder
from schemas.wire import NewerVersion, NotReadable, WireModel, load

MOST = 100
"""Reminders shown, those that are due first."""
JOBS: Mapping[str, float] = {"reminders": 1, "beat": 5, "dead": 5, "mail": 5, "expire": 30, "sweep": 30}
"""koi's own (workers.upkeep): name → how often it runs, seconds."""
LATE_MS = 3 * 60_000
"""Runs that did nothing are written down once a minute: only after this is one missing."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A reminder that will be sent."""

    reminder: Reminder
    owner: str
    name: str
    """Whose it is."""
    when: str
    """Next time, in the zone it was meant in."""
    recurs: str
    """ "": once."""
    run_field: str
    """Of the form that sends it now."""
    delete_field: str
    """Of the form that deletes it: what was seen, a space, `owner|id`."""


@dataclass(frozen=True, slots=True)
class Job:
    """One of koi's own."""

    name: str
    every_ms: int
    run: JobRun | None
    """The last; None: none is known."""
    is_on: bool = True
    """The settings want it."""

    def is_late(self, now_ms: int) -> bool:
        """It should have run again."""
        return self.run is not None and now_ms - self.run.at_ms > self.every_ms + LATE_MS


@dataclass(frozen=True, slots=True)
class Schedules:
    """All there is."""

    planned: Sequence[Planned]
    more: int
    """Reminders that are due later than those shown."""
    unreadable: int
    jobs: Sequence[Job]


# ── pure ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def planned_of(raw: bytes, owner: str, name: str, language: str, house: tzinfo) -> Planned | None:
    """None: it fired for the last time, and stays only to be snoozed.

    Raises: NotReadable, NewerVersion.
    """
    reminder = load(Reminder, raw)
    if not reminder.due_ms:
        return None
    zone = zone_of(reminder.zone, house)
    seen = stamp_of(raw)
    return Planned(
        reminder,
        owner,
        name,
        f"{moment_text(reminder.due_ms, zone, language)} {reminder.zone}".strip(),
        rule_words(reminder.rrule, language),
        field_of(RunReminder(owner, reminder.id, seen)),
        f"{seen} {owner}|{reminder.id}",
    )


def zone_of(name: str, house: tzinfo) -> tzinfo:
    """`house` if this machine does not know the zone."""
    try:
        return ZoneInfo(name) if name else house
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return house


def jobs_of(raws: Mapping[str, bytes | None], settings: Settings) -> tuple[Job, ...]:
    """raws: what stands at keys.ran() of each of JOBS."""
    has_mail = bool(settings.alert_email)
    return tuple(
        Job(name, round(every_s * 1000), _readable(JobRun, raws.get(name)), is_on=name != "mail" or has_mail)
        for name, every_s in JOBS.items()
    )


def _readable[W: WireModel](model: type[W], raw: bytes | None) -> W | None:
    try:
        return None if raw is None else load(model, raw)
    except (NotReadable, NewerVersion):
        return None


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def read_schedules(shared: Shared, language: str) -> Schedules:
    """Three round trips. Raises what redis-py raises."""
    names = await read_names(shared)
    total, members, *runs = checked(
        await together(shared.redis).run(
            ("ZCARD", keys.due()),
            ("ZRANGE", keys.due(), 0, MOST - 1),
            *(("GET", keys.ran(name)) for name in JOBS),
        )
    )
    wanted = [owner_and_id(member.decode()) for member in members]
    raws = (
        checked(
            await together(shared.redis).run(*(("HGET", keys.things(owner), id_) for owner, id_ in wanted))
        )
        if wanted
        else []
    )
    planned: list[Planned] = []
    unreadable = 0
    for (owner, _), raw in zip(wanted, raws, strict=True):
        try:
            one = planned_of(raw, owner, names.owner(owner), language, shared.zone) if raw else None
        except (NotReadable, NewerVersion):
            unreadable += 1
            continue
        if one is not None:
            planned.append(one)
    jobs = jobs_of(dict(zip(JOBS, runs, strict=True)), shared.settings)
    return Schedules(planned, max(0, total - MOST), unreadable, jobs)


def owner_and_id(member: str) -> tuple[str, str]:
    """Of a member of keys.due()."""
    owner, _, id_ = member.rpartition("|")
    return owner, id_


# ── deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def delete_reminder(redis: RedisPort, owner: str, id_: str, seen: str) -> bool:
    """In one step, if it still is as it was seen (dashboard.actions.stamp_of). False: it is not; nothing changed.

    Raises: CannotDeliver, and what redis-py raises.
    """
    things = keys.things(owner)
    (raw,) = checked(await together(redis).run(("HGET", things, id_)))
    if raw is None or stamp_of(raw) != seen or not id_.startswith("r"):
        return False
    return await deliver(
        redis,
        expects=(Expect(things, id_, raw),),
        effects=(
            Effect("HDEL", things, (id_,)),
            Effect("HINCRBY", things, ("version", 1)),
            Effect("ZREM", keys.due(), (f"{owner}|{id_}",)),
        ),
        pushes=(),
    )
