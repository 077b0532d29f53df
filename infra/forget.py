"""Forgotten is gone: one step over everything that holds text of a memory owner.

Used by the bot when /forget is admitted, by `koi memory forget`, later by the dashboard.

"all" is decided by the script alone. For the rest, what is to go is chosen here from one atomic look, and the script
removes exactly that if nothing changed since; else it is looked at again.
"""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path

from infra import keys
from infra.forget_texts import FACT_FIELDS, TEXT_FIELDS, folded, json_of, object_of, strings_of, texts_of
from infra.redis_port import RedisPort
from infra.scripts import Script

EPOCH_TTL_MS = 30 * 24 * 3_600_000
"""Far beyond the life of any turn, which lives as long as its message waits for its attempts."""
LOOKS = 8
"""Looks at a lane that keeps changing; after the last one only the values that it showed are removed."""
WITH_SESSION = (keys.session(""), keys.answer(""), keys.fold(""), keys.pending(""), keys.parked(""))
"""Prefixes of the keys of a lane that go with its session."""

ALL = {"all", "alles", "everything"}
LAST = {"last", "letzte", "letztes", "letzten"}
ENTRY = re.compile(r"#[\w.:-]{0,128}[0-9a-f]{16}[\w.:-]{0,128}", re.ASCII)
"""One entry, by its id or its handle: every id that koi gives holds 16 hexadecimal digits in a row, and no hashtag does."""
HANDLE_CHARS = 16

_LOOK = Script(Path(__file__).with_name("forget_look.lua"))
_FORGET = Script(Path(__file__).with_name("forget.lua"))
_TAKEN_BEFORE, _CHANGED = -1, -2

type Removal = tuple[str, bytes, bytes]
"""Three words of forget.lua: what kind, which lane (of a fact: its id), which id or value."""
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
    facts: tuple[Named, ...]
    lanes: tuple[LaneSight, ...]


async def forget(redis: RedisPort, owner: str, what: str, *, claim: str = "") -> int | None:
    """Remove entries of `owner` and raise its epoch, so that running turns store no text.

    what: "all": ring, facts, sessions, waiting messages, kept rounds, unsent replies, dead letters. "last": the newest entry
    and what is left of its reply. "#" and the id of an entry, or its handle: the same for that entry. Anything else:
    every entry and fact whose texts contain it (NFC, case-folded), and waiting messages, kept rounds, unsent replies and
    dead letters that contain it. In all forms the running sessions of the owner end, those of other projects too, with
    what was folded of them and the question that waits; the records of its turns go, and items of albums that wait for
    somebody to speak to the bot; a reply part that is just being
    sent may finish. Tasks, memos, events and reminders stay: they are deleted one by one, by who made them.
    claim: an update id; if it was taken before (keys.claim_of), nothing happens and None is given. If it was forgotten
    for, but not taken (the process died between), nothing more happens and the same number is given again.

    Gives the number of ring entries and facts removed.

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
    stamp, seen = await _LOOK(redis, _sight_keys(owner), [keys.LANE_PREFIX])
    ring, letters, facts, *lanes = seen
    return Sight(
        stamp=stamp.decode(),
        ring=tuple(ring),
        letters=_named(letters),
        facts=_named(facts),
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


def _containing(sight: Sight, needle: str) -> tuple[Removal, ...]:
    def says(raw: bytes, fields: Sequence[str] = TEXT_FIELDS) -> bool:
        return any(needle in folded(text) for text in texts_of(raw, fields))

    def kept_says(raw: bytes) -> bool:  # of a shape that only its turn knows
        found = (*strings_of(json_of(raw)), raw.decode("utf-8", "replace"))
        return any(needle in folded(text) for text in found)

    ring: list[Removal] = [("ring", b"", raw) for raw in sight.ring if says(raw)]
    facts: list[Removal] = [("fact", id_, raw) for id_, raw in sight.facts if says(raw, FACT_FIELDS)]
    return (*ring, *facts, *_waiting(sight, lambda _id, raw: says(raw), lambda _name, raw: kept_says(raw)))


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
    return str((object_of(entry) or {}).get("id", ""))


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
        found = [
            name for name, raw in lane.kept
            if match_kept(name, raw) or any(_names(name, item_id) for item_id in ids)
        ]  # fmt: skip
        for name in _with_later_rounds(lane, found):
            yield "kept", lane.job_id, name


def _with_later_rounds(lane: LaneSight, found: Sequence[bytes]) -> Iterator[bytes]:
    """Without `round:N` the turn asks its model anew: the results of that round answer calls that are made no more, and
    later rounds go on from there.
    """
    first = min((_round_of(name) for name in found if name.startswith(b"round:")), default=math.inf)
    for name, _ in lane.kept:
        if name in found or _round_of(name) >= first:
            yield name


def _round_of(name: bytes) -> float:
    """N of `round:N`, `result:N:CALL` and the like; of another name, one before all rounds."""
    number = name.split(b":")[1:2]
    return int(number[0]) if number and number[0].isdigit() else -1


def _names(name: bytes, item_id: bytes) -> bool:
    return name == item_id or name.startswith(item_id + b":") or name.endswith(b":" + item_id)


def _named(flat: Sequence[bytes]) -> tuple[Named, ...]:
    return tuple((name, value) for name, value in batched(flat, 2))


async def _remove(
    redis: RedisPort, owner: str, mode: str, stamp: str, removals: Iterable[Removal], claim: str
) -> int | None:
    found: int = await _FORGET(
        redis,
        [
            *_sight_keys(owner), keys.dead(), keys.expiry(), keys.epoch(owner),
            keys.claim_of(claim) if claim else "", keys.forgot(claim) if claim else "", keys.turns(owner),
            keys.albums(owner),
        ],
        [
            owner, EPOCH_TTL_MS, keys.LANE_PREFIX, mode, stamp, len(WITH_SESSION), *WITH_SESSION,
            *(word for removal in removals for word in removal),
        ],
    )  # fmt: skip
    return None if found == _TAKEN_BEFORE else found


def _sight_keys(owner: str) -> list[str]:
    """KEYS of forget_look.lua, and the first of forget.lua."""
    return [keys.ring(owner), keys.lanes_of(owner), keys.dead_of(owner), keys.facts(owner)]
