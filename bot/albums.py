"""Albums in groups (C40): Telegram sends each item by itself, and only one of them need speak to the bot.

An item that does not is set aside for a moment, under the group's own key: if another one does, all are one turn; if none
does, it vanishes. Whoever would not be let in leaves nothing here.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import structlog

from bot.entrance import Welcome, decide
from infra import keys
from infra.clock import Clock
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.scripts import Script
from schemas.inbound import InboundMessage
from schemas.wire import NewerVersion, NotReadable, dump, load

ASIDE_MS = 5 * 60_000
"""The items of an album come within a second or two; this is for a bot that is started anew in between."""
MARK_MS = 24 * 3_600_000
"""Telegram keeps an item for a day; the mark holds no text."""
MOST_ASIDE = 100
"""Of one group topic; an album has ten items at most."""

_ALBUM = Script(Path(__file__).with_name("album.lua"))

log = structlog.get_logger()


class Albums:
    """Those of one bot. All raises what redis-py raises; then take the same item again."""

    def __init__(
        self, redis: RedisPort, people: PeopleCache, clock: Clock, only: Collection[str] | None = None
    ) -> None:
        """only: ids that this bot is for; None: for everybody who was let in."""
        self._redis, self._people, self._clock, self._only = redis, people, clock, only

    async def is_for_us(self, item: InboundMessage) -> bool:
        """item: does not speak to the bot. True: another one of its album did before; else it is set aside."""
        people, now_ms = await self._people.read(), self._clock()
        if not isinstance(decide(item, people, now_ms=now_ms, only=self._only), Welcome):
            return False
        called, _ = await self._run(item, dump(item))
        return bool(called)

    async def before(self, item: InboundMessage) -> tuple[InboundMessage, ...]:
        """item: speaks to the bot. Gives the items of its album that came before it, in order; those that come after it are
        for us too.

        What it gives stays where it is, so nothing is lost if the process dies before they are stored.
        """
        _, found = await self._run(item, b"")
        return tuple(sorted(_read(found), key=lambda one: one.message_id))

    async def _run(self, item: InboundMessage, body: bytes) -> tuple[int, list[bytes]]:
        return await _ALBUM(
            self._redis,
            [keys.albums(item.owner), keys.album(item.bot_id, item.album)],
            [f"{item.bot_id}:{item.album} ", body, ASIDE_MS, MARK_MS, MOST_ASIDE],
        )


def _read(bodies: Sequence[bytes]) -> Iterator[InboundMessage]:
    for body in bodies:
        try:
            yield load(InboundMessage, body)
        except (NotReadable, NewerVersion) as error:  # of another release, minutes ago
            log.warning("album_item_unreadable", error=type(error).__name__)
