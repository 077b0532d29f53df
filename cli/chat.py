"""`koi chat`: a conversation in the terminal, through the same lanes, queue, worker and memory as in Telegram."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from cli.apart_log import log_quiet
from cli.environment import koi_settings
from cli.faults import cause_of
from cli.screen import Screen
from cli.seat import BOT_NAME, NAME, OWNER_NAME
from cli.signals import stop_on_signals
from cli.terminal import PipedLines
from cli.texts import say
from infra.clock import system_clock
from infra.redis_port import RedisPort
from infra.settings import Settings
from workers.times import span

if TYPE_CHECKING:
    from cli.room import Room
    from cli.supervise import OnFailure

TOOLS_WAIT_S = 10.0
"""For MCP servers to start, where a message stands there before they can have: a person at the keyboard takes that long to
write.
"""


@dataclass(frozen=True, slots=True)
class Person:
    """Who talks to whom, as asked for; "" for the owner, and for the bot of the house."""

    user: str
    bot: str


def _checked(_ctx: click.Context, _param: click.Parameter, name: str) -> str:
    if name and not NAME.fullmatch(name):
        raise click.BadParameter(f'"{name}" must be a name of up to 64 characters without ":" and "|"')
    return name


@click.command()
@click.option("--user", default="", metavar="NAME", callback=_checked, help="Who you are; else the owner.")
@click.option("--bot", default="", metavar="NAME", callback=_checked, help="Which bot you talk to.")
@click.option("--once", default=None, metavar="TEXT", help="Send this one message (- reads it from stdin), print its reply.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="With --once: print the reply as JSON.")
def chat(user: str, bot: str, once: str | None, as_json: bool) -> int:
    """Talk with koi here in the terminal."""
    if as_json and once is None:
        raise click.UsageError("--json goes with --once.")
    if once == "-":
        once = sys.stdin.buffer.read().decode("utf-8", "replace")
    settings = koi_settings(thinks=True)
    log_quiet(settings.log)
    person = Person(user, bot)
    if once is not None:
        return asyncio.run(_once(settings, person, once, as_json=as_json))
    if sys.stdin.isatty() and sys.stdout.isatty():
        return asyncio.run(_talk(settings, person))
    return asyncio.run(_answer_lines(settings, person))


async def _talk(settings: Settings, person: Person) -> int:
    console = Console(highlight=False)
    for line in greeting(settings, person):
        console.print(line)
    console.print()
    screen = Screen(console)

    def complain(part: str, fault: Exception | None, pause_s: float) -> None:
        screen.above(failure_line(part, fault, pause_s))

    def warn(line: str) -> None:
        screen.above(Text(line, "yellow"))

    async with _room(settings, person, complain, warn) as (room, stop):
        from cli.conversation import Conversation  # noqa: PLC0415 — after the first words

        conversation = Conversation(room, screen, stop)
        await conversation.run(sys.stdin)
        if conversation.unsent:
            screen.above(Text(say(settings.language, "Your last message could not be stored."), "red"))
        elif conversation.waiting:
            kept = say(settings.language, "Your last message is kept, and answered next time.")
            screen.above(Text(kept, "dim"))
    return 0


async def _once(settings: Settings, person: Person, text: str, *, as_json: bool) -> int:
    from cli.once import ask, patience_s, printed  # noqa: PLC0415

    async with _room(settings, person, _complain, _warn, TOOLS_WAIT_S) as (room, stop):
        reply = await ask(room, text, patience_s=patience_s(settings), stop=stop)
        return printed(reply, as_json=as_json)


async def _answer_lines(settings: Settings, person: Person) -> int:
    """Each line of a file or pipe is a message, sent when the one before it is answered."""
    from cli.once import ask, patience_s, printed  # noqa: PLC0415

    code = 0
    async with (
        _room(settings, person, _complain, _warn, TOOLS_WAIT_S) as (room, stop),
        asyncio.TaskGroup() as group,
    ):
        lines = PipedLines()
        ending = group.create_task(_end_with(stop, lines))
        async for line in lines:
            if line.strip():
                reply = await ask(room, line, patience_s=patience_s(settings), stop=stop)
                code = max(code, printed(reply, as_json=False))
        ending.cancel()
    return code


async def _end_with(stop: asyncio.Event, lines: PipedLines) -> None:
    await stop.wait()
    lines.end()


@asynccontextmanager
async def _room(
    settings: Settings,
    person: Person,
    on_failure: "OnFailure",
    warn: Callable[[str], None],
    tools_wait_s: float = 0.0,
) -> AsyncGenerator[tuple["Room", asyncio.Event]]:
    from cli.processes import serve_worker  # noqa: PLC0415
    from cli.room import open_room  # noqa: PLC0415

    clock = system_clock()

    async def work(redis: RedisPort, stop: asyncio.Event) -> None:
        await serve_worker(settings, redis, clock=clock, stop=stop, say=warn, tools_wait_s=tools_wait_s)

    with stop_on_signals() as stop:
        async with open_room(
            settings, user=person.user, bot=person.bot, clock=clock, on_failure=on_failure, work=work
        ) as room:
            yield room, stop


def greeting(settings: Settings, person: Person) -> list[Text]:
    """What this is, in two lines; one more if no model is set up."""
    language = settings.language
    lines = [
        Text.assemble(
            (f"{person.bot or BOT_NAME} ", "bold cyan"),
            say(
                language,
                "remembers what you talk about for {span}, also after a restart. You write as {name}.",
                span=span(int(settings.memory.max_age.total_seconds() * 1000), language),
                name=person.user or OWNER_NAME,
            ),
        ),
        Text(
            say(language, "Enter sends, Alt-Enter begins a new line, /help lists the commands, Ctrl-D ends."),
            "dim",
        ),
    ]
    if not settings.models:
        lines.append(
            Text(
                say(
                    language,
                    "No model is set up, so the built-in offline model shows what one would be given. Set "
                    "ANTHROPIC_API_KEY, OPENROUTER_API_KEY or ANTHROPIC_BASE_URL, and start again.",
                ),
                "yellow",
            )
        )
    return lines


def failure_line(part: str, fault: Exception | None, pause_s: float) -> Text:
    """One line about a part that failed."""
    why = cause_of(fault) if fault else "it ended by itself"
    return Text(f"koi: {part} failed ({why}); it starts again in {pause_s:.0f} s", "red")


def _complain(part: str, fault: Exception | None, pause_s: float) -> None:
    click.echo(failure_line(part, fault, pause_s).plain, err=True)


def _warn(line: str) -> None:
    click.echo(f"koi: {line}", err=True)
