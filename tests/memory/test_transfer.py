"""Entries from a file into rings."""

from infra import keys
from infra.redis_port import RedisPort
from memory.flat import Found, read_flat, write_flat
from memory.limits import MemoryLimits
from memory.ring import remember
from memory.store import apply, load_ring
from memory.transfer import Imported, import_entries
from schemas.inbound import person_owner
from tests.memory.values import BERLIN, DAY_MS, HOUR_MS, LIMITS, MINUTE_MS, NOW_MS, entry


def owner_of(user_id: str | None) -> str:
    return person_owner("home", user_id or "local:owner")


def found(*numbers: int, at_ms: int = NOW_MS - HOUR_MS, user_id: str | None = "42") -> list[Found]:
    return [Found(entry(number, user=f"text {number}", at_ms=at_ms + number), user_id) for number in numbers]


async def take(redis: RedisPort, entries: list[Found], limits: MemoryLimits = LIMITS) -> Imported:
    return await import_entries(redis, entries, owner_of, NOW_MS, limits)


async def said(redis: RedisPort, user_id: str | None = "42") -> list[str]:
    ring = await load_ring(redis, owner_of(user_id), NOW_MS, LIMITS)
    return [one.user_message for one in ring.entries]


async def test_entries_come_to_whom_they_belong(redis: RedisPort) -> None:
    done = await take(redis, [*found(1, 2), *found(3, user_id=None)])

    assert done == Imported(imported=3)
    assert await said(redis) == ["text 1", "text 2"]
    assert await said(redis, None) == ["text 3"]


async def test_imported_entries_stand_before_newer_ones_and_expire_in_time(redis: RedisPort) -> None:
    await apply(
        redis,
        remember(owner_of("42"), entry(9), await load_ring(redis, owner_of("42"), NOW_MS, LIMITS), LIMITS),
    )

    await take(redis, found(2, 1))

    assert (await said(redis))[:2] == ["text 1", "text 2"]
    assert len(await said(redis)) == 3
    ring = keys.ring(owner_of("42"))
    assert await redis.zscore(keys.expiry(), ring) == NOW_MS - HOUR_MS + 1 + DAY_MS
    assert DAY_MS - MINUTE_MS < await redis.pttl(ring) <= DAY_MS


async def test_the_same_file_twice_adds_nothing(redis: RedisPort) -> None:
    await take(redis, found(1, 2))

    assert await take(redis, [*found(1, 2, 3), *found(3)]) == Imported(imported=1, known=3)
    assert await said(redis) == ["text 1", "text 2", "text 3"]


async def test_what_koi_exported_is_known_when_it_comes_back(redis: RedisPort) -> None:
    await take(redis, found(1, 2))
    ring = await load_ring(redis, owner_of("42"), NOW_MS, LIMITS)
    again, _ = read_flat(write_flat(ring.entries, BERLIN), BERLIN, NOW_MS, LIMITS)

    assert await take(redis, list(again)) == Imported(known=2)


async def test_expired_entries_are_counted_and_not_stored(redis: RedisPort) -> None:
    done = await take(redis, [*found(1), *found(2, at_ms=NOW_MS - DAY_MS - 2)])

    assert done == Imported(imported=1, expired=1)
    assert await said(redis) == ["text 1"]


async def test_only_the_newest_that_the_ring_holds_are_taken(redis: RedisPort) -> None:
    assert await take(redis, found(*range(25))) == Imported(imported=20, over_cap=5)
    assert await redis.llen(keys.ring(owner_of("42"))) == 20
    assert (await said(redis))[0] == "text 5"


async def test_entries_of_a_newer_version_survive_an_import(redis: RedisPort) -> None:
    newer = b'{"v": 99, "at_ms": %d}' % (NOW_MS - 2 * HOUR_MS)
    ring = keys.ring(owner_of("42"))
    await redis.rpush(ring, newer, "not json")

    await take(redis, found(1))

    assert (await redis.lrange(ring, 0, -1))[0] == newer
    assert await redis.llen(ring) == 2
