"""Entries from a file into rings."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infra import keys
from infra.redis_port import RedisPort
from memory.flat import Found
from memory.limits import MemoryLimits
from memory.ring import Remembered, read_ring, stamp_of
from memory.store import replace_ring
from schemas.memory import RingEntry
from schemas.wire import dump

TRIES = 20


class RingBusy(Exception):
    """The ring changed each time it was about to be written: try again."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the readable entries of a file, in numbers."""

    imported: int = 0
    expired: int = 0
    known: int = 0
    """Same time and message as an entry that was there."""
    over_cap: int = 0
    """Older than the newest `memory.entries`."""

    def __add__(self, other: "Imported") -> "Imported":
        return Imported(
            self.imported + other.imported,
            self.expired + other.expired,
            self.known + other.known,
            self.over_cap + other.over_cap,
        )


async def import_entries(
    redis: RedisPort,
    found: Sequence[Found],
    owner_of: Callable[[str | None], str],
    now_ms: int,
    limits: MemoryLimits,
) -> Imported:
    """Add what a file held to the rings of those whose it is; importing it again adds nothing.

    owner_of: memory owner for `Found.user_id`.

    Raises: RingBusy: somebody talks faster than we write; what was done so far stays.
    """
    by_owner: defaultdict[str, list[RingEntry]] = defaultdict(list)
    for one in found:
        by_owner[owner_of(one.user_id)].append(one.entry)
    total = Imported()
    for owner, entries in by_owner.items():
        total += await _import_into(redis, keys.ring(owner), entries, now_ms, limits)
    return total


def merge(
    remembered: Remembered, entries: Sequence[RingEntry], now_ms: int, limits: MemoryLimits
) -> tuple[tuple[bytes | str, ...], Imported]:
    """The ring with the entries in their places by time, capped; and what became of them. Pure."""
    live = [entry for entry in entries if entry.at_ms + limits.max_age_ms > now_ms]
    known = {(entry.at_ms, entry.user_message) for entry in remembered.entries}
    new = {(entry.at_ms, entry.user_message): entry for entry in live}
    added = [dump(entry) for what, entry in new.items() if what not in known]
    ring = sorted((*remembered.kept, *added), key=stamp_of)
    left = ring[-limits.entries :]
    imported = len(set(added) & set(left))
    return tuple(left), Imported(
        imported=imported,
        expired=len(entries) - len(live),
        known=len(live) - len(added),
        over_cap=len(added) - imported,
    )


async def _import_into(
    redis: RedisPort, ring: str, entries: Sequence[RingEntry], now_ms: int, limits: MemoryLimits
) -> Imported:
    for _ in range(TRIES):
        raws = await redis.lrange(ring, 0, -1)
        new, counts = merge(read_ring(raws, now_ms, limits), entries, now_ms, limits)
        if not counts.imported:
            return counts
        due_ms = stamp_of(new[0]) + limits.max_age_ms
        if await replace_ring(redis, ring, raws, new, due_ms=due_ms, ttl_ms=limits.max_age_ms):
            return counts
    raise RingBusy("the memory changes too fast just now; try again")
