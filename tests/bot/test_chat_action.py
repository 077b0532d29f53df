""" "typing…" may be lost, and disturbs nothing."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.api import BotApi
from bot.chat_action import show_typing
from infra import keys
from infra.redis_port import RedisPort
from tests.bot.conftest import Sleeps, until
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault

CHANNEL = keys.typing_channel("777")


@asynccontextmanager
async def showing(redis: RedisPort, api: BotApi) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(show_typing(redis, api, sleep=Sleeps()))
        await until(lambda: heard(redis))
        yield
        task.cancel()


async def heard(redis: RedisPort) -> bool:
    return await redis.publish(CHANNEL, "0:0") > 0


def shown(fake: FakeTelegram) -> list[dict[str, object]]:
    return [c.fields for c in fake.calls if c.method == "sendChatAction" and c.fields["chat_id"]]


async def test_a_chat_sees_that_its_turn_runs(redis: RedisPort, api: BotApi, fake: FakeTelegram) -> None:
    async with showing(redis, api):
        await redis.publish(CHANNEL, "-100123:7")
        await redis.publish(CHANNEL, "42:0")
        await until(lambda: len(shown(fake)) == 2)

    assert {str(fields) for fields in shown(fake)} == {
        "{'chat_id': -100123, 'action': 'typing', 'message_thread_id': 7}",
        "{'chat_id': 42, 'action': 'typing'}",
    }


async def test_whatever_fails_the_next_one_is_shown(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    fake.fault(Fault("drop_before", method="sendChatAction", chat_id="1"))
    async with showing(redis, api):
        for place in ("1:0", "nonsense", "x:y", "42:0"):
            await redis.publish(CHANNEL, place)
        await until(lambda: any(fields["chat_id"] == 42 for fields in shown(fake)))


async def test_it_lives_through_a_lost_connection(redis: RedisPort, api: BotApi, fake: FakeTelegram) -> None:
    async with showing(redis, api):
        await kill_subscribers(redis)
        await until(lambda: heard(redis))
        await redis.publish(CHANNEL, "42:0")
        await until(lambda: bool(shown(fake)))


async def kill_subscribers(redis: RedisPort) -> None:
    async with redis.pipeline(transaction=False) as pipe:
        pipe.execute_command("CLIENT", "KILL", "TYPE", "PUBSUB")
        await pipe.execute()
