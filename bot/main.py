"""The bot process: every bot of the settings, each supervised by itself (`koi bot`, and a part of `koi up`)."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from aiohttp import web
from redis.exceptions import RedisError

from bot.account import accounts
from bot.admit import Door
from bot.crew import Crew
from bot.one_bot import Shared
from bot.texts import say as translated
from bot.webhook import Webhook
from infra import health
from infra.clock import Clock
from infra.current import Current
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.settings import Settings


async def serve(
    settings: Settings,
    redis: RedisPort,
    *,
    clock: Clock,
    stop: asyncio.Event,
    say: Callable[[str], None],
    current: Current | None = None,
) -> None:
    """All bots: receive, admit, store; take replies out of the outbox and send them.

    say: prints one line for a person (the pairing code, trouble with one bot). current: whose bots run, also when they
    change; None: those of `settings`.

    Returns after `stop` is set and what was being sent is sent (at most 25 s). Without a token it says so and waits.

    Raises: ValueError: webhook without its secret. OSError: its port is taken.
    """
    if not accounts(settings):
        say(translated(settings.language, "No Telegram bot yet: put its token into TELEGRAM_BOT_TOKEN (@BotFather gives you one)."))  # fmt: skip
    webhook = (
        Webhook(settings.telegram_webhook_secret.get_secret_value())
        if settings.telegram_webhook_url
        else None
    )
    people = PeopleCache(redis, settings, clock)
    door = Door(redis, people, clock, settings.telegram)
    shared = Shared(settings, redis, clock, stop, people, door, say, webhook)
    async with _listening(webhook, settings.telegram_webhook_bind), asyncio.TaskGroup() as group:
        beat = group.create_task(_beat(shared))
        await Crew(shared).serve(current or Current(settings))
        beat.cancel()


async def _beat(shared: Shared) -> None:
    """Show that this process lives, and keep what it knows of people fresh."""
    me = health.this_process()
    try:
        while True:
            with contextlib.suppress(RedisError):
                await health.beat(shared.redis, "bot", me)
                await shared.people.read()
            await asyncio.sleep(health.BEAT_S)
    finally:
        with contextlib.suppress(RedisError):
            await health.leave(shared.redis, "bot", me)


@contextlib.asynccontextmanager
async def _listening(webhook: Webhook | None, bind: str) -> AsyncGenerator[None]:
    """The webhook's server, if there is one."""
    if webhook is None:
        yield
        return
    runner = web.AppRunner(webhook.app(), access_log=None)
    await runner.setup()
    try:
        host, _, port = bind.rpartition(":")
        await web.TCPSite(runner, host.strip("[]"), int(port)).start()
        yield
    finally:
        await runner.cleanup()
