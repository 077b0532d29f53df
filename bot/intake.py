"""From Telegram's updates into the lanes: what long polling and the webhook share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.account import marked
from bot.admit import Door
from bot.albums import Albums
from bot.api import Me
from bot.edits import amendment
from bot.entrance import title_in
from bot.stopping import is_stop, press, pressed_in, stop
from bot.translate import Ignored, Read, migration_in, read, tap_in
from infra import keys
from infra.clock import ms
from infra.effect import Push
from infra.forget import forget, meant
from infra.migrate import Migrated, migrate
from infra.people import PeopleCache
from infra.pushes import push_message
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.amend import Amended, amend
from lanes.ingest import ingest
from schemas.inbound import InboundMessage

log = structlog.get_logger()

REPLICA_WAIT_MS = 1_000


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a batch of updates."""

    next_update_id: int
    """The first update that is not safe yet, or the one after the last."""
    error: str = ""
    """Why it stopped before the end; "" if it did not."""


@dataclass(slots=True)
class _Batch:
    """Pushes of updates in order, and which update each belongs to."""

    pushes: list[Push] = field(default_factory=list[Push])
    update_ids: list[int] = field(default_factory=list[int])
    """One per push."""
    taps: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Updates that are taps, and what Telegram calls these."""
    next_update_id: int = 0

    def clear(self) -> None:
        """What it held is stored."""
        self.pushes, self.update_ids, self.taps, self.next_update_id = [], [], [], 0

    def add(self, update_id: int, pushes: Sequence[Push], tap: str) -> None:
        """tap: what Telegram calls the tap on a button that the update is; "" if it is none."""
        if tap:
            self.taps.append((update_id, tap))
        self.pushes += pushes
        self.update_ids += [update_id] * len(pushes)
        self.next_update_id = update_id + 1


class Intake:
    """Takes the updates of one bot: translated, admitted, stored in order."""

    def __init__(
        self,
        redis: RedisPort,
        settings: Settings,
        me: Me,
        door: Door,
        *,
        keeps_offset: bool = True,
        heard: Callable[[str], None] = lambda _query_id: None,
    ) -> None:
        """keeps_offset: store the next update id with the batch (long polling).

        heard: told of each tap on a button when it is safe; must not wait.
        """
        self._redis = redis
        self._keeps_offset = keeps_offset
        self._me = me
        self._door = door
        self._albums = Albums(redis, PeopleCache(redis, settings, door.clock), door.clock, me.people)
        self._heard = heard
        self._debounce_ms = ms(settings.turn.debounce)
        self._replicated = settings.redis_url.startswith("redis+sentinel://")

    async def take(self, updates: Sequence[Mapping[str, Any]]) -> Taken:
        """Store a batch; stops at the first update that cannot be stored.

        Raises what redis-py raises: then nothing is known; take the same batch again.
        """
        batch = _Batch()
        for raw in updates:
            update_id, tap = int(raw["update_id"]), tap_in(raw)
            if (ids := migration_in(raw)) is not None:
                stopped = await self._migrated(batch, update_id, ids)
            else:
                found = read(raw, self._me, self._door.clock())
                if isinstance(found, Ignored):
                    await self._press(raw, update_id, found.reason)
                    batch.add(update_id, (), tap)
                    continue
                stopped = await self._read(batch, update_id, found, raw, tap)
            if stopped:
                return stopped
        return await self._store(batch)

    async def _read(
        self, batch: _Batch, update_id: int, found: Read, raw: Mapping[str, Any], tap: str
    ) -> Taken | None:
        """One message into the batch, or what it does at admission. Not None: the batch stops here."""
        message, hold_ms = marked(found.message, self._me), self._debounce_ms if found.maybe_part else 0
        if found.is_aside and not await self._albums.is_for_us(message):
            batch.add(update_id, (), tap)
            return None
        tapped, only = bool(tap or message.reaction), self._me.people
        admitted = await self._door.admit(message, title=title_in(raw), tapped=tapped, only=only)
        if admitted is not True:
            batch.add(update_id, admitted, tap)
            return None
        what = what_to_forget(message)
        if what or is_stop(message) or message.edited:
            stored = await self._store(batch)  # what came before goes in before: it is meant too
            if stored.error:
                return stored
            batch.clear()
        if await self._is_carried_out(message):
            batch.add(update_id, (), tap)
            return None
        if what:
            forgot = await forget(self._redis, message.owner, what, claim=message.id)
            message = message.model_copy(update={"forgot": forgot})
        calls = message.album and message.chat_kind == "group" and not (found.is_aside or message.edited)
        before = await self._albums.before(message) if calls else ()
        batch.add(update_id, [push_message(one, hold_ms) for one in (*before, message)], tap)
        return None

    async def _is_carried_out(self, message: InboundMessage) -> bool:
        """A /stop that stopped something, or an edit of what still waited: there is nothing left for a turn."""
        if message.edited:
            return await amend(self._redis, amendment(message)) is not Amended.MISSED
        return is_stop(message) and await stop(self._redis, message)

    async def _migrated(self, batch: _Batch, update_id: int, ids: tuple[str, str]) -> Taken | None:
        """A group became a supergroup: all that is kept of it moves to the new id."""
        stored = await self._store(batch)
        if stored.error:
            return stored
        batch.clear()
        old, new = ids
        me = self._me
        moved = await migrate(self._redis, bot_id=me.bot_id, store=me.store, old_chat_id=old, new_chat_id=new)
        if moved is Migrated.BUSY:
            return Taken(update_id, "a migration waits")
        batch.add(update_id, (), "")
        return None

    async def _press(self, raw: Mapping[str, Any], update_id: int, reason: str) -> None:
        """Of updates that are no message one is carried out: the button under a draft was pressed."""
        pressed = pressed_in(raw, self._me)
        if pressed is None:
            log.debug("update_ignored", bot=self._me.name, update_id=update_id, reason=reason)
        else:
            await press(self._redis, pressed, update=f"{self._me.bot_id}:{update_id}")

    async def _store(self, batch: _Batch) -> Taken:
        taken = await self._stored(batch)
        for update_id, tap in batch.taps:
            if update_id < taken.next_update_id:
                self._heard(tap)
        return taken

    async def _stored(self, batch: _Batch) -> Taken:
        if batch.next_update_id == 0:
            return Taken(0)
        offset = (keys.offset(self._me.bot_id), batch.next_update_id) if self._keeps_offset else None
        ingested = await ingest(self._redis, batch.pushes, offset=offset)
        if ingested.error:
            return Taken(batch.update_ids[ingested.taken], ingested.error)
        if self._replicated and not await self._is_replicated():
            return Taken(0, "no replica has it yet")
        return Taken(batch.next_update_id)

    async def _is_replicated(self) -> bool:
        """Whether a replica holds everything written until now. WAIT counts from the last write of its own connection,
        so it goes behind a write on the same one.
        """
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.set(keys.once(f"replicated:{self._me.bot_id}"), "1", ex=60)
            pipe.wait(1, REPLICA_WAIT_MS)
            _, replicas = await pipe.execute()
        return replicas > 0


def what_to_forget(message: InboundMessage) -> str:
    """What `infra.forget.forget` is asked for; "" if the message is no /forget, or says not what."""
    return meant(message.argument) if message.command == "forget" else ""
