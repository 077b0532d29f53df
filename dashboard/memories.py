"""What is remembered, owner by owner: entries with the time that is left of them, the conversations that run, and which
answers an entry was used in.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dashboard.actions import Forget, field_of
from dashboard.chats import Talk, talk_of
from dashboard.lives import Row
from dashboard.names import Names, Place, read_names
from dashboard.shared import Shared
from infra import keys
from infra.clock import ms
from infra.together import checked, together
from schemas.memory import Exchange, RingEntry, Session
from schemas.turn import TurnRecord
from schemas.wire import NewerVersion, NotReadable, WireModel, load

PER_PAGE = 50
TURNS_LOOKED_AT = 300
"""Of one owner, for the entries that their answers quoted."""
LANES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Owner:
    """A memory owner."""

    id: str
    name: str
    entries: int
    next_ms: int
    """When something of it expires, koi's clock."""


@dataclass(frozen=True, slots=True)
class Owners:
    """One page of them: whose texts expire next stands last."""

    shown: Sequence[Owner]
    total: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Kept:
    """One remembered entry."""

    entry: RingEntry
    left_ms: int
    """Until it is gone."""
    field: str
    """Of the form that forgets it (dashboard.actions)."""
    used_in: tuple[str, ...]
    """Turns whose context quoted it, newest first."""


@dataclass(frozen=True, slots=True)
class Running:
    """A conversation of the owner."""

    lane: str
    name: str
    talk: Talk
    exchanges: tuple[Exchange, ...]
    """Those that are still word for word in it, oldest first."""
    summary: str
    tokens: int
    """Of those exchanges, by estimate; 0: not counted."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one owner, newest entry first."""

    owner: str
    name: str
    kept: Sequence[Kept]
    running: Sequence[Running]
    epoch: str
    """How often it was forgotten: what a page that forgets all has seen."""
    facts: int = 0
    unreadable: int = 0
    """Entries of a newer release, or broken."""


# ── pure ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def kept_of(
    raws: Iterable[bytes], owner: str, used: Mapping[str, Sequence[str]], *, now_ms: int, max_age_ms: int
) -> tuple[tuple[Kept, ...], int]:
    """raws: the ring, oldest first. What is too old is gone, though it may not be removed yet. Gives how many cannot be read."""
    found: list[Kept] = []
    unreadable = 0
    for raw in raws:
        entry = _readable(RingEntry, raw)
        if entry is None:
            unreadable += 1
            continue
        left_ms = entry.at_ms + max_age_ms - now_ms
        if left_ms > 0:
            field = field_of(Forget(owner, entry.id))
            found.append(Kept(entry, min(left_ms, max_age_ms), field, tuple(used.get(entry.id, ()))))
    return tuple(reversed(found)), unreadable


def used_in(rows: Iterable[Row], records: Iterable[TurnRecord]) -> Mapping[str, list[str]]:
    """Entry → the turns that quoted it, newest first. rows: of one owner, newest first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    known: set[str] = set()
    for row in rows:
        known.add(row.id)
        for entry_id in row.life().entry_ids:
            found[entry_id].append(row.id)
    for record in records:
        if record.id not in known:
            for entry_id in dict.fromkeys(id_ for part in record.parts for id_ in part.entry_ids):
                found[entry_id].append(record.id)
    return found


def running_of(lane: str, raw: bytes | None, name: str, *, now_ms: int, idle_ms: int) -> Running | None:
    """None: no conversation runs there."""
    talk, session = talk_of(raw, now_ms, idle_ms), _readable(Session, raw or b"")
    if talk is None or session is None:
        return None
    return Running(
        lane, name, talk, session.exchanges, session.summary, sum(one.tokens for one in session.exchanges)
    )


def page_of(owners: Sequence[Owner], page: int) -> Owners:
    """page: from 1."""
    pages = max(1, -(-len(owners) // PER_PAGE))
    page = min(max(1, page), pages)
    return Owners(owners[(page - 1) * PER_PAGE : page * PER_PAGE], len(owners), page, pages)


def _readable[W: WireModel](model: type[W], raw: bytes) -> W | None:
    try:
        return load(model, raw)
    except (NotReadable, NewerVersion):
        return None


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def read_owners(shared: Shared, wanted: str, page: int) -> Owners:
    """Everybody of whom something is remembered, by keys.expiry(). Two round trips. Raises what redis-py raises."""
    names = await read_names(shared)
    (found,) = checked(await together(shared.redis).run(("ZREVRANGE", keys.expiry(), 0, -1, "WITHSCORES")))
    prefix = keys.ring("")
    pairs = (
        found
        if found and isinstance(found[0], tuple | list)
        else list(zip(found[::2], found[1::2], strict=True))
    )
    owners = [
        Owner(owner, names.owner(owner), 0, round(float(score)))
        for member, score in pairs
        if (name := member.decode()).startswith(prefix) and (owner := name.removeprefix(prefix))
    ]
    words = wanted.casefold().split()
    matching = [one for one in owners if all(word in f"{one.name} {one.id}".casefold() for word in words)]
    shown = page_of(matching, page)
    if not shown.shown:
        return shown
    lengths = checked(await together(shared.redis).run(*(("LLEN", keys.ring(one.id)) for one in shown.shown)))
    counted = tuple(
        Owner(one.id, one.name, n, one.next_ms) for one, n in zip(shown.shown, lengths, strict=True)
    )
    return Owners(counted, shown.total, shown.page, shown.pages)


async def read_memory(shared: Shared, owner: str, now_ms: int) -> Memory:
    """Of one owner, in three round trips. Raises what redis-py raises."""
    names = await read_names(shared)
    await shared.lives.read_on(shared.redis)
    ring, turns, epoch, facts, lanes = checked(
        await together(shared.redis).run(
            ("LRANGE", keys.ring(owner), 0, -1),
            ("LRANGE", keys.turns(owner), 0, -1),
            ("GET", keys.epoch(owner)),
            ("HLEN", keys.facts(owner)),
            ("SMEMBERS", keys.lanes_of(owner)),
        )
    )
    max_age_ms = ms(shared.settings.memory.max_age)
    rows = [row for row in shared.lives.since(now_ms - max_age_ms) if row.owner == owner][:TURNS_LOOKED_AT]
    records = [record for raw in reversed(turns) if (record := _readable(TurnRecord, raw)) is not None]
    kept, unreadable = kept_of(ring, owner, used_in(rows, records), now_ms=now_ms, max_age_ms=max_age_ms)
    sides = (job.decode() for job in lanes)
    of_lanes = (*(job.partition(":")[2] for job in sides), *(row.lane for row in rows))
    running = await _running(shared, names, tuple(dict.fromkeys(of_lanes))[:LANES_SHOWN], now_ms)
    return Memory(owner, names.owner(owner), kept, running, (epoch or b"0").decode(), facts, unreadable)


async def _running(shared: Shared, names: Names, lanes: Sequence[str], now_ms: int) -> tuple[Running, ...]:
    if not lanes:
        return ()
    raws = await shared.redis.mget([keys.session(lane) for lane in lanes])
    found = (
        running_of(
            lane,
            raw,
            names.bot(Place.of(lane).bot_id),
            now_ms=now_ms,
            idle_ms=ms(shared.settings.session.idle),
        )
        for lane, raw in zip(lanes, raws, strict=True)
    )
    return tuple(one for one in found if one is not None)
