"""The other way in: Telegram posts each update to `/tg/{bot_id}`, and hears 200 only when it is stored."""

import asyncio
from collections import defaultdict
from hmac import compare_digest
from http import HTTPStatus
from typing import Any, cast

import structlog
from aiohttp import web
from redis.exceptions import RedisError

from bot.api import parse
from bot.intake import Intake

log = structlog.get_logger()

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 — a header's name
BODY_BYTES = 2**20
"""Far above any update: a message has at most 32,768 characters."""
TAKE_S = 20.0
"""Then 503: Telegram gives up waiting after about a minute and sends the update again anyway."""


class Webhook:
    """Takes the updates of all bots of this process. One at a time per bot, so order holds."""

    def __init__(self, secret: str, *, take_s: float = TAKE_S) -> None:
        """Raises: ValueError: without a secret anybody could send updates."""
        if not secret:
            raise ValueError("TELEGRAM_WEBHOOK_SECRET is missing: without it anybody could write to the bots")
        self._secret = secret.encode()
        self._take_s = take_s
        self._locks = defaultdict[str, asyncio.Lock](asyncio.Lock)
        self.intakes: dict[str, Intake] = {}
        """Bots by id, as they come up."""

    def app(self) -> web.Application:
        app = web.Application(client_max_size=BODY_BYTES)
        app.router.add_post("/tg/{bot_id}", self._handle)
        return app

    async def _handle(self, request: web.Request) -> web.Response:
        sent = request.headers.get(SECRET_HEADER, "").encode(errors="surrogateescape")
        if not compare_digest(sent, self._secret):
            return web.Response(status=HTTPStatus.UNAUTHORIZED)
        bot_id = request.match_info["bot_id"]
        intake = self.intakes.get(bot_id)
        if intake is None:  # not up yet, or not ours: Telegram asks again
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE)
        update = _update(await request.read())
        if update is None:
            return web.Response(status=HTTPStatus.BAD_REQUEST)
        stored = await self._store(bot_id, intake, update)
        return web.Response(status=HTTPStatus.OK if stored else HTTPStatus.SERVICE_UNAVAILABLE)

    async def _store(self, bot_id: str, intake: Intake, update: dict[str, Any]) -> bool:
        try:
            async with asyncio.timeout(self._take_s), self._locks[bot_id]:
                error = (await intake.take([update])).error
        except (RedisError, TimeoutError) as failure:
            error = type(failure).__name__
        if error:
            log.warning("update_not_stored", bot_id=bot_id, update_id=update["update_id"], error=error)
        return not error


def _update(body: bytes) -> dict[str, Any] | None:
    """An update; None if it is nothing that Telegram sends."""
    try:
        update = parse(body)
    except ValueError:
        return None
    if not isinstance(update, dict):
        return None
    found = cast("dict[str, Any]", update)
    return found if isinstance(found.get("update_id"), int) else None
