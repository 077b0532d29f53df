"""An answer on its way to whoever shows it while it is written. May be lost, and holds nothing up.

Published within the model's stream, without a task of its own: an answer that is done at once costs nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog
from redis.exceptions import RedisError

from infra import keys
from llm.provider import ShowText
from schemas.draft import TurnDraft
from schemas.wire import dump
from workers.echo import without_block
from workers.outgoing import Place, is_local

FIRST_S = 0.7
"""An answer that is done by then is not worth a draft."""
EVERY_S = 0.35
"""About three a second; the bot has a pace of its own."""
MOST_UNITS = 4_000
"""UTF-16: a draft may have 4,096 (Bot API, sendMessageDraft)."""
PATIENCE_S = 0.25
"""For Redis to take one; the model's words wait meanwhile."""
AWAY_S = 5.0
"""Until the next, if it did not."""

type Publish = Callable[[str, bytes], Awaitable[object]]
"""RedisPort.publish."""

log = structlog.get_logger()


@dataclass
class Drafts:
    """Of one turn."""

    publish: Publish
    place: Place
    turn_id: str
    _not_before: float = field(init=False)
    """Seconds of the running loop's time()."""
    _shown: str = ""
    _published: bool = False

    def __post_init__(self) -> None:
        self._not_before = asyncio.get_running_loop().time() + FIRST_S

    @property
    def show(self) -> ShowText | None:
        """For Chain.complete, once per call of it; None: nobody would see it."""
        if not shows_drafts(self.place):
            return None
        self._shown = ""
        return self._show

    async def over(self) -> None:
        """Nothing more comes: the reply is next."""
        if self._published:
            await self._publish(TurnDraft(turn_id=self.turn_id, chat_id=self.place.chat_id, over=True))

    async def _show(self, text: str) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._not_before:
            return
        text = beginning(without_block(text))
        if len(text) <= len(self._shown) or not text.strip():
            return
        self._not_before, self._shown = now + EVERY_S, text
        place = self.place
        await self._publish(
            TurnDraft(turn_id=self.turn_id, chat_id=place.chat_id, topic_id=place.topic_id, text=text)
        )

    async def _publish(self, draft: TurnDraft) -> None:
        self._published = True
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.publish(keys.draft_channel(self.place.bot_id), dump(draft))
        except (RedisError, TimeoutError) as error:
            self._not_before = asyncio.get_running_loop().time() + AWAY_S
            log.debug("draft_not_published", error=type(error).__name__)


def shows_drafts(place: Place) -> bool:
    """A private chat of Telegram: ids of groups are negative, and a terminal has no bot."""
    return place.chat_id.isdecimal() and not is_local(place.bot_id)


def beginning(text: str) -> str:
    """As much of it as a draft may have."""
    if len(text) * 2 <= MOST_UNITS:
        return text
    return text.encode("utf-16-le", "replace")[: 2 * MOST_UNITS].decode("utf-16-le", "ignore")
