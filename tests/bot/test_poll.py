"""Long polling: what is confirmed is stored, and nothing else is."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from bot.api import BotApi
from bot.console import CONFLICT_WAIT_S, Console
from bot.insist import TokenRefused
from bot.intake import Taken
from bot.poll import QUIET_MS, Poller
from infra import keys
from infra.redis_port import RedisPort
from tests.bot.conftest import NOW_MS, Sleeps, until
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault


class Store:
    """Stands for the intake: remembers batches, fails as it is told."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.fails: list[RedisError | Taken] = []

    async def take(self, updates: Sequence[Any]) -> Taken:
        ids = [update["update_id"] for update in updates]
        self.batches.append(ids)
        if self.fails:
            match self.fails.pop(0):
                case Taken() as taken:
                    return taken
                case error:
                    raise error
        return Taken(ids[-1] + 1)


class Run:
    """A poller under way."""

    def __init__(self, redis: RedisPort, api: BotApi) -> None:
        self.store = Store()
        self.lines: list[str] = []
        self.sleeps = Sleeps()
        self.now_ms = NOW_MS
        console = Console(self.lines.append, "parcel", "en", chance=lambda: 1.0)
        self.poller = Poller(redis, api, self.store, console, lambda: self.now_ms, sleep=self.sleeps)

    @asynccontextmanager
    async def going(self) -> AsyncGenerator["Run"]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.poller.run())
            yield self
            task.cancel()


@pytest.fixture
def run(redis: RedisPort, api: BotApi) -> Run:
    return Run(redis, api)


def offsets(fake: FakeTelegram) -> list[int]:
    return [call.fields.get("offset", 0) for call in fake.calls if call.method == "getUpdates"]


async def test_only_the_next_call_confirms(run: Run, fake: FakeTelegram) -> None:
    fake.say("777", 42, "one")
    fake.say("777", 42, "two")

    async with run.going():
        await until(lambda: len(offsets(fake)) == 2)

    assert run.store.batches == [[1000, 1001]]
    assert offsets(fake) == [0, 1002]


async def test_what_waited_while_the_bot_was_down_is_kept(run: Run, fake: FakeTelegram) -> None:  # C4
    for text in ("one", "two", "three"):
        fake.say("777", 42, text)

    async with run.going():
        await until(lambda: bool(run.store.batches))

    assert run.store.batches[0] == [1000, 1001, 1002]
    assert all(not call.fields.get("drop_pending_updates") for call in fake.calls)


async def test_it_begins_where_the_last_process_stopped(
    run: Run, redis: RedisPort, fake: FakeTelegram
) -> None:  # C10
    await redis.set(keys.offset("777"), 1001)
    fake.say("777", 42, "old")
    fake.say("777", 42, "new")

    async with run.going():
        await until(lambda: bool(run.store.batches))

    assert run.store.batches == [[1001]]


async def test_while_redis_is_away_nothing_is_confirmed(run: Run, fake: FakeTelegram) -> None:
    run.store.fails = [RedisConnectionError(), RedisConnectionError()]
    fake.say("777", 42, "one")

    async with run.going():
        await until(lambda: len(offsets(fake)) == 2)

    assert run.store.batches == [[1000]] * 3
    assert offsets(fake) == [0, 1001]
    assert run.lines == [
        "parcel: messages cannot be stored (ConnectionError). They stay with Telegram; I keep trying.",
        "parcel: messages are stored again.",
    ]


async def test_a_batch_that_stopped_half_way_goes_on_there(run: Run, fake: FakeTelegram) -> None:
    run.store.fails = [Taken(1001, "WRONGTYPE x")]
    for text in ("one", "two", "three"):
        fake.say("777", 42, text)

    async with run.going():
        await until(lambda: len(offsets(fake)) == 2)

    assert run.store.batches == [[1000, 1001, 1002], [1001, 1002]]
    assert offsets(fake) == [0, 1003]


async def test_stopping_in_mid_batch_confirms_nothing(run: Run, fake: FakeTelegram) -> None:
    run.store.fails = [RedisConnectionError()] * 1000
    fake.say("777", 42, "one")

    async with run.going():
        await until(lambda: len(run.store.batches) > 3)

    assert offsets(fake) == [0]
    assert len(fake.bot("777").updates) == 1


async def test_a_revoked_token_ends_it(run: Run, fake: FakeTelegram) -> None:
    fake.revoked.add("777")

    with pytest.raises(TokenRefused):
        await run.poller.run()


async def test_a_second_poller_is_named_once_and_waited_out(run: Run, fake: FakeTelegram) -> None:
    fake.fault(Fault("error", method="getUpdates", times=3, status=409, description="Conflict: terminated"))
    fake.say("777", 42, "one")

    async with run.going():
        await until(lambda: bool(run.store.batches))

    assert run.sleeps.seconds == [CONFLICT_WAIT_S] * 3
    assert [line.partition(".")[0] for line in run.lines] == [
        "parcel: another program fetches the messages of this bot (409)",
        "parcel: Telegram answers again",
    ]


async def test_network_trouble_backs_off_and_is_said_once(run: Run, fake: FakeTelegram) -> None:
    fake.fault(Fault("drop_before", method="getUpdates", times=4))
    fake.say("777", 42, "one")

    async with run.going():
        await until(lambda: bool(run.store.batches))

    assert run.sleeps.seconds == [0.5, 1.0, 2.0, 4.0]
    assert [line.partition(" (")[0] for line in run.lines] == [
        "parcel: Telegram cannot be reached",
        "parcel: Telegram answers again.",
    ]


async def test_one_broken_connection_is_not_worth_a_line(run: Run, fake: FakeTelegram) -> None:
    fake.fault(Fault("drop_before", method="getUpdates"))
    fake.say("777", 42, "one")

    async with run.going():
        await until(lambda: bool(run.store.batches))

    assert run.lines == []


async def test_nobody_there_is_said_at_once(redis: RedisPort) -> None:
    nobody = BotApi("777:test-token", "http://127.0.0.1:9")
    run = Run(redis, nobody)

    async with run.going():
        await until(lambda: len(run.sleeps.seconds) > 8)
    await nobody.close()

    assert len(run.lines) == 1
    assert run.sleeps.seconds[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


async def test_telegram_says_how_long_to_wait(run: Run, fake: FakeTelegram) -> None:
    fake.fault(Fault("flood", method="getUpdates", retry_after=17))
    fake.say("777", 42, "one")

    async with run.going():
        await until(lambda: bool(run.store.batches))

    assert run.sleeps.seconds == [17]


async def test_a_half_character_in_one_message_costs_no_other(run: Run, fake: FakeTelegram) -> None:
    fake.say("777", 42, "one")
    fake.feed("777", {"message": fake.message("777", 42, "half")})
    fake.fault(Fault("raw", method="getUpdates", description='{"ok":true,"result":[{"update_id":1000},{"update_id":1001,"message":{"text":"\\ud83d"}}]}'))  # fmt: skip

    async with run.going():
        await until(lambda: bool(run.store.batches))

    assert run.store.batches == [[1000, 1001]]


async def test_after_a_quiet_day_no_offset_can_hide_smaller_ids(run: Run, fake: FakeTelegram) -> None:
    fake.say("777", 42, "one")
    async with run.going():
        await until(lambda: len(offsets(fake)) == 2)
        run.now_ms += QUIET_MS + 1
        fake.bots["777"].poller.set_result(None)  # pyright: ignore[reportOptionalMemberAccess]
        await until(lambda: len(offsets(fake)) == 3)

        fake.feed("777", {"update_id": 5, "message": fake.message("777", 42, "after a week")})
        await until(lambda: len(run.store.batches) == 2)

    assert offsets(fake)[:3] == [0, 1001, 0]
    assert run.store.batches == [[1000], [5]]
