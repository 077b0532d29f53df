"""An answer shown while it is written, in private chats. May be lost, and is never in the way of the answer itself.

Drafts have a pace of their own and take nothing from bot.limiter; where a reply or a draft met a 429, none is shown until
its wait is over. Once a reply is about to be sent, or the worker says so, no draft of its turn goes out any more.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from aiogram.exceptions import AiogramError, TelegramNotFound, TelegramRetryAfter
from redis.exceptions import RedisError

from bot.api import BotApi
from infra import keys
from infra.redis_port import RedisPort
from infra.stop import draft_id_of
from lanes.claim import Claim
from lanes.outcome import Commit, Handler, Outcome
from schemas.draft import TurnDraft
from schemas.wire import NewerVersion, NotReadable, load

log = structlog.get_logger()

CHAT_EVERY_S = 1.0
"""What Telegram wants of messages in one chat; of drafts it says nothing."""
BOT_EVERY_S = 0.1
"""Over all chats: a third of the 30 messages a second that a bot has."""
AT_ONCE = 20
"""More chats than that at the same moment: the rest does without."""
UNKNOWN_S = 600.0
"""A Bot API server from before 9.5 does not know drafts; it may be replaced."""
AWAY_S = 1.0
REMEMBERED = 2_000
"""Turns that are over; a draft that comes later than so many of them is of a worker that hung for minutes."""


@dataclass(slots=True)
class _Chat:
    """Where a draft is shown, or waits for its turn."""

    newest: TurnDraft | None = None
    showing: str = ""
    """The turn whose draft is on its way."""
    task: asyncio.Task[None] | None = None
    not_before: float = 0.0
    """Seconds of the clock."""


class Drafts:
    """Of one bot."""

    def __init__(
        self,
        redis: RedisPort,
        api: BotApi,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] | None = None,
    ) -> None:
        """now: seconds, never going back; None: of the running loop."""
        self._redis = redis
        self._api = api
        self._sleep = sleep
        self._now = now or asyncio.get_running_loop().time
        self._chats: dict[str, _Chat] = {}
        self._not_before = 0.0
        self._over: dict[str, None] = {}
        """Ids of turns, the oldest first."""

    def before(self, sender: Handler) -> Handler:
        """The same sender; drafts of a turn end before its replies begin."""
        return _Quieting(self, sender)

    def over(self, turn_id: str) -> None:
        """No draft of the turn goes out any more, also none that is being sent."""
        self._over[turn_id] = None
        if len(self._over) > REMEMBERED:
            del self._over[next(iter(self._over))]
        for chat in self._chats.values():
            if chat.newest is not None and chat.newest.turn_id == turn_id:
                chat.newest = None
            if chat.showing == turn_id and chat.task is not None:
                chat.task.cancel()

    async def serve(self) -> None:
        """Follow keys.draft_channel, for ever; lives through any outage."""
        async with asyncio.TaskGroup() as group:
            while True:
                pubsub = self._redis.pubsub()
                try:
                    await pubsub.subscribe(keys.draft_channel(self._api.bot_id))
                    while True:
                        heard = await pubsub.get_message(ignore_subscribe_messages=True, timeout=None)
                        if heard is not None:
                            self._hear(heard["data"], group)
                except RedisError:
                    await self._sleep(AWAY_S)
                finally:
                    await pubsub.aclose()

    def _hear(self, data: bytes, group: asyncio.TaskGroup) -> None:
        try:
            draft = load(TurnDraft, data)
        except (NotReadable, NewerVersion):
            return
        if draft.over:
            self.over(draft.turn_id)
        elif draft.turn_id not in self._over and draft.chat_id.isdecimal():  # a group's id is negative
            self._take(draft, group)

    def _take(self, draft: TurnDraft, group: asyncio.TaskGroup) -> None:
        chat = self._chats.get(draft.chat_id)
        if chat is None:
            self._forget_idle()
            if len(self._chats) >= AT_ONCE:
                return
            chat = self._chats[draft.chat_id] = _Chat()
        if self._waits_s(chat) > CHAT_EVERY_S:
            return  # after a 429: what is written then will be newer
        chat.newest = draft
        if chat.task is None or chat.task.done():
            chat.task = group.create_task(self._show(chat))

    def _forget_idle(self) -> None:
        now = self._now()
        for chat_id, chat in tuple(self._chats.items()):
            if (chat.task is None or chat.task.done()) and chat.not_before <= now:
                del self._chats[chat_id]

    def _waits_s(self, chat: _Chat) -> float:
        return max(chat.not_before, self._not_before) - self._now()

    async def _show(self, chat: _Chat) -> None:
        """Until nothing newer is there."""
        while chat.newest is not None:
            if (wait_s := self._waits_s(chat)) > 0:
                await self._sleep(wait_s)
                continue
            draft, chat.newest = chat.newest, None
            now = self._now()
            chat.not_before, self._not_before = now + CHAT_EVERY_S, now + BOT_EVERY_S
            chat.showing = draft.turn_id
            try:
                await self._send(chat, draft)
            finally:
                chat.showing = ""

    async def _send(self, chat: _Chat, draft: TurnDraft) -> None:
        bot_id = self._api.bot_id
        try:
            if await self._redis.exists(keys.send_pause(bot_id), keys.send_pause(bot_id, draft.chat_id)):
                return
            await self._api.draft(int(draft.chat_id), draft_id_of(draft.turn_id), draft.text, draft.topic_id)
        except TelegramRetryAfter as error:
            chat.not_before, chat.newest = self._now() + error.retry_after, None
        except TelegramNotFound:
            self._not_before = self._now() + UNKNOWN_S
        except (AiogramError, RedisError, ValueError) as error:
            log.debug("draft_not_shown", error=type(error).__name__)


class _Quieting:
    """A sender before whose replies the drafts of their turns end."""

    def __init__(self, drafts: Drafts, sender: Handler) -> None:
        self._drafts = drafts
        self._sender = sender

    async def run(self, claim: Claim) -> Outcome:
        """See lanes.outcome.Handler."""
        for item in claim.items:
            self._drafts.over(item.id.rpartition(":")[0])  # Reply.id
        return await self._sender.run(claim)

    def bury(self, claim: Claim, reason: str) -> Commit:
        """See lanes.outcome.Handler."""
        return self._sender.bury(claim, reason)
