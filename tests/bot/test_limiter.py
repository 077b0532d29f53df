"""Send limits that all processes share."""

import asyncio

import pytest

from bot.limiter import CHAT_BURST, Limiter, Wait
from infra import keys
from infra.redis_port import RedisPort
from infra.settings import TelegramSettings
from tests.bot.conftest import Sleeps

SLOW_CHAT = TelegramSettings(messages_per_second=10_000, chat_messages_per_second=0.5)
SLOW_BOT = TelegramSettings(messages_per_second=2, chat_messages_per_second=1_000)


async def test_a_chat_gets_its_burst_and_then_its_pace(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", SLOW_CHAT)

    waits = [await limiter.take("1") for _ in range(CHAT_BURST + 1)]

    assert waits[:-1] == [Wait(0, 0)] * CHAT_BURST
    assert waits[-1].bot_ms == 0
    assert 1_500 < waits[-1].chat_ms <= 2_000


async def test_another_chat_has_a_pace_of_its_own(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", SLOW_CHAT)
    for _ in range(CHAT_BURST):
        await limiter.take("1")

    assert await limiter.take("2") == Wait(0, 0)


async def test_a_group_is_slower_than_a_person(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", TelegramSettings())
    for _ in range(CHAT_BURST):
        await limiter.take("-100")

    assert 2_000 < (await limiter.take("-100")).chat_ms <= 3_000


async def test_the_bot_has_a_pace_over_all_chats(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", SLOW_BOT)

    assert await limiter.take("1") == Wait(0, 0)
    assert 400 < (await limiter.take("2")).bot_ms <= 500


async def test_a_wait_charges_neither(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", SLOW_BOT)
    await limiter.take("1")

    await limiter.take("2")

    assert await redis.get(keys.send_limit("7", "2")) is None


async def test_processes_share_the_limit(redis: RedisPort) -> None:
    await Limiter(redis, "7", SLOW_BOT).take("1")

    assert (await Limiter(redis, "7", SLOW_BOT).take("1")).bot_ms > 0
    assert await Limiter(redis, "8", SLOW_BOT).take("1") == Wait(0, 0)


async def test_every_key_expires(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", SLOW_CHAT)
    await limiter.take("1")
    await limiter.flooded("1", 5_000)

    ttls = [await redis.pttl(key.decode()) async for key in redis.scan_iter()]

    assert len(ttls) == 3
    assert all(0 < ttl < 10_000 for ttl in ttls)


async def test_the_bots_short_waits_are_slept_through_in_order(redis: RedisPort) -> None:
    sleeps = Sleeps()

    async def sleep(seconds: float) -> None:
        await sleeps(seconds)
        await redis.delete(keys.send_limit("7"))

    limiter = Limiter(redis, "7", SLOW_BOT, sleep=sleep)
    await limiter.take("0")
    order: list[str] = []

    async def send(chat_id: str) -> None:
        assert await limiter.turn(chat_id) == 0
        order.append(chat_id)

    async with asyncio.TaskGroup() as group:
        for chat_id in "abc":
            group.create_task(send(chat_id))

    assert order == ["a", "b", "c"]
    assert all(0 < seconds <= 0.5 for seconds in sleeps.seconds)


@pytest.mark.parametrize("chats", [1, 3], ids=["one chat", "one chat after the other"])
async def test_a_pause_is_told_without_a_slot(redis: RedisPort, chats: int) -> None:
    limiter = Limiter(redis, "7", SLOW_CHAT)
    for chat in range(chats):
        await limiter.flooded(str(chat), 60_000)

    assert 59_000 < await limiter.turn(str(chats - 1)) <= 60_000
    assert (await limiter.turn("99") == 0) is (chats == 1)


async def test_a_success_between_two_429s_clears_the_bot(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", SLOW_CHAT)
    for chat in "1234":
        await limiter.flooded(chat, 60_000)
        limiter.worked()

    assert await limiter.turn("5") == 0


async def test_a_clock_of_redis_that_jumped_back_silences_nobody(redis: RedisPort) -> None:
    limiter = Limiter(redis, "7", TelegramSettings())
    seconds, _ = await redis.time()
    for key in (keys.send_limit("7"), keys.send_limit("7", "1")):
        await redis.set(key, (seconds + 3600) * 1_000_000, px=3_600_000)

    assert await limiter.take("1") == Wait(0, 0)
