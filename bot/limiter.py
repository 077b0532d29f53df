"""How fast a bot may send, shared by all processes: so many messages a second in all, so many in one chat.

Telegram's limits (Bot API FAQ, "My bot is hitting limits"): about 30 a second in all, one a second in a chat with
short bursts, 20 a minute in a group. What it answers with 429 is kept as a pause of the chat, or of the bot.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from infra import keys
from infra.redis_port import RedisPort
from infra.scripts import Script
from infra.settings import TelegramSettings

BOT_BURST_S = 0.5
"""A silent bot may send what it could have sent in this time at once."""
CHAT_BURST = 4
"""Messages that may follow each other at once in one chat: the parts of a long answer."""
SHORT_WAIT_MS = 1_000
"""A wait of the whole bot up to this is slept through, in order of arrival; a longer one frees the slot."""
CHATS_THAT_ARE_THE_BOT = 3
"""429s in so many different chats, and no success between: it is the bot that is too fast."""

LIMITER = Script(Path(__file__).with_name("limiter.lua"))


@dataclass(frozen=True, slots=True)
class Wait:
    """ms until a message may leave; 0 and 0: it may now, and was counted."""

    bot_ms: int
    chat_ms: int

    @property
    def ms(self) -> int:
        return max(self.bot_ms, self.chat_ms)

    @property
    def settled(self) -> bool:
        """Nothing to wait for, or nothing to wait for here: in a chat's own wait other chats may send."""
        return self.bot_ms == 0 or self.chat_ms > 0 or self.bot_ms > SHORT_WAIT_MS


def between_us(per_second: float) -> int:
    """µs between two messages."""
    return max(1, round(1_000_000 / per_second))


class Limiter:
    """The send limits of one bot."""

    def __init__(
        self,
        redis: RedisPort,
        bot_id: str,
        limits: TelegramSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._redis = redis
        self._bot_id = bot_id
        self._bot = (
            between_us(limits.messages_per_second),
            max(1, round(limits.messages_per_second * BOT_BURST_S)),
        )
        self._private_us = between_us(limits.chat_messages_per_second)
        self._group_us = between_us(limits.group_messages_per_minute / 60)
        self._flooded: set[str] = set()
        self._sleep = sleep
        self._gate = asyncio.Lock()

    async def turn(self, chat_id: str) -> int:
        """Wait until a message may leave, and count it: 0. Or the ms after which to ask again, without a slot.

        Raises what redis-py raises.
        """
        if not self._gate.locked():
            wait = await self.take(chat_id)
            if wait.settled:
                return wait.ms
        async with self._gate:
            while not (wait := await self.take(chat_id)).settled:
                await self._sleep(wait.bot_ms / 1000)
        return wait.ms

    async def take(self, chat_id: str) -> Wait:
        """Ask to send one message now.

        Raises what redis-py raises.
        """
        chat_us = self._group_us if chat_id.startswith("-") else self._private_us
        bot_ms, chat_ms = await LIMITER(
            self._redis,
            [
                keys.send_limit(self._bot_id),
                keys.send_limit(self._bot_id, chat_id),
                keys.send_pause(self._bot_id),
                keys.send_pause(self._bot_id, chat_id),
            ],
            [*self._bot, chat_us, CHAT_BURST],
        )
        return Wait(bot_ms, chat_ms)

    def worked(self) -> None:
        """A message was taken: the bot is not too fast."""
        self._flooded.clear()

    async def flooded(self, chat_id: str, wait_ms: int) -> None:
        """Telegram answered 429 in this chat: pause it, or the bot if that happens in one chat after the other."""
        self._flooded.add(chat_id)
        whole_bot = len(self._flooded) >= CHATS_THAT_ARE_THE_BOT
        key = keys.send_pause(self._bot_id, "" if whole_bot else chat_id)
        await self._redis.set(key, "1", px=wait_ms)
