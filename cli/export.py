"""`koi export`: everything that is kept of a person, as JSON and as a calendar that other programs read."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, cast

import click
import orjson

from cli.faults import Failure
from cli.memory import Desk, open_desk
from cli.seat import LOCAL, OWNER_ID, STORE
from cli.texts import say, say_n
from infra import keys
from infra.clock import system_clock
from infra.people import People, read_people
from infra.redis import data_folder
from infra.together import checked, together
from memory.flat import write_flat
from memory.ring import Remembered
from schemas.profile import Profile
from schemas.things import Event, Memo, Reminder, Task
from schemas.wire import load
from tools.ics import write_ics
from tools.store import VERSION, pairs, read_things
from tools.tool import Things
from workers.periods import DAY_TTL_MS, day_of, month_of
from workers.times import zone_of

FORMAT = 1
"""Of the JSON file; a change that a reader would notice counts up."""
NOT_IN_NAMES = re.compile(r"[^\w.-]+")
DAY_MS = 24 * 3_600_000

type Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """Everything of a person in one store, as it was at one moment."""

    user_id: str
    store: str
    at_ms: int
    people: People
    profile: Profile
    things: Things
    unreadable: int
    """Things, facts and entries of the ring that this release cannot read."""
    remembered: Remembered
    days: Mapping[str, Mapping[str, int]]
    """Usage by day, those with none left out."""
    months: Mapping[str, Mapping[str, int]]

    @property
    def role(self) -> str:
        """Whoever sits at the machine was not let in by anybody: they own koi, or use it as `koi chat --user NAME`."""
        role = self.people.role_of(self.user_id)
        if role != "stranger" or not self.user_id.startswith(LOCAL):
            return role
        return "owner" if self.user_id == OWNER_ID else "member"

    @property
    def is_nobody(self) -> bool:
        """Neither let in nor the owner of anything."""
        has_something = self.things.by_id or self.things.facts or self.unreadable or self.remembered.kept
        known = self.people.role_of(self.user_id) != "stranger" or self.profile != Profile()
        return not (has_something or known or self.days or self.months)


@click.command()
@click.option("--user", default="", metavar="ID", help="Telegram id, or NAME as in `koi chat --user NAME`; else the owner.")  # fmt: skip
@click.option("--store", default=STORE, show_default=True, help="Memory store of the bots meant.")
@click.option("--to", "folder", default=None, metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Where the files go; else `exports` in koi's data directory.")  # fmt: skip
def export(user: str, store: str, folder: Path | None) -> None:
    """Write everything that is kept of a person to two files, and print where they are.

    koi-ID.json has all of it; koi-ID.ics has events, reminders and tasks, for calendar programs. Only you can read them.
    """
    asyncio.run(_export(user, store, folder))


async def _export(user: str, store: str, folder: Path | None) -> None:
    async with open_desk(user, store) as desk:
        found = await find(desk, system_clock()())
    if found.is_nobody:
        raise Failure(say(desk.settings.language, "nobody with the id {id} is known in the store {store}", id=found.user_id, store=store))  # fmt: skip
    target = folder or data_folder(desk.settings) / "exports"
    written = (
        (".json", export_json(found, zone_of(desk.settings.timezone))),
        (".ics", write_ics(found.things, owner=desk.owner, now_ms=found.at_ms)),
    )
    for ending, content in written:
        file = target / (file_name(found.user_id, store) + ending)
        _write(file, content)
        click.echo(str(file))
    if found.unreadable:
        click.echo(say_n(desk.settings.language, "{n} more entry cannot be read", "{n} more entries cannot be read", found.unreadable), err=True)  # fmt: skip


async def find(desk: Desk, now_ms: int) -> Found:
    """Raises: NewerVersion, NotReadable, RedisError."""
    owner, user_id = desk.owner, desk.user_id
    periods = _periods(now_ms, zone_of(desk.settings.timezone))
    replies = checked(
        await together(desk.redis).run(
            ("HGETALL", keys.things(owner)),
            ("HGETALL", keys.facts(owner)),
            ("GET", keys.profile(user_id)),
            *(("HGETALL", keys.spent(user_id, period)) for period in periods),
        )
    )
    raw_things, raw_facts, profile = pairs(replies[0]), pairs(replies[1]), cast("bytes | None", replies[2])
    things = read_things(replies[0], replies[1])
    spent = {
        period: {name: int(n) for name, n in pairs(reply).items()}
        for period, reply in zip(periods, replies[3:], strict=True)
        if reply
    }
    remembered = await desk.remembered()
    stored = len(raw_things.keys() - {VERSION}) + len(raw_facts)
    return Found(
        user_id, desk.store, now_ms,
        people=await read_people(desk.redis, desk.settings),
        profile=load(Profile, profile) if profile else Profile(),
        things=things,
        unreadable=stored - len(things.by_id) - len(things.facts) + len(remembered.unreadable) + remembered.newer,
        remembered=remembered,
        days={period: counts for period, counts in spent.items() if len(period) == len("2026-11-30")},
        months={period: counts for period, counts in spent.items() if len(period) == len("2026-11")},
    )  # fmt: skip


def _periods(now_ms: int, zone: tzinfo) -> Sequence[str]:
    """The days and months that use may still be counted in."""
    days = [day_of(now_ms - n * DAY_MS, zone) for n in range(DAY_TTL_MS // DAY_MS + 1)]
    return list(dict.fromkeys((*reversed(days), *sorted({month_of(day) for day in days}))))


def export_json(found: Found, zone: tzinfo) -> bytes:
    """Indented, umlauts as they are. Stamps that end in _ms count from 1970."""
    person = found.people.by_id.get(found.user_id)
    kept = found.things.by_id.values()
    value = {
        "koi_export": FORMAT,
        "exported_at": _iso(found.at_ms, zone),
        "user_id": found.user_id,
        "store": found.store,
        "role": found.role,
        "person": person.model_dump(exclude={"v"}) if person else None,
        "profile": found.profile.model_dump(exclude={"v"}),
        "tasks": [_plain(thing) for thing in kept if isinstance(thing, Task)],
        "memos": [_plain(thing) for thing in kept if isinstance(thing, Memo)],
        "events": [_plain(thing) for thing in kept if isinstance(thing, Event)],
        "reminders": [_plain(thing) for thing in kept if isinstance(thing, Reminder)],
        "facts": [fact.model_dump(exclude={"v"}) for fact in found.things.facts.values()],
        "memory": orjson.loads(write_flat(found.remembered.entries, zone, with_replies=True)),
        "usage": {"days": found.days, "months": found.months},
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def file_name(user_id: str, store: str) -> str:
    """Without its ending: "koi-42", "koi-local-anna"; of another store than the usual one "koi-family-42"."""
    parts = ("koi", user_id) if store == STORE else ("koi", store, user_id)
    return NOT_IN_NAMES.sub("-", "-".join(parts))


def _plain(thing: Task | Memo | Event | Reminder) -> Json:
    return thing.model_dump(exclude={"v"})


def _iso(at_ms: int, zone: tzinfo) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).astimezone(zone).isoformat(timespec="seconds")  # fmt: skip


def _write(file: Path, content: bytes) -> None:
    """Whole or not at all, and readable by nobody else at any time."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
                opened.write(content)
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from error
