"""`koi dead`: messages and replies that could not be handled, kept until somebody decides."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager

import click
import orjson
from rich.console import Console
from rich.table import Table

from cli.apart_log import log_quiet
from cli.environment import koi_settings, redis_patience_s
from cli.faults import Failure
from infra.clean import clean
from infra.clock import system_clock
from infra.cut import cut
from infra.dead import dead_letters, drop_dead, retry_dead
from infra.redis import open_redis
from infra.redis_port import RedisPort
from schemas.dead import DeadLetter

WORDS_CHARS = 60
REASON_CHARS = 80
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"))

type Act = Callable[[RedisPort, DeadLetter], Awaitable[bool]]


@click.group()
def dead() -> None:
    """Messages that could not be answered, and replies that could not be sent."""


@dead.command("list")
def list_() -> None:
    """Show them, oldest first."""
    letters = asyncio.run(_letters())
    if not letters:
        click.echo("No dead letters.")
        return
    Console(highlight=False).print(_table(letters, now_ms=system_clock()()))


@dead.command()
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All of them.")
def retry(ids: tuple[str, ...], everything: bool) -> None:
    """Put them back into their lanes, to be tried again."""
    done = asyncio.run(_act(retry_dead, ids, everything=everything))
    click.echo(f"Put back: {done}")


@dead.command()
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All of them.")
def drop(ids: tuple[str, ...], everything: bool) -> None:
    """Delete them."""
    done = asyncio.run(_act(drop_dead, ids, everything=everything))
    click.echo(f"Deleted: {done}")


def chosen(
    letters: Iterable[DeadLetter], ids: tuple[str, ...], *, everything: bool
) -> tuple[DeadLetter, ...]:
    """The letters that are meant.

    Raises: UsageError: neither ids nor --all, or both. Failure: an id that is not there.
    """
    if bool(ids) == everything:
        raise click.UsageError("Say which: ids from `koi dead list`, or --all.")
    if everything:
        return tuple(letters)
    found = {letter.id: letter for letter in letters}
    missing = [item_id for item_id in ids if item_id not in found]
    if missing:
        raise Failure(f"no dead letter {', '.join(missing)}; `koi dead list` shows them")
    return tuple(found[item_id] for item_id in dict.fromkeys(ids))


def age(passed_ms: int) -> str:
    """In the largest unit that fits: "3 d", "5 h", "0 min"."""
    for unit_ms, name in UNITS:
        if passed_ms >= unit_ms:
            return f"{passed_ms // unit_ms} {name}"
    return "0 min"


def words_of(letter: DeadLetter) -> tuple[str, str]:
    """(who, first words); what cannot be read is shown as it is, its owner as who."""
    try:
        value: object = orjson.loads(letter.body)
    except orjson.JSONDecodeError:
        value = None
    body: dict[str, object] = value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    text = str(body.get("text") or body.get("media") or letter.body)
    return str(body.get("user_name") or letter.owner or letter.job_id), text


def _opened() -> AbstractAsyncContextManager[RedisPort]:
    settings = koi_settings()
    log_quiet(settings.log)
    return open_redis(settings, name="dead", patience_s=redis_patience_s(settings))


async def _letters() -> list[DeadLetter]:
    async with _opened() as redis:
        return await dead_letters(redis)


async def _act(act: Act, ids: tuple[str, ...], *, everything: bool) -> int:
    async with _opened() as redis:
        letters = chosen(await dead_letters(redis), ids, everything=everything)
        return sum([await act(redis, letter) for letter in letters])


def _table(letters: Iterable[DeadLetter], *, now_ms: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "age", "who", "reason", "begins with"):
        table.add_column(name, overflow="fold", no_wrap=name == "id")  # so that it can be copied
    for letter in letters:
        who, words = words_of(letter)
        shown = (who, cut(letter.reason, REASON_CHARS), cut(words, WORDS_CHARS))
        table.add_row(
            letter.id, age(now_ms - letter.at_ms), *(clean(text).replace("\n", " ") for text in shown)
        )
    return table
