"""What was recorded of turns and replies, in memory: the newest entries of the stream keys.life(), read on as it grows.

It holds ids, numbers and names, as the stream does: under 1 kB a turn. What the stream no longer has (trimmed, deleted, Redis
away) stays here until it is pushed out by newer turns; `read_at_ms` says of when it is.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

import structlog
from redis.exceptions import RedisError

from dashboard.pack import pack, unpack
from infra import keys
from infra.redis_port import RedisPort
from schemas.life import SentLife, TurnLife, TurnState
from schemas.wire import NewerVersion, NotReadable, load

KEPT = 20_000
"""Turns; with them a process stays below 72 MB."""
AT_ONCE = 100
POLL_S = 2.0
"""Pages read on by themselves; this keeps what nobody looks at from piling up."""
AWAITED = 20_000
"""Replies of known turns that are not sent yet."""
LATE_MS = 60_000
"""By how much the clocks of workers may differ: entries are in the order of commits, stamps need not be."""
LOST = 1_000
"""Replies of which a part was given up."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a reply (schemas.life.SentLife)."""

    taken_ms: int
    sent_ms: tuple[int, ...]
    ended_ms: int
    outcome: str
    resent: int
    left: int


@dataclass(slots=True, eq=False)
class Row:
    """One turn, as lists and numbers need it; the rest is `life()`."""

    id: str
    lane: str
    owner: str
    bot: str
    user_id: str
    message_ids: tuple[str, ...]
    state: TurnState
    fell_back: bool
    asked: str
    model: str
    """"" if none answered."""
    session_id: str
    exchange: int
    received_ms: int
    ended_ms: int
    """When it was committed."""
    cost_microusd: int | None
    tools: tuple[str, ...]
    packed: bytes
    """TurnLife without what is as by default, compressed."""
    sents: tuple[Sent, ...] = ()
    """What became of its replies, as far as they are out."""

    def life(self) -> TurnLife:
        """Everything that was recorded of it."""
        return unpack(self.packed)

    @property
    def models(self) -> tuple[str, ...]:
        """Who answered and who was asked, each once."""
        return tuple(dict.fromkeys(filter(None, (self.model, self.asked))))


@dataclass(slots=True, eq=False)
class Talk:
    """One conversation, as far as its turns are known."""

    id: str
    lane: str
    exchanges: int
    ended_ms: int
    """Of its last exchange."""
    cost_microusd: int | None
    """Of its turns; None: of one it is not known."""


def add_exchange(talks: dict[str, Talk], row: Row) -> None:
    """One more exchange; its conversation becomes the last one."""
    talk = talks.pop(row.session_id, None) or Talk(row.session_id, row.lane, 0, 0, 0)
    talk.exchanges, talk.ended_ms = max(talk.exchanges, row.exchange), row.ended_ms
    costs = (talk.cost_microusd, row.cost_microusd)
    talk.cost_microusd = None if None in costs else sum(cost or 0 for cost in costs)
    talks[talk.id] = talk


class Lives:
    """One per process, in Shared."""

    def __init__(self, kept: int = KEPT) -> None:
        self.read_at_ms = 0
        """Of Redis' clock, roughly: when the stream was last read to its end."""
        self.unreadable = 0
        """Entries of a newer release, or none at all."""
        self._kept = kept
        self._rows: deque[Row] = deque()
        self._by_id: dict[str, Row] = {}
        self._by_reply: dict[str, Row] = {}
        self._talks: dict[str, Talk] = {}
        self.talk_of_lane: dict[str, str] = {}
        """Lane → its newest conversation."""
        self.people: dict[str, int] = {}
        """User id → when their newest turn ended."""
        self.unpriced_ms = 0
        """When the newest turn ended whose cost is not known."""
        self._lost: dict[str, tuple[int, int]] = {}
        self._last_id = "0"
        self._reading = asyncio.Lock()

    # ── what it knows ────────────────────────────────────────────────────────────────────────────────────────────
    def __len__(self) -> int:
        return len(self._rows)

    def newest_first(self) -> Iterator[Row]:
        """All turns. Not to be held over an `await`."""
        return reversed(self._rows)

    def since(self, at_ms: int) -> Sequence[Row]:
        """Turns that ended at or after a moment, newest first."""
        found: list[Row] = []
        for row in reversed(self._rows):
            if row.ended_ms < at_ms - LATE_MS:
                break
            if row.ended_ms >= at_ms:
                found.append(row)
        return found

    def talks_since(self, at_ms: int) -> Sequence[Talk]:
        """Conversations with an exchange at or after a moment, newest first."""
        found: list[Talk] = []
        for talk in reversed(self._talks.values()):
            if talk.ended_ms < at_ms - LATE_MS:
                break
            if talk.ended_ms >= at_ms:
                found.append(talk)
        return found

    def turn(self, turn_id: str) -> Row | None:
        """The newest entry of a turn."""
        return self._by_id.get(turn_id)

    def of_message(self, message_id: str) -> Row | None:
        """The newest turn that a message was in."""
        return next((row for row in reversed(self._rows) if message_id in row.message_ids), None)

    def lost_since(self, at_ms: int) -> int:
        """Parts of replies that were given up, notices and reminders too."""
        return sum(parts for ended_ms, parts in self._lost.values() if ended_ms >= at_ms)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────
    async def serve(self, redis: RedisPort) -> None:
        """Read on until cancelled; waits while Redis is away."""
        while True:
            try:
                await self.read_on(redis)
            except RedisError as error:
                log.debug("lives_not_read", error=type(error).__name__)
            await asyncio.sleep(POLL_S)

    async def read_on(self, redis: RedisPort) -> None:
        """Take in what is new; what is known then is what the stream held when this was called.

        While it is first filled, nobody waits for that: a page shows what is known so far.

        Raises what redis-py raises: what was read before is kept.
        """
        if self._reading.locked() and not self.read_at_ms:
            return
        async with self._reading:
            await self._start_again_if_older(redis)
            while True:
                entries = await redis.xrange(keys.life(), f"({self._last_id}", "+", AT_ONCE)
                for entry_id, fields in entries:
                    self._take(fields)
                    self._last_id = entry_id.decode()
                if len(entries) < AT_ONCE:
                    break
                await asyncio.sleep(0)
            seconds, micros = await redis.time()
            self.read_at_ms = seconds * 1000 + micros // 1000

    async def _start_again_if_older(self, redis: RedisPort) -> None:
        """A stream whose last entry is older than what was read is another one: a backup was put back."""
        if self._last_id == "0":
            return
        async with redis.pipeline(transaction=False) as pipe:
            pipe.xrevrange(keys.life(), count=1)
            (newest,) = await pipe.execute()
        if newest and _place(newest[0][0].decode()) < _place(self._last_id):
            self._last_id = "0"

    def _take(self, fields: Mapping[bytes, bytes]) -> None:
        try:
            if (raw := fields.get(b"turn")) is not None:
                self._take_turn(load(TurnLife, raw))
            elif (raw := fields.get(b"sent")) is not None:
                self._take_sent(load(SentLife, raw))
        except (NotReadable, NewerVersion) as error:
            self.unreadable += 1
            log.debug("life_unreadable", error=str(error))

    def _take_turn(self, life: TurnLife) -> None:
        row = row_of(life)
        known = self._by_id.get(life.id)
        if known is not None and known.ended_ms == row.ended_ms:
            return
        self._rows.append(row)
        self._by_id[row.id] = row
        self._sum_up(row)
        for reply_id in life.reply_ids:
            self._by_reply[reply_id] = row
        while len(self._rows) > self._kept:
            self._drop(self._rows.popleft())
        _shorten(self._by_reply, AWAITED)

    def _sum_up(self, row: Row) -> None:
        """Into what is known of people and conversations."""
        self.people[row.user_id] = row.ended_ms
        if row.cost_microusd is None:
            self.unpriced_ms = row.ended_ms
        if not row.exchange:
            return
        self.talk_of_lane[row.lane] = row.session_id
        add_exchange(self._talks, row)
        _shorten(self._talks, self._kept)

    def _drop(self, row: Row) -> None:
        if self._by_id.get(row.id) is row:
            del self._by_id[row.id]

    def _take_sent(self, life: SentLife) -> None:
        if life.left:
            self._lost[life.reply_id] = (life.ended_ms, life.left)
            _shorten(self._lost, LOST)
        if (row := self._by_reply.pop(life.reply_id, None)) is not None:
            sent = Sent(
                life.taken_ms, life.sent_ms, life.ended_ms, intern(life.outcome), life.resent, life.left
            )
            row.sents = (*row.sents, sent)


def row_of(life: TurnLife) -> Row:
    """Names that many turns share are kept once."""
    return Row(
        id=life.id,
        lane=intern(life.lane),
        owner=intern(life.owner),
        bot=intern(life.bot),
        user_id=intern(life.user_id),
        message_ids=life.message_ids,
        state=life.state,
        fell_back=life.fell_back,
        asked=intern(life.asked),
        model=intern(life.model),
        session_id=life.session_id,
        exchange=life.exchange,
        received_ms=life.received_ms,
        ended_ms=life.committed_ms,
        cost_microusd=life.cost_microusd,
        tools=tuple(intern(one.name) for one in life.tools),
        packed=pack(life),
    )


def _shorten(known: dict[str, Any], most: int) -> None:
    """Drop the oldest."""
    while len(known) > most:
        del known[next(iter(known))]


def _place(entry_id: str) -> tuple[int, int]:
    """Of an entry among the others: "1700000000000-3"."""
    ms, _, nth = entry_id.partition("-")
    return int(ms), int(nth or 0)
