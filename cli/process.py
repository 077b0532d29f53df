"""`koi bot` and `koi worker`: one process of that kind, as compose runs them."""

import asyncio
from collections.abc import Awaitable, Callable

import click
from pydantic import SecretStr

from cli.environment import koi_settings
from cli.live_log import log_apart
from cli.loop import run_loop
from cli.processes import serve_bots, serve_worker
from cli.signals import stop_on_signals
from infra.clock import system_clock
from infra.redis import open_redis
from infra.redis_port import RedisPort
from infra.settings import Settings

NOTHING = SecretStr("")
MODEL_SECRETS = {"anthropic_api_key": NOTHING, "openrouter_api_key": NOTHING, "mcp": ()}
BOT_SECRETS = {"telegram_bot_tokens": (), "telegram_webhook_secret": NOTHING}

type Serve = Callable[[Settings, RedisPort, asyncio.Event], Awaitable[None]]


@click.command()
def bot() -> None:
    """Telegram, in and out: fetches messages, sends replies. Needs the tokens and no model key."""

    async def serve(settings: Settings, redis: RedisPort, stop: asyncio.Event) -> None:
        await serve_bots(settings, redis, clock=system_clock(), stop=stop, say=click.echo)

    run_loop(_run("bot", koi_settings(speaks=True).model_copy(update=MODEL_SECRETS), serve))


@click.command()
@click.option(
    "--concurrency", type=click.IntRange(1), metavar="N", help="Turns at the same time (queue.concurrency)."
)
def worker(concurrency: int | None) -> None:
    """Thinks: takes what waits, asks a model, remembers. Needs a model key and no token."""

    async def serve(settings: Settings, redis: RedisPort, stop: asyncio.Event) -> None:
        await serve_worker(settings, redis, clock=system_clock(), stop=stop)

    settings = without_tokens(koi_settings(thinks=True))
    if concurrency:
        queue = settings.queue.model_copy(update={"concurrency": concurrency})
        settings = settings.model_copy(update={"queue": queue})
    run_loop(_run("worker", settings, serve))


def without_tokens(settings: Settings) -> Settings:
    """The same without anything that could speak for a bot."""
    bots = tuple(bot.model_copy(update={"token": NOTHING}) for bot in settings.bots)
    return settings.model_copy(update={**BOT_SECRETS, "bots": bots})


async def _run(name: str, settings: Settings, serve: Serve) -> None:
    """Until a signal; whoever started us starts us again after a failure."""
    log_apart(settings.log)
    with stop_on_signals() as stop:
        async with open_redis(settings, name=name) as redis:
            await serve(settings, redis, stop)
