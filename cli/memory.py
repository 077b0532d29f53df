"""`koi memory`: what is remembered of a person, shown, taken out, brought in, forgotten."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.apart_log import log_quiet
from cli.environment import koi_settings
from cli.faults import FAILED, Failure
from cli.seat import OWNER_NAME, STORE
from cli.texts import say, say_n
from infra.clock import system_clock
from infra.forget import forget as forget_texts
from infra.people import owner_id
from infra.redis import open_redis
from infra.redis_port import RedisPort
from infra.settings import Settings
from memory.flat import NotAList, Refused, read_flat, write_flat
from memory.labels import CATALOG
from memory.limits import MemoryLimits
from memory.ring import Remembered
from memory.store import load_ring
from memory.transfer import Imported, RingBusy, import_entries
from schemas.inbound import person_owner
from schemas.memory import RingEntry
from workers.times import moment, span, zone_of


@dataclass(frozen=True, slots=True)
class Desk:
    """What every one of these commands works with."""

    settings: Settings
    redis: RedisPort
    user_id: str
    store: str

    @property
    def owner(self) -> str:
        return person_owner(self.store, self.user_id)

    @property
    def limits(self) -> MemoryLimits:
        return MemoryLimits.from_settings(self.settings.memory)

    async def remembered(self) -> Remembered:
        return await load_ring(self.redis, self.owner, system_clock()(), self.limits)


def whose(command: Callable[..., Any]) -> Callable[..., Any]:
    """--user and --store."""
    user = click.option("--user", default="", metavar="WHO", help="Telegram id, or NAME as in `koi chat --user NAME`; else the owner.")  # fmt: skip
    store = click.option("--store", default=STORE, show_default=True, help="Memory store of the bots meant.")
    return user(store(command))


@click.group()
def memory() -> None:
    """What koi remembers of a person: each exchange for a day, over all bots of a store."""


@memory.command()
@whose
@click.option("--json", "as_json", is_flag=True, help="Print the flat list.")
def show(user: str, store: str, as_json: bool) -> None:
    """Show what is remembered now, oldest first."""
    asyncio.run(_show(user, store, as_json=as_json))


@memory.command()
@whose
@click.option(
    "--plain", is_flag=True, help="Only the fields of the flat list, without whole replies and bots' names."
)
def export(user: str, store: str, plain: bool) -> None:
    """Print what is remembered as JSON that `koi memory import` takes."""
    asyncio.run(_export(user, store, plain=plain))


@memory.command("import")
@whose
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
def import_(user: str, store: str, file: Path) -> int:
    """Bring in a list from FILE (- for stdin): of koi, or of an older bot.

    An entry whose session name is telegram_<id> belongs to that person, the others to --user. Doing it again adds nothing.
    """
    return asyncio.run(_import(user, store, _read(file)))


@memory.command()
@whose
@click.argument("what", nargs=-1, required=True)
def forget(user: str, store: str, what: tuple[str, ...]) -> None:
    """Forget WHAT: all, last, or every exchange and fact that contains a text."""
    asyncio.run(_forget(user, store, " ".join(what).strip()))


def user_id_of(name: str) -> str:
    """ "42" → "42" (Telegram), "anna" and "local:anna" → "local:anna"."""
    return name if name.isdecimal() or name.startswith("local:") else f"local:{name}"


@asynccontextmanager
async def open_desk(user: str, store: str) -> AsyncGenerator[Desk]:
    """Of a person: an id as `user_id_of` takes it, "" is the owner."""
    settings = koi_settings()
    log_quiet(settings.log)
    async with open_redis(settings, name="memory") as redis:
        owner = user_id_of(user or await owner_id(redis, settings) or OWNER_NAME)
        yield Desk(settings, redis, owner, store)


async def _show(user: str, store: str, *, as_json: bool) -> None:
    async with open_desk(user, store) as desk:
        remembered = await desk.remembered()
    if as_json:
        click.echo(write_flat(remembered.entries, zone_of(desk.settings.timezone)))
        return
    console = Console(highlight=False, markup=False)
    for part in view(remembered, desk, now_ms=system_clock()()):
        console.print(part)


async def _export(user: str, store: str, *, plain: bool) -> None:
    async with open_desk(user, store) as desk:
        remembered = await desk.remembered()
    zone = zone_of(desk.settings.timezone)
    click.echo(write_flat(remembered.entries, zone, with_replies=not plain))


async def _import(user: str, store: str, text: str) -> int:
    async with open_desk(user, store) as desk:
        now_ms, limits = system_clock()(), desk.limits
        try:
            found, refused = read_flat(text, zone_of(desk.settings.timezone), now_ms, limits)
            done = await import_entries(
                desk.redis, found, lambda one: person_owner(store, one or desk.user_id), now_ms, limits
            )
        except (NotAList, RingBusy) as error:
            raise Failure(str(error)) from error
    language = desk.settings.language
    for line in report(done, refused, limits, language):
        click.echo(line)
    for one in refused:
        reason = CATALOG.say(language, one.reason)
        click.echo(say(language, "entry {number}: {reason}", number=one.number, reason=reason), err=True)
    return FAILED if refused and not found else 0


async def _forget(user: str, store: str, what: str) -> None:
    if not what:
        raise click.UsageError("Say what: all, last, or a text.")
    async with open_desk(user, store) as desk:
        removed = await forget_texts(desk.redis, desk.owner, what) or 0
    language = desk.settings.language
    click.echo(say_n(language, "Forgot {n} entry.", "Forgot {n} entries.", removed))


def report(done: Imported, refused: tuple[Refused, ...], limits: MemoryLimits, language: str) -> list[str]:
    """What became of a file, a line each."""
    age = span(limits.max_age_ms, language)
    lines = [
        say(language, "imported: {n}", n=done.imported),
        say(language, "expired, older than {age}: {n}", age=age, n=done.expired),
        say(language, "refused: {n}", n=len(refused)),
    ]
    if done.known:
        lines.append(say(language, "already there: {n}", n=done.known))
    if done.over_cap:
        lines.append(
            say(language, "left out, older than the newest {most}: {n}", most=limits.entries, n=done.over_cap)
        )
    return lines


def view(remembered: Remembered, desk: Desk, *, now_ms: int) -> list[Text | Padding]:
    """For people: a head, then each exchange with its time and how long it will stay."""
    language, limits = desk.settings.language, desk.limits
    age = span(limits.max_age_ms, language)
    count = len(remembered.entries)
    head = say_n(
        language,
        "{who}: {n} exchange of at most {most}, each kept for {age}",
        "{who}: {n} exchanges of at most {most}, each kept for {age}",
        count, who=desk.user_id, most=limits.entries, age=age,
    )  # fmt: skip
    if not count:
        head = say(language, "{who}: nothing from the last {age}", who=desk.user_id, age=age)
    parts: list[Text | Padding] = [Text(head, "bold")]
    parts += [_exchange(entry, desk, now_ms) for entry in remembered.entries]
    hidden = len(remembered.unreadable) + remembered.newer
    if hidden:
        line = say_n(language, "{n} more entry cannot be read", "{n} more entries cannot be read", hidden)
        parts.append(Text(f"\n{line}", "yellow"))
    return parts


def _exchange(entry: RingEntry, desk: Desk, now_ms: int) -> Padding:
    language = desk.settings.language
    when = moment(entry.at_ms, zone_of(desk.settings.timezone), language)
    left = span(entry.at_ms + desk.limits.max_age_ms - now_ms, language)
    head = [when, entry.bot or entry.session_name, say(language, "{left} left", left=left)]
    said = Table.grid(padding=(0, 2))
    said.add_column(style="cyan", no_wrap=True)
    said.add_column(overflow="fold")
    cut = " …" if len(entry.reply) > len(entry.summary) else ""
    said.add_row(say(language, "You"), Text(entry.user_message))
    said.add_row(say(language, "Bot"), Text(entry.summary + cut))
    return Padding(Group(Text(" · ".join(filter(None, head)), "dim"), said), (1, 0, 0, 0))


def _read(file: Path) -> str:
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not UTF-8 text") from error
