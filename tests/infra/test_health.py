"""Who lives."""

from infra import health, keys
from infra.redis_port import RedisPort


async def test_nobody_lives_in_an_empty_database(redis: RedisPort) -> None:
    assert not await health.is_alive(redis, "worker")


async def test_who_said_so_lives_once_however_often_it_says_so(redis: RedisPort) -> None:
    await health.beat(redis, "worker", "a")
    await health.beat(redis, "worker", "a")
    await health.beat(redis, "worker", "b")

    assert await health.alive(redis, "worker") == 2
    assert await health.alive(redis, "bot") == 0


async def test_who_was_silent_for_15_seconds_is_gone(redis: RedisPort) -> None:
    await health.beat(redis, "worker", "a")
    await redis.zadd(keys.alive("worker"), {"a": 1})

    assert not await health.is_alive(redis, "worker")
