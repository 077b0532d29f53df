"""The ring: the last exchanges of one owner, capped in number and each of limited age. Pure.

Stored as a list of RingEntry JSON, oldest first, under `keys.ring(owner)`. What each reader must respect:

- An entry older than `max_age_ms` is not shown, whatever the key's TTL; the next write removes it, and so does
  memory.expire when nobody writes.
- What is not a RingEntry is left out, counted, and removed by the next write: its age is not known, and no text may
  live for ever. An entry of a newer version is left out and stays, for those who can read it, until its `at_ms` ends it.
- After the clock jumped back, entries come from the future. They are read as if they had been said now, so nothing is
  lost; memory.expire stores them so, and from then on they age. Until then the key's TTL, which counts real time,
  ends them. So no entry outlives twice `max_age_ms`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from infra import keys
from infra.effect import Effect
from memory.limits import MemoryLimits
from schemas.memory import RingEntry
from schemas.wire import NewerVersion, NotReadable, dump, load

type Raw = bytes | str
"""One value of the list as Redis gave it."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A ring, read at one moment."""

    entries: tuple[RingEntry, ...] = ()
    """Live and readable, oldest first."""
    kept: tuple[Raw, ...] = ()
    """What may stay stored, in order: the entries, those of a newer version among them."""
    expired: tuple[Raw, ...] = ()
    unreadable: tuple[Raw, ...] = ()
    newer: int = 0

    @property
    def stale(self) -> tuple[Raw, ...]:
        """What the next write removes."""
        return self.expired + self.unreadable


def read_ring(raws: Sequence[Raw], now_ms: int, limits: MemoryLimits) -> Remembered:
    """`LRANGE keys.ring(owner) 0 -1`, sorted into what is shown, kept and removed."""
    entries: list[RingEntry] = []
    kept: list[Raw] = []
    expired: list[Raw] = []
    unreadable: list[Raw] = []
    newer = 0
    for raw in raws:
        try:
            entry = load(RingEntry, raw)
        except NotReadable:
            unreadable.append(raw)
        except NewerVersion:
            is_live = not _is_expired(stamp_of(raw, now_ms), now_ms, limits)
            newer += is_live
            (kept if is_live else expired).append(raw)
        else:
            if _is_expired(entry.at_ms, now_ms, limits):
                expired.append(raw)
                continue
            from_future = entry.at_ms > now_ms
            entries.append(entry.model_copy(update={"at_ms": now_ms}) if from_future else entry)
            kept.append(dump(entries[-1]) if from_future else raw)
    return Remembered(tuple(entries), tuple(kept), tuple(expired), tuple(unreadable), newer)


def remember(
    owner: str, entry: RingEntry, remembered: Remembered, limits: MemoryLimits
) -> tuple[Effect, ...]:
    """Append one entry to the ring that was read as `remembered`: what may not stay goes, then the oldest over the cap.

    Two lanes of one owner may do this at once; nothing here depends on the list being as it was read.
    """
    ring = keys.ring(owner)
    due_ms = next_expiry((*remembered.entries, entry), limits)
    return (
        *(Effect("LREM", ring, (0, raw)) for raw in remembered.stale),
        Effect("RPUSH", ring, (dump(entry),)),
        Effect("LTRIM", ring, (-limits.entries, -1)),
        Effect("PEXPIRE", ring, (limits.max_age_ms,)),
        Effect("ZADD", keys.expiry(), ("LT", due_ms, ring)),  # only memory.expire moves it to later
    )


def next_expiry(entries: Sequence[RingEntry], limits: MemoryLimits) -> int:
    """When the first of them expires, ms by koi's clock. At least one entry."""
    return min(entry.at_ms for entry in entries) + limits.max_age_ms


def stamp_of(raw: Raw, otherwise_ms: int = 0, *, field: str = "at_ms") -> int:
    """The stamp of a stored value of any version."""
    value: dict[str, object] = orjson.loads(raw)
    at_ms = value.get(field)
    return at_ms if isinstance(at_ms, int) else otherwise_ms


def _is_expired(at_ms: int, now_ms: int, limits: MemoryLimits) -> bool:
    return at_ms + limits.max_age_ms <= now_ms
