"""Sharing a round trip must not mean sharing a fate."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import DataError, ResponseError

from infra.redis_port import RedisPort
from infra.scripts import Script
from infra.together import Together, checked

ECHO = """-- echo: give back what came
-- ARGV[1] anything
-- RETURNS it
return ARGV[1]
"""


async def test_calls_of_one_tick_each_get_their_own_replies(redis: RedisPort) -> None:
    bunch = Together(redis)

    found = await asyncio.gather(
        bunch.run(("SET", "a", "1"), ("GET", "a")), bunch.run(("INCR", "n")), bunch.run(("INCR", "n"))
    )

    assert [replies[-1] for replies in found] == [b"1", 1, 2]


async def test_calls_of_one_tick_share_one_round_trip(redis: RedisPort) -> None:
    bunch = Together(redis)
    await bunch.run(("PING",))
    before = (await redis.info("stats"))["total_reads_processed"]

    await asyncio.gather(*(bunch.run(("INCR", "n")) for _ in range(20)))

    assert (await redis.info("stats"))["total_reads_processed"] - before == 2  # theirs, and this INFO


async def test_an_error_reply_reaches_only_who_asked_for_it(redis: RedisPort) -> None:
    bunch = Together(redis)
    await redis.set("text", "x")

    wrong, right = await asyncio.gather(bunch.run(("INCR", "text")), bunch.run(("INCR", "n")))

    assert right == [1]
    with pytest.raises(ResponseError):
        checked(wrong)


@pytest.mark.parametrize("word", [None, True, "half a character \ud800"])
async def test_a_word_that_cannot_be_sent_reaches_only_who_asked_for_it(redis: RedisPort, word: Any) -> None:
    bunch = Together(redis)

    wrong, right = await asyncio.gather(
        bunch.run(("SET", "a", word)), bunch.run(("INCR", "n")), return_exceptions=True
    )

    assert isinstance(wrong, DataError)
    assert right == [1]


async def test_replies_are_as_the_client_gives_them(redis: RedisPort) -> None:
    await redis.hset("h", "field", "ü")

    assert await Together(redis).run(("HGETALL", "h"), ("GET", "none"), ("SET", "f", 1.5), ("GET", "f")) == [
        {b"field": "ü".encode()}, None, True, b"1.5",
    ]  # fmt: skip


async def test_who_is_carried_hears_of_a_cancelled_carrier_as_of_a_lost_connection(redis: RedisPort) -> None:
    bunch = Together(redis)
    carrier = asyncio.create_task(bunch.run(("INCR", "n")))
    carried = asyncio.create_task(bunch.run(("INCR", "n")))
    await asyncio.sleep(0)

    carrier.cancel()

    with pytest.raises(RedisConnectionError):
        await carried
    with pytest.raises(asyncio.CancelledError):
        await carrier
    assert await bunch.run(("PING",)) == [True]


async def test_who_is_carried_may_leave(redis: RedisPort) -> None:
    bunch = Together(redis)
    carrier = asyncio.create_task(bunch.run(("INCR", "n")))
    carried = asyncio.create_task(bunch.run(("INCR", "n")))
    await asyncio.sleep(0)

    carried.cancel()

    assert await carrier == [1]


async def test_a_server_that_lost_its_scripts_gets_them_again(redis: RedisPort, tmp_path: Path) -> None:
    path = tmp_path / "echo.lua"
    path.write_text(ECHO)
    script = Script(path)
    await script(redis, [], ["once"])
    await Together(redis).run(("SCRIPT", "FLUSH"))

    found = await asyncio.gather(script(redis, [], ["a"]), script(redis, [], ["b"]))

    assert found == [b"a", b"b"]
