"""Every chat that koi knows of: people, groups and their topics, with what runs in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dashboard.lives import Row
from dashboard.names import Names, Place, read_names
from dashboard.queue import LaneNow, queue_now
from dashboard.shared import Shared
from infra import keys
from infra.clock import ms
from infra.together import checked, together
from schemas.memory import Session
from schemas.wire import NewerVersion, NotReadable, load

PER_PAGE = 30
TURNS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation that runs in a chat."""

    exchanges: int
    left_ms: int
    """Until it is over, if nobody writes."""
    started_ms: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    """One lane, or somebody who has not written since records are kept."""

    lane: str
    """ "" if the bot is not known."""
    name: str
    bot: str = ""
    owner: str = ""
    """Whose memory it is; "" if it is not known."""
    messages: int = 0
    """Recorded ones."""
    answered: int = 0
    fallback: int = 0
    failed: int = 0
    last_ms: int = 0
    """When its newest recorded turn ended; 0: none is."""
    microusd: int = 0
    unpriced: int = 0
    """Turns whose cost is not known."""
    talk: Talk | None = None
    now: LaneNow | None = None
    """What waits or runs; None: nothing."""

    @property
    def fallback_share(self) -> float | None:
        """Of the answered messages, as on Now; None: none was answered."""
        return self.fallback / self.answered if self.answered else None

    @property
    def cost_microusd(self) -> int | None:
        """Of the recorded turns; None: it is not known of some, and the others cost nothing."""
        return None if self.unpriced and not self.microusd else self.microusd

    @property
    def is_group(self) -> bool:
        """A group, or a topic of one."""
        return Place.of(self.lane).is_group


@dataclass(frozen=True, slots=True)
class Chats:
    """One page of them, those with the newest message first."""

    shown: Sequence[Chat]
    total: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Turns:
    """One chat, with its newest recorded turns, newest first."""

    chat: Chat
    rows: Sequence[Row] = field(default_factory=tuple[Row, ...])
    more: int = 0
    """Older ones that are not shown."""


@dataclass(slots=True)
class _Sum:
    """Of one lane, while its turns are added up."""

    newest: Row
    messages: int = 0
    answered: int = 0
    fallback: int = 0
    failed: int = 0
    microusd: int = 0
    unpriced: int = 0

    def add(self, row: Row) -> None:
        n = len(row.message_ids)
        self.messages += n
        if row.state == "dead":
            self.failed += n
        else:
            self.answered += n
        if row.fell_back:
            self.fallback += n
        if row.cost_microusd is None:
            self.unpriced += 1
        else:
            self.microusd += row.cost_microusd


# ── pure ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def chats_of(rows: Iterable[Row], names: Names, lanes: Iterable[str]) -> list[Chat]:
    """rows: newest first. lanes: others that are known. People and groups that are in none of them stand last."""
    sums: dict[str, _Sum] = {}
    for row in rows:
        if (found := sums.get(row.lane)) is None:
            found = sums[row.lane] = _Sum(row)
        found.add(row)
    chats = [_chat(lane, one, names) for lane, one in sums.items()]
    chats += [chat_at(lane, names) for lane in dict.fromkeys(lanes) if lane not in sums]
    met = {Place.of(chat.lane).chat_id for chat in chats}
    people = [
        chat_at(f"{one.chat_bot_id}:{user_id}:0" if one.chat_bot_id else "", names, names.person(user_id))
        for user_id, one in names.people.by_id.items()
        if user_id not in met and one.role != "blocked"
    ]
    groups = [
        Chat("", " ".join(one.title.split()) or chat_id)
        for chat_id, one in names.people.groups.items()
        if chat_id not in met and one.role == "approved"
    ]
    return [*chats, *people, *groups]


def chat_at(lane: str, names: Names, name: str = "") -> Chat:
    """One without a record."""
    return Chat(lane, name or names.chat(lane), names.bot(Place.of(lane).bot_id))


def _chat(lane: str, one: _Sum, names: Names) -> Chat:
    return Chat(
        lane, names.chat(lane), one.newest.bot or names.bot(Place.of(lane).bot_id), one.newest.owner,
        messages=one.messages, answered=one.answered, fallback=one.fallback, failed=one.failed,
        last_ms=one.newest.ended_ms, microusd=one.microusd, unpriced=one.unpriced,
    )  # fmt: skip


def matching(chats: Iterable[Chat], wanted: str) -> list[Chat]:
    """Whose name, bot or id holds these words, in any case."""
    words = wanted.casefold().split()
    return [
        chat for chat in chats
        if all(word in f"{chat.name} {chat.bot} {chat.lane}".casefold() for word in words)
    ]  # fmt: skip


def talk_of(raw: bytes | None, now_ms: int, idle_ms: int) -> Talk | None:
    """Of a stored Session; None: none runs, or this release cannot read it."""
    try:
        session = load(Session, raw) if raw else None
    except (NotReadable, NewerVersion):
        return None
    if session is None or (left_ms := session.last_ms + idle_ms - now_ms) <= 0:
        return None
    return Talk(
        session.total or len(session.exchanges), min(left_ms, idle_ms), session.started_ms, session.id
    )


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def read_chats(shared: Shared, now_ms: int, wanted: str, page: int) -> Chats:
    """page: from 1. Sessions are read of the chats shown only. Raises what redis-py raises."""
    names = await read_names(shared)
    await shared.lives.read_on(shared.redis)
    (texts,) = checked(await together(shared.redis).run(("ZRANGE", keys.expiry(), 0, -1)))
    queue = await queue_now(shared.redis)
    busy = {one.lane: one for one in queue.inbox}
    prefix = keys.session("")
    sessions = (one.decode().removeprefix(prefix) for one in texts if one.startswith(prefix.encode()))
    found = chats_of(shared.lives.newest_first(), names, (*busy, *sessions))
    found = sorted(
        matching(found, wanted), key=lambda chat: -(busy[chat.lane].items if chat.lane in busy else 0)
    )
    pages = max(1, -(-len(found) // PER_PAGE))
    page = min(max(1, page), pages)
    shown = found[(page - 1) * PER_PAGE : page * PER_PAGE]
    return Chats(await _with_talks(shared, shown, busy, now_ms), len(found), page, pages)


async def read_turns(shared: Shared, lane: str, now_ms: int) -> Turns:
    """One chat. Raises what redis-py raises."""
    names = await read_names(shared)
    await shared.lives.read_on(shared.redis)
    rows = [row for row in shared.lives.newest_first() if row.lane == lane]
    found = chats_of(rows, names, ())
    chat = next((one for one in found if one.lane == lane), chat_at(lane, names))
    busy = {one.lane: one for one in (await queue_now(shared.redis)).inbox}
    (chat,) = await _with_talks(shared, [chat], busy, now_ms)
    return Turns(chat, rows[:TURNS_SHOWN], max(0, len(rows) - TURNS_SHOWN))


async def _with_talks(
    shared: Shared, chats: Sequence[Chat], busy: Mapping[str, LaneNow], now_ms: int
) -> Sequence[Chat]:
    if not chats:
        return ()
    raws = await shared.redis.mget([keys.session(chat.lane) for chat in chats])
    idle_ms = ms(shared.settings.session.idle)
    return tuple(
        replace(chat, talk=talk_of(raw, now_ms, idle_ms), now=busy.get(chat.lane))
        for chat, raw in zip(chats, raws, strict=True)
    )


def search_for(chat: Chat) -> str:
    """The search on Messages that shows this chat alone."""
    return f'chat:"{chat.lane}"'
