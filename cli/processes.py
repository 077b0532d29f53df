"""How the processes of koi are started here. Their packages are imported when they are used: aiogram costs 170 MB."""

import asyncio
from collections.abc import Callable
from importlib import import_module

from infra.clock import Clock
from infra.current import Current
from infra.redis_port import RedisPort
from infra.settings import BadSetting, Settings


async def serve_worker(  # noqa: PLR0913 — the last two are seldom given
    settings: Settings,
    redis: RedisPort,
    *,
    clock: Clock,
    stop: asyncio.Event,
    say: Callable[[str], None],
    tools_wait_s: float = 0.0,
    current: Current | None = None,
) -> None:
    """See workers.main.serve.

    Raises: BadSetting: a model or persona that the settings name is not there.
    """
    from llm.errors import NotConfigured  # noqa: PLC0415
    from workers.main import serve  # noqa: PLC0415

    try:
        await serve(
            settings, redis, clock=clock, stop=stop, say=say, tools_wait_s=tools_wait_s, current=current
        )
    except NotConfigured as error:
        raise BadSetting(str(error)) from error


def check_models(settings: Settings) -> Settings:
    """The same settings, if each bot's models are of services that they name.

    Raises: BadSetting.
    """
    from llm.candidates import candidates_from  # noqa: PLC0415
    from llm.errors import NotConfigured  # noqa: PLC0415

    try:
        for bot in settings.bots:
            candidates_from(settings, bot.models)
    except NotConfigured as error:
        raise BadSetting(str(error)) from error
    return settings


async def serve_bots(
    settings: Settings,
    redis: RedisPort,
    *,
    clock: Clock,
    stop: asyncio.Event,
    say: Callable[[str], None],
    current: Current | None = None,
) -> None:
    """All bots of this process."""
    bot_main = await asyncio.to_thread(import_module, "bot.main")  # seconds, in which the worker goes on
    await bot_main.serve(settings, redis, clock=clock, stop=stop, say=say, current=current)


async def serve_dashboard(
    settings: Settings, redis: RedisPort, *, clock: Clock, stop: asyncio.Event, say: Callable[[str], None]
) -> None:
    """The pages.

    Raises: BadSetting: others could come in without a password. OSError: the address is taken.
    """
    dashboard_main = await asyncio.to_thread(import_module, "dashboard.main")
    await dashboard_main.serve(settings, redis, clock=clock, stop=stop, say=say)


def check_dashboard(settings: Settings) -> None:
    """Before anything is started. Raises: BadSetting: others could come in without a password."""
    from dashboard.door import door_of  # noqa: PLC0415 — `koi bot` has no use for it

    door_of(settings)


def has_token(settings: Settings) -> bool:
    """Is there a bot for Telegram?"""
    return bool(settings.telegram_bot_tokens) or any(bot.token.get_secret_value() for bot in settings.bots)


def model_names(settings: Settings) -> str:
    """The chain as people read it; "" if only the offline model is there."""
    return " → ".join(settings.models)
