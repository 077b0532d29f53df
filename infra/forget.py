"""Forgotten is gone: one step over everything that holds text of a memory owner.

Used by the bot when /forget is admitted, by `koi memory forget`, later by the dashboard.

"all" is decided by the script alone. For the rest, what is to go is chosen here from one atomic look, and the script
removes exactly that if nothing changed since; else it is looked at again.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any, cast

import orjson

from infra import keys
from infra.redis_port import RedisPort
from infra.scripts import Script

EPOCH_TTL_MS = 30 * 24 * 3_600_000
"""Far beyond the life of any turn, which lives as long as its message waits for its attempts."""
LOOKS = 8
"""Looks at a lane that keeps changing; after the last one only the values that it showed are removed."""
TEXT_FIELDS = ("user_message", "summary", "reply", "text", "argument")
"""Fields with words of people and models in RingEntry, InboundMessage and Reply; the rest are ids and names."""

ALL = {"all", "alles", "everything"}
LAST = {"last", "letzte", "letztes", "letzten"}
ENTRY = re.compile(r"#[\w.:-]{0,128}[0-9a-f]{16}[\w.:-]{0,128}", re.ASCII)
"""One entry, by its id or its handle: every id that koi gives holds 16 hexadecimal digits in a row, and no hashtag does."""
HANDLE_CHARS = 16

_LOOK = Script(Path(__file__).with_name("forget_look.lua"))
_FORGET = Script(Path(__file__).with_name("forget.lua"))
_TAKEN_BEFORE, _CHANGED = -1, -2

type Removal = tuple[str, bytes, bytes]
"""Three words of forget.lua: what kind, which lane, which id or value."""
type Named = tuple[bytes, bytes]
"""An id or a name, and its value."""


@dataclass(frozen=True, slots=True)
class LaneSight:
    """What one side of a lane holds."""

    job_id: bytes
    bodies: tuple[Named, ...]
    kept: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Sight:
    """Everything that holds text of an owner, as it was at one moment."""

    stamp: str
    ring: tuple[bytes, ...]
    """Oldest first."""
    letters: tuple[Named, ...]
    lanes: tuple[LaneSight, ...]


async def forget(redis: RedisPort, owner: str, what: str, *, claim: str = "") -> int | None:
    """Remove entries of `owner` and raise its epoch, so that running turns store no text.

    what: "all": ring, sessions, waiting messages, kept rounds, unsent replies, dead letters. "last": the newest entry
    and what is left of its reply. "#" and the id of an entry, or its handle: the same for that entry. Anything else:
    every entry whose texts contain it (NFC, case-folded), and waiting messages, kept rounds, unsent replies and dead
    letters that contain it. In all forms the running sessions of the owner end, with what was folded of them, the
    records of its turns go, and a reply part that is just being sent may finish.
    claim: an update id; if it was taken before (keys.claim_of), nothing happens and None is given. If it was forgotten
    for, but not taken (the process died between), nothing more happens and the same number is given again.

    Gives the number of ring entries removed.

    Raises what redis-py raises; ResponseError beginning with WRONGTYPE if a key cannot be read: then nothing changed.
    """
    if what == "all":
        return await _remove(redis, owner, "all", "", (), claim)
    for looks_left in reversed(range(LOOKS)):
        sight = await look(redis, owner)
        stamp = sight.stamp if looks_left else ""
        removed = await _remove(redis, owner, "some", stamp, chosen(sight, what), claim)
        if removed != _CHANGED:
            return removed
    raise AssertionError("the last look removes by value and cannot be refused")


def meant(argument: str) -> str:
    """What stands behind /forget, as `forget` takes it: "all" and "last" in the languages koi speaks, else "#" and an
    entry, or the text.
    """
    word = argument.strip().casefold()
    return "all" if word in ALL else "last" if word in LAST else argument.strip()


def forget_command(entry_id: str) -> str:
    """What forgets exactly this entry when it is sent: 25 bytes, so that it fits under a button (64)."""
    return f"/forget #{handle_of(entry_id)}"


def handle_of(entry_id: str) -> str:
    """Stands for the id of an entry: ids hold names of machines and may be long."""
    return hashlib.sha256(entry_id.encode()).hexdigest()[:HANDLE_CHARS]


async def look(redis: RedisPort, owner: str) -> Sight:
    """Everything that holds text of `owner`, read in one step."""
    stamp, seen = await _LOOK(
        redis, [keys.ring(owner), keys.lanes_of(owner), keys.dead_of(owner)], [keys.LANE_PREFIX]
    )
    ring, letters, *lanes = seen
    return Sight(
        stamp=stamp.decode(),
        ring=tuple(ring),
        letters=_named(letters),
        lanes=tuple(
            LaneSight(job_id, _named(bodies), _named(kept)) for job_id, _items, bodies, kept in lanes
        ),
    )


def chosen(sight: Sight, what: str) -> tuple[Removal, ...]:
    """What goes for "last", one entry, or a text; nothing for a text without letters, or an entry that is not there."""
    what = what.strip()
    if what == "last":
        return _entries(sight, sight.ring[-1:])
    if found := _named_entries(sight, what):
        return _entries(sight, found)
    needle = "" if ENTRY.fullmatch(what) else folded(what)
    return _containing(sight, needle) if needle else ()


def folded(text: str) -> str:
    """Text for comparison: NFC, without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def texts_of(raw: bytes) -> Iterator[str]:
    """The words of people and models in a stored value of any version; all of it if it is not a JSON object."""
    value = _object(raw)
    if value is None:
        yield raw.decode("utf-8", "replace")
        return
    for field in TEXT_FIELDS:
        if isinstance(value.get(field), str):
            yield value[field]
    if isinstance(value.get("body"), str):  # a DeadLetter holds the item as it was stored
        yield from texts_of(value["body"].encode())


def strings_of(value: Any) -> Iterator[str]:
    """Every string in a JSON value, at any depth."""
    match value:
        case str():
            yield value
        case dict():
            yield from strings_of([*cast("dict[str, Any]", value).values()])
        case list():
            for part in cast("list[Any]", value):
                yield from strings_of(part)
        case _:
            return


def _containing(sight: Sight, needle: str) -> tuple[Removal, ...]:
    def says(raw: bytes) -> bool:
        return any(needle in folded(text) for text in texts_of(raw))

    def kept_says(raw: bytes) -> bool:  # of a shape that only its turn knows
        found = (*strings_of(_json(raw)), raw.decode("utf-8", "replace"))
        return any(needle in folded(text) for text in found)

    ring: list[Removal] = [("ring", b"", raw) for raw in sight.ring if says(raw)]
    return (*ring, *_waiting(sight, lambda _id, raw: says(raw), lambda _name, raw: kept_says(raw)))


def _named_entries(sight: Sight, what: str) -> tuple[bytes, ...]:
    name = what.removeprefix("#")
    if name == what or not name:
        return ()
    return tuple(raw for raw in sight.ring if name in {_turn_of(raw), handle_of(_turn_of(raw))})


def _entries(sight: Sight, entries: Sequence[bytes]) -> tuple[Removal, ...]:
    """Entries, and what is left of their replies."""
    turns = tuple(f"{turn}:".encode() for turn in map(_turn_of, entries) if turn)

    def is_of_them(item_id: bytes, _raw: bytes) -> bool:  # Reply.id
        return item_id.startswith(turns)

    ring: list[Removal] = [("ring", b"", raw) for raw in entries]
    return (*ring, *(_waiting(sight, is_of_them, is_of_them) if turns else ()))


def _turn_of(entry: bytes) -> str:
    """RingEntry.id; "" for what has none."""
    return str((_object(entry) or {}).get("id", ""))


def _waiting(
    sight: Sight, match: Callable[[bytes, bytes], bool], match_kept: Callable[[bytes, bytes], bool]
) -> Iterator[Removal]:
    """Dead letters and waiting items that match; what a turn kept for an item goes with it, or by itself."""
    for item_id, raw in sight.letters:
        if match(item_id, raw):
            yield "dead", b"", item_id
    for lane in sight.lanes:
        ids = [item_id for item_id, raw in lane.bodies if match(item_id, raw)]
        for item_id in ids:
            yield "item", lane.job_id, item_id
        for name, raw in lane.kept:
            if match_kept(name, raw) or any(_names(name, item_id) for item_id in ids):
                yield "kept", lane.job_id, name


def _names(name: bytes, item_id: bytes) -> bool:
    return name == item_id or name.startswith(item_id + b":") or name.endswith(b":" + item_id)


def _json(raw: bytes) -> Any:
    """None for what is not JSON."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _object(raw: bytes) -> dict[str, Any] | None:
    value = _json(raw)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _named(flat: Sequence[bytes]) -> tuple[Named, ...]:
    return tuple((name, value) for name, value in batched(flat, 2))


async def _remove(
    redis: RedisPort, owner: str, mode: str, stamp: str, removals: Iterable[Removal], claim: str
) -> int | None:
    found: int = await _FORGET(
        redis,
        [
            keys.ring(owner), keys.lanes_of(owner), keys.dead_of(owner), keys.dead(), keys.expiry(),
            keys.epoch(owner), keys.claim_of(claim) if claim else "", keys.forgot(claim) if claim else "",
            keys.turns(owner),
        ],
        [
            owner, EPOCH_TTL_MS, keys.LANE_PREFIX, keys.session(""), keys.answer(""), keys.fold(""), mode, stamp,
            *(word for removal in removals for word in removal),
        ],
    )  # fmt: skip
    return None if found == _TAKEN_BEFORE else found
