"""Bots that come and go while the process runs; the others do not notice."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from bot.main import serve
from infra import keys
from infra.current import Current
from infra.pushes import push_reply
from infra.redis_port import RedisPort
from infra.settings import BotSettings, Settings
from lanes.ingest import ingest
from schemas.bot import BotNow
from schemas.reply import Reply
from schemas.wire import load
from tests.bot.conftest import clock, until
from tests.bot.process import Process
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault

A = BotSettings(name="a", token=SecretStr("701:a"))
B = BotSettings(name="b", token=SecretStr("702:b"))
C = BotSettings(name="c", token=SecretStr("703:c"), persona="Be brief.")


class Live(Process):
    """A process whose settings change."""

    def __init__(self, redis: RedisPort, fake: FakeTelegram, *bots: BotSettings) -> None:
        super().__init__(redis, fake, tokens=(), bots=bots, telegram_owner="42")
        self.current = Current(self.settings)
        self.fake = fake

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Live"]:
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            group.create_task(
                serve(
                    self.settings, self.redis, clock=clock, stop=self.stop, say=self.lines.append, current=self.current
                )
            )  # fmt: skip
            try:
                yield self
            finally:
                self.stop.set()

    def use(self, *bots: BotSettings) -> None:
        self.current.replace(self.settings.model_copy(update={"bots": bots}))

    def count(self, bot_id: str, method: str) -> int:
        return sum((call.bot_id, call.method) == (bot_id, method) for call in self.fake.calls)

    async def polls(self, *bot_ids: str) -> None:
        """Wait until these wait for updates."""
        await until(lambda: all(self.fake.bot(bot_id).poller is not None for bot_id in bot_ids))

    async def is_quiet(self, bot_id: str) -> None:
        """Wait until it waits for no updates any more."""
        await until(lambda: self.fake.bot(bot_id).poller is None)


async def test_a_bot_is_added_and_one_removed_and_the_third_never_notices(
    redis: RedisPort, fake: FakeTelegram
) -> None:
    async with Live(redis, fake, A, B).running() as live:
        await live.polls("701", "702")
        poller = fake.bot("701").poller
        live.use(A, C)
        await live.polls("703")
        await live.is_quiet("702")
        fake.say("702", 42, "are you there?")
        fake.say("703", 42, "hello c")
        (message,) = await live.messages(1)

        assert (message.text, message.bot) == ("hello c", "c")
        assert fake.bot("701").poller is poller
        assert [live.count(bot_id, "getMe") for bot_id in ("701", "702", "703")] == [1, 1, 1]

        live.use(A, C, B)
        (message,) = await live.messages(1)

        assert (message.text, message.bot) == ("are you there?", "b")
        assert fake.bot("701").poller is poller


async def test_what_is_being_sent_is_sent_before_a_bot_ends(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.fault(Fault("slow", bot_id="702", delay_s=0.3))
    async with Live(redis, fake, A, B).running() as live:
        await live.polls("701", "702")
        for number in (1, 2):
            await ingest(redis, [push_reply(Reply(id=f"t{number}:answer", bot_id="702", chat_id="42", text=f"n{number}"))])  # fmt: skip
        await until(lambda: live.count("702", "sendMessage") == 1)
        live.use(A)
        await live.is_quiet("702")
        await until(lambda: is_left(redis, 1))

        assert fake.texts() == ["n1"]

        live.use(A, B)
        await until(lambda: fake.texts() == ["n1", "n2"])


async def is_left(redis: RedisPort, count: int) -> bool:
    return await redis.llen(keys.items("out:702:42:0")) == count


async def test_a_changed_bot_begins_anew_and_two_of_it_never_poll_at_once(
    redis: RedisPort, fake: FakeTelegram
) -> None:
    async with Live(redis, fake, A, B).running() as live:
        await live.polls("701", "702")
        for people in (("42",), ("43",), ("44",)):
            live.use(A, B.model_copy(update={"people": people}))
            await asyncio.sleep(0)
        fake.say("702", 50, "let me in")
        await until(lambda: bool(fake.sent(50)))

        assert "only for certain people" in fake.texts(50)[0]
        assert live.count("701", "getMe") == 1
        assert not any(call.status == 409 for call in fake.calls)


async def test_who_takes_over_waits_until_the_one_before_has_sent(
    redis: RedisPort, fake: FakeTelegram
) -> None:
    fake.fault(Fault("slow", bot_id="702", delay_s=0.5))
    async with Live(redis, fake, B).running() as live:
        await live.polls("702")
        await ingest(redis, [push_reply(Reply(id="t:answer", bot_id="702", chat_id="42", text="hi"))])
        await until(lambda: live.count("702", "sendMessage") == 1)
        live.use(B.model_copy(update={"language": "de"}))
        await until(lambda: live.count("702", "getMe") == 2)

        assert await is_left(redis, 0)


async def test_a_refused_token_is_replaced_while_the_process_runs(
    redis: RedisPort, fake: FakeTelegram
) -> None:
    fake.revoked.add("701")
    async with Live(redis, fake, A).running() as live:
        await until(lambda: bool(live.lines))
        fake.revoked.clear()
        live.use(A.model_copy(update={"token": SecretStr("701:new")}))
        await live.polls("701")

    assert "401" in live.lines[0]


async def test_workers_are_told_what_a_bot_is_called_now(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Live(redis, fake, C).running() as live:
        await live.polls("703")
        live.use(C.model_copy(update={"name": "d", "persona": ""}))
        await until(lambda: live.count("703", "getMe") == 2)
        await live.polls("703")

    raw = await redis.hget(keys.bots(), "703") or b""
    assert load(BotNow, raw) == BotNow(name="d", of_its_own=False)


async def test_the_last_bot_may_go_and_the_first_may_come(redis: RedisPort, fake: FakeTelegram) -> None:
    async with Live(redis, fake).running() as live:
        await until(lambda: bool(live.lines))
        live.use(A)
        await live.polls("701")
        live.use()
        await live.is_quiet("701")


async def test_the_end_comes_also_while_a_bot_is_being_replaced(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.fault(Fault("hang", method="getMe", times=-1))
    async with Live(redis, fake, A).running() as live:
        await until(lambda: live.count("701", "getMe") == 1)
        live.use(A.model_copy(update={"name": "other"}))
        await asyncio.sleep(0)
        live.stop.set()


def test_settings_that_are_the_same_are_no_change() -> None:
    assert Settings(bots=(A,)) == Settings(bots=(A.model_copy(),))
