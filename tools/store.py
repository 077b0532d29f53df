"""The things of an owner in Redis: read at once, changed in one step that fails if somebody else changed them meanwhile."""

from collections.abc import Mapping, Sequence

import structlog

from infra import keys
from infra.effect import Effect, Expect
from infra.redis_port import RedisPort
from infra.together import checked, together
from schemas.things import Event, Fact, Memo, Reminder, Task, Thing
from schemas.wire import NotReadable, WireModel, dump, load
from tools.tool import Ran, Things

VERSION = "version"
FACT = "f"
"""First letter of the ids of facts, which have a hash of their own."""
TYPES: Mapping[str, type[Thing]] = {"t": Task, "m": Memo, "e": Event, "r": Reminder}
"""By the first letter of their ids."""

log = structlog.get_logger()


async def load_things(redis: RedisPort, owner: str) -> Things:
    """Raises: NewerVersion: one was written by a newer release. RedisError."""
    things, facts = checked(
        await together(redis).run(("HGETALL", keys.things(owner)), ("HGETALL", keys.facts(owner)))
    )
    return read_things(things, facts)


def read_things(
    things: Mapping[bytes, bytes] | Sequence[bytes], facts: Mapping[bytes, bytes] | Sequence[bytes]
) -> Things:
    """`HGETALL` of both hashes. What cannot be read is left out, reported, and stays where it is.

    Raises: NewerVersion.
    """
    raw = pairs(things)
    version = _number(raw.pop(VERSION, b"0"))
    by_id = {id_: found for id_, value in raw.items() if (found := _thing(id_, value))}
    return Things(version, _in_order(by_id), read_facts(facts))


def read_facts(facts: Mapping[bytes, bytes] | Sequence[bytes]) -> Mapping[str, Fact]:
    """`HGETALL keys.facts(owner)`, in the order they were learned. Raises: NewerVersion."""
    found = {id_: fact for id_, value in pairs(facts).items() if (fact := _read(Fact, id_, value))}
    return dict(sorted(found.items(), key=lambda item: item[1].at_ms))


def expects(owner: str, things: Things) -> tuple[Expect, ...]:
    """Nobody changed anything of the owner since `things` were read."""
    version = str(things.version).encode() if things.version else None
    return (Expect(keys.things(owner), VERSION, version),)


def change_effects(owner: str, things: Things, ran: Ran) -> tuple[Effect, ...]:
    """What `ran` changes, with the version that counts it; nothing if it changes nothing."""
    if not ran.put and not ran.drop:
        return ran.effects
    facts, others = keys.facts(owner), keys.things(owner)
    puts = tuple(
        Effect("HSET", facts if isinstance(thing, Fact) else others, (thing.id, dump(thing)))
        for thing in ran.put
    )
    drops = tuple(
        Effect("HDEL", facts if id_.startswith(FACT) else others, (id_,)) for id_ in dict.fromkeys(ran.drop)
    )
    version = things.version + max(1, len(ran.put))
    return (*puts, *drops, Effect("HSET", others, (VERSION, version)), *ran.effects)


def pairs(found: Mapping[bytes, bytes] | Sequence[bytes]) -> dict[str, bytes]:
    """A hash, however the client gives it (RESP 2 gives a list)."""
    flat = found.items() if isinstance(found, Mapping) else zip(found[::2], found[1::2], strict=True)
    return {name.decode(): value for name, value in flat}


def _number(written: bytes) -> int:
    """0 for what is none: then nothing of this owner can be changed until somebody mends it, and all can be read."""
    if written.isdigit():
        return int(written)
    log.warning("things_version_unreadable")
    return 0


def _in_order(by_id: Mapping[str, Thing]) -> Mapping[str, Thing]:
    return dict(sorted(by_id.items(), key=lambda item: int(item[0][1:])))


def _thing(id_: str, value: bytes) -> Thing | None:
    kind = TYPES.get(id_[:1])
    if kind is None or not id_[1:].isdecimal():
        log.warning("thing_unreadable", thing=id_[:16], error="no id of a thing")
        return None
    return _read(kind, id_, value)


def _read[W: WireModel](kind: type[W], id_: str, value: bytes) -> W | None:
    try:
        return load(kind, value)
    except NotReadable as error:
        log.warning("thing_unreadable", thing=id_, error=str(error))
        return None
