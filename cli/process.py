"""`koi bot`, `koi worker` and `koi dashboard`: one process of that kind, as compose runs them."""

import asyncio
from collections.abc import Awaitable, Callable

import click
from pydantic import SecretStr

from cli.apart_log import log_apart
from cli.environment import koi_settings, settings_file
from cli.loop import run_loop
from cli.processes import check_dashboard, check_models, serve_bots, serve_dashboard, serve_worker
from cli.signals import stop_on_signals
from cli.watch import Watch
from infra.clock import system_clock
from infra.current import Current
from infra.redis import open_redis
from infra.redis_port import RedisPort
from infra.settings import BadSetting, Settings

NOTHING = SecretStr("")
MODEL_SECRETS = {"anthropic_api_key": NOTHING, "openrouter_api_key": NOTHING, "mcp": ()}
BOT_SECRETS = {"telegram_bot_tokens": (), "telegram_webhook_secret": NOTHING}

type Serve = Callable[[Current, RedisPort, asyncio.Event], Awaitable[None]]


@click.command()
@click.option(
    "--only", multiple=True, metavar="NAME", help="Of the bots in koi.toml only this one (or these); others run elsewhere."
)  # fmt: skip
def bot(only: tuple[str, ...]) -> None:
    """Telegram, in and out: fetches messages, sends replies. Needs the tokens and no model key."""
    chosen = frozenset(only)

    async def serve(current: Current, redis: RedisPort, stop: asyncio.Event) -> None:
        await serve_bots(
            current.settings, redis, clock=system_clock(), stop=stop, say=click.echo, current=current
        )

    def read() -> Settings:
        return chosen_bots(koi_settings(speaks=True, only=chosen), chosen).model_copy(update=MODEL_SECRETS)

    settings = read()
    if missing := chosen - {bot.name for bot in settings.bots}:
        raise BadSetting(f"--only is {min(missing)!r}; it must be the name of a [[bots]] table")
    run_loop(_run("bot", settings, read, serve))


@click.command()
@click.option(
    "--concurrency", type=click.IntRange(1), metavar="N", help="Turns at the same time (queue.concurrency)."
)
def worker(concurrency: int | None) -> None:
    """Thinks: takes what waits, asks a model, remembers. Needs a model key and no token."""

    async def serve(current: Current, redis: RedisPort, stop: asyncio.Event) -> None:
        await serve_worker(
            current.settings, redis, clock=system_clock(), stop=stop, say=click.echo, current=current
        )

    def read() -> Settings:
        settings = without_tokens(koi_settings(thinks=True))
        if not concurrency:
            return settings
        queue = settings.queue.model_copy(update={"concurrency": concurrency})
        return settings.model_copy(update={"queue": queue})

    run_loop(_run("worker", read(), lambda: check_models(read()), serve))


def chosen_bots(settings: Settings, names: frozenset[str]) -> Settings:
    """The same with these bots only; no names: all."""
    if not names:
        return settings
    bots = tuple(bot for bot in settings.bots if bot.name in names)
    return settings.model_copy(update={"bots": bots, "telegram_bot_tokens": ()})


@click.command()
def dashboard() -> None:
    """The pages: what waits, what failed, what is remembered, what it costs. Needs no token and no model key."""

    async def serve(current: Current, redis: RedisPort, stop: asyncio.Event) -> None:
        await serve_dashboard(current.settings, redis, clock=system_clock(), stop=stop, say=click.echo)

    def read() -> Settings:
        return without_tokens(koi_settings()).model_copy(update=MODEL_SECRETS)

    settings = read()
    check_dashboard(settings)
    run_loop(_run("dashboard", settings, read, serve))


def without_tokens(settings: Settings) -> Settings:
    """The same without anything that could speak for a bot."""
    bots = tuple(bot.model_copy(update={"token": NOTHING}) for bot in settings.bots)
    return settings.model_copy(update={**BOT_SECRETS, "bots": bots})


async def _run(name: str, settings: Settings, read: Callable[[], Settings], serve: Serve) -> None:
    """Until a signal; whoever started us starts us again after a failure. read: the settings as they are written now."""
    log_apart(settings.log)
    current = Current(settings)
    watch = Watch(current, settings_file(), read, click.echo)
    with stop_on_signals(watch.look_now) as stop:
        async with open_redis(settings, name=name) as redis, asyncio.TaskGroup() as group:
            watching = group.create_task(watch.serve())
            await serve(current, redis, stop)
            watching.cancel()
