"""One bot's life: introduced to Telegram, then receiving, sending and typing until it is told to stop."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

import structlog
from redis.exceptions import RedisError

from bot.account import Account, as_told
from bot.admit import Door
from bot.api import BotApi, Me
from bot.chat_action import show_typing
from bot.console import Console
from bot.drafts import Drafts
from bot.files import Files
from bot.insist import TokenRefused, insist
from bot.intake import Intake
from bot.limiter import Limiter
from bot.menu import MenuKeeper
from bot.poll import Poller
from bot.reply import Sender
from bot.taps import Taps
from bot.webhook import Webhook
from infra import keys
from infra.clock import Clock, ms
from infra.people import PeopleCache, pairing_code
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.worker import LaneLimits, LaneWorker
from schemas.wire import dump

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Shared:
    """What all bots of a process have in common."""

    settings: Settings
    redis: RedisPort
    clock: Clock
    stop: asyncio.Event
    people: PeopleCache
    door: Door
    say: Callable[[str], None]
    webhook: Webhook | None = None
    """None: long polling."""


class OneBot:
    """Runs the bot of one account; whatever happens to it, it happens to no other."""

    def __init__(self, shared: Shared, account: Account) -> None:
        self._shared = shared
        self._account = account
        self._console = Console(shared.say, account.label, shared.settings.language)

    async def run(self) -> None:
        """Until stop is set and what was being sent is sent, or Telegram refuses the token."""
        stop = self._shared.stop
        while not stop.is_set():
            try:
                await self._live()
            except TokenRefused:
                self._console.token_refused()
                return
            except Exception as error:  # noqa: BLE001 — the border of a bot: it starts again, the others never notice
                log.warning("bot_crashed", bot=self._account.label, error=_first(error))
                await unless(stop, asyncio.sleep(self._console.crashed(_first(error))))

    async def _live(self) -> None:
        """Raises: TokenRefused."""
        try:
            api = BotApi(self._account.token.get_secret_value(), self._shared.settings.telegram_api_base)
        except ValueError as error:
            raise TokenRefused from error
        try:
            me = await unless(self._shared.stop, self._introduced(api))
            if me is not None:
                await self._serve(api, me)
        finally:
            await api.close()

    async def _introduced(self, api: BotApi) -> Me:
        """Who the bot is, by getMe, which workers are told; shows the pairing code as long as koi has no owner.

        Raises: TokenRefused.
        """
        username = await insist(api.username, self._console, asyncio.sleep)
        me = self._account.me(username)
        self._console.bot = me.name
        while True:
            try:
                await self._shared.redis.hset(keys.bots(), me.bot_id, dump(as_told(me)))
                code = await pairing_code(self._shared.redis, self._shared.settings)
            except RedisError as error:
                await asyncio.sleep(self._console.redis_away(error))
            else:
                break
        self._console.redis_back()
        if code:
            self._console.pairing(me.username, code)
        return me

    async def _serve(self, api: BotApi, me: Me) -> None:
        """Receive, send and type until stop, or until receiving ends; then send what is being sent.

        Raises: TokenRefused; whatever crashed receiving.
        """
        shared = self._shared
        queue = shared.settings.queue
        limiter = Limiter(shared.redis, me.bot_id, shared.settings.telegram)
        drafts = Drafts(shared.redis, api)
        worker = LaneWorker(
            shared.redis,
            keys.outbox_queue(me.bot_id),
            drafts.before(Sender(shared.redis, api, me, limiter, shared.people, shared.clock)),
            LaneLimits(lease_ms=ms(queue.lease), concurrency=queue.concurrency, per_turn=1),
            name=f"out-{me.bot_id}",
        )
        log.info("bot_up", bot=me.name, username=me.username, webhook=shared.webhook is not None)
        async with asyncio.TaskGroup() as group:
            group.create_task(worker.serve())
            typing = group.create_task(show_typing(shared.redis, api))
            drafting = group.create_task(drafts.serve())
            files = group.create_task(Files(shared.redis, api).serve())
            menu = group.create_task(MenuKeeper(shared.redis, api, shared.people).serve())
            taps = Taps(api)
            answering = group.create_task(taps.serve())
            failure = await unless(shared.stop, self._received(api, me, taps))
            typing.cancel()
            drafting.cancel()
            answering.cancel()
            menu.cancel()
            files.cancel()
            worker.stop()
        log.info("bot_down", bot=me.name)
        if failure is not None:
            raise failure

    async def _received(self, api: BotApi, me: Me, taps: Taps) -> Exception:
        """Receive for ever; gives what ended it, so that sending can end in peace first."""
        shared = self._shared
        polls = shared.webhook is None
        intake = Intake(shared.redis, shared.settings, me, shared.door, keeps_offset=polls, heard=taps.answer)
        try:
            if shared.webhook is None:
                await Poller(shared.redis, api, intake, self._console, shared.clock).run()
            else:
                await self._posted(shared.webhook, api, me, intake)
        except Exception as error:  # noqa: BLE001 — raised again when sending has ended
            return error
        raise AssertionError("receiving never ends by itself")

    async def _posted(self, webhook: Webhook, api: BotApi, me: Me, intake: Intake) -> None:
        """Have Telegram post this bot's updates to us, one at a time."""
        settings = self._shared.settings
        webhook.intakes[me.bot_id] = intake
        try:
            await insist(
                lambda: api.start_webhook(
                    f"{settings.telegram_webhook_url.rstrip('/')}/tg/{me.bot_id}",
                    settings.telegram_webhook_secret.get_secret_value(),
                ),
                self._console,
                asyncio.sleep,
            )
            await asyncio.Event().wait()
        finally:
            del webhook.intakes[me.bot_id]


async def unless[T](stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What `work` gives; None if `stop` was set before: then it is cancelled.

    Raises what `work` raises.
    """
    try:
        async with asyncio.TaskGroup() as group:
            task, stopped = group.create_task(work), group.create_task(stop.wait())
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            task.cancel()
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return None if task.cancelled() else task.result()


def _first(error: BaseException) -> str:
    """The kind of an error, looked up in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return type(error).__name__
