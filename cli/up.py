"""`koi up`: everything on this machine, in one process, under one supervisor."""

import asyncio
from collections.abc import Callable, Iterator

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from cli.environment import koi_settings, settings_file
from cli.faults import cause_of
from cli.live_log import log_live
from cli.loop import run_loop
from cli.processes import (
    check_dashboard,
    check_models,
    has_token,
    model_names,
    serve_bots,
    serve_dashboard,
    serve_worker,
)
from cli.signals import passed, stop_on_signals
from cli.supervise import OnFailure, Part, supervise
from cli.texts import say
from cli.watch import Watch
from infra.clock import system_clock
from infra.current import Current
from infra.redis import data_folder, open_redis
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.settings_sources import shown

LAST_REPLIES_S = 0.5
"""Between the end of the worker and that of the bots: what was answered last still leaves."""
FIRST_BOT_S = 1.0
"""How often is looked whether koi.toml names the first bot: without one, what speaks to Telegram is not even loaded."""


@click.command()
def up() -> None:
    """Everything on this machine: bots, a worker, the dashboard, and the store they need. Ctrl-C ends it."""
    settings = _read()
    check_dashboard(settings)
    console = Console(highlight=False)
    log_live(settings.log, console)
    run_loop(_up(settings, console))


def _read() -> Settings:
    return koi_settings(speaks=True, thinks=True)


async def _up(settings: Settings, console: Console) -> None:
    def tell(line: str) -> None:
        console.print(Text(line), soft_wrap=True)

    current = Current(settings)
    watch = Watch(current, settings_file(), lambda: check_models(_read()), tell)
    with stop_on_signals(watch.look_now) as stop:
        async with open_redis(settings, name="up") as redis:
            for line in head(settings):
                console.print(line)
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(watch.serve())
                await _run(current, redis, stop, console, tell)
                watching.cancel()
    console.print(
        say(settings.language, "Ended. Nothing is lost: what was not answered yet waits."), style="dim"
    )


async def _run(
    current: Current, redis: RedisPort, stop: asyncio.Event, console: Console, tell: Callable[[str], None]
) -> None:
    """The parts until `stop`; then the worker ends first, and the bots send what it said last."""
    clock, stop_bots = system_clock(), asyncio.Event()

    async def work() -> None:
        await serve_worker(current.settings, redis, clock=clock, stop=stop, say=tell, current=current)

    async def speak() -> None:
        await serve_bots(current.settings, redis, clock=clock, stop=stop_bots, say=tell, current=current)

    async def show() -> None:
        await serve_dashboard(current.settings, redis, clock=clock, stop=stop, say=tell)

    async def speak_once_there_is_a_bot() -> None:
        while not has_token(current.settings):
            if await passed(stop_bots, FIRST_BOT_S):
                return
        await supervise([Part("bots", speak)], stop_bots, on_failure)

    on_failure = failure_lines(current.settings, console)
    async with asyncio.TaskGroup() as group:
        working = group.create_task(supervise([Part("worker", work)], stop, on_failure))
        group.create_task(supervise([Part("dashboard", show)], stop, on_failure))
        group.create_task(speak_once_there_is_a_bot())
        await asyncio.wait([working])
        await asyncio.sleep(LAST_REPLIES_S if has_token(current.settings) else 0)
        stop_bots.set()


def head(settings: Settings) -> Iterator[RenderableType]:
    """What runs here, where the data are, what is missing."""
    language = settings.language
    where = f"REDIS_URL {shown(settings.redis_url)}" if settings.redis_url else str(data_folder(settings))
    yield Text.assemble(("koi ", "bold cyan"), say(language, "is running. Ctrl-C ends it."))
    yield _row(say(language, "data"), where)
    yield _row(say(language, "model"), model_names(settings) or say(language, "none"))
    if has_token(settings):
        yield _row(say(language, "Telegram"), say(language, "connecting, which takes some seconds"))
    if not settings.models:
        yield _missing(say(
            language,
            "No model is set up: in Telegram I can only say so. Set ANTHROPIC_API_KEY, OPENROUTER_API_KEY or "
            "ANTHROPIC_BASE_URL, and start again.",
        ))  # fmt: skip
    if not has_token(settings):
        yield _missing(say(
            language,
            "No bot is set up: TELEGRAM_BOT_TOKEN is not set. @BotFather in Telegram gives you one; set it, and start "
            "again. Until then talk with me here: koi chat",
        ))  # fmt: skip


def failure_lines(settings: Settings, console: Console) -> OnFailure:
    """Prints one clear line for each failure of a part."""

    def tell(part: str, fault: Exception | None, pause_s: float) -> None:
        why = cause_of(fault) if fault else say(settings.language, "it ended by itself")
        line = say(
            settings.language, "{part} failed ({why}); it starts again in {seconds} s.",
            part=part, why=why, seconds=round(pause_s),
        )  # fmt: skip
        console.print(Text(line, "red"), soft_wrap=True)

    return tell


def _row(name: str, value: str) -> Text:
    return Text.assemble((f"  {name:<8}", "dim"), value)


def _missing(line: str) -> RenderableType:
    return Padding(Text(line, "yellow"), (0, 0, 0, 2))
