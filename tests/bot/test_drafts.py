"""Drafts may be lost, keep their pace, and are never in the way of the answer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from bot.api import BotApi
from bot.drafts import BOT_EVERY_S, CHAT_EVERY_S, UNKNOWN_S, Drafts
from bot.reply import Sender
from infra import keys
from infra.redis_port import RedisPort
from infra.stop import draft_id_of
from schemas.draft import TurnDraft
from schemas.wire import dump
from tests.bot.conftest import attempt, queue, reply, until
from tests.bot.test_chat_action import kill_subscribers
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault

CHANNEL = keys.draft_channel("777")


class Time:
    """Stands still until somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.01)
        self.now_s += seconds


class Stage:
    def __init__(self, redis: RedisPort, api: BotApi, fake: FakeTelegram) -> None:
        self.redis, self.fake, self.time = redis, fake, Time()
        self.drafts = Drafts(redis, api, sleep=self.time.sleep, now=self.time)

    async def write(self, text: str, *, turn: str = "t1", chat: str = "42", topic: int = 0) -> None:
        await self.publish(TurnDraft(turn_id=turn, chat_id=chat, topic_id=topic, text=text))

    async def publish(self, draft: TurnDraft) -> None:
        await self.redis.publish(CHANNEL, dump(draft))

    async def over(self, turn: str = "t1") -> None:
        await self.publish(TurnDraft(turn_id=turn, chat_id="42", over=True))

    async def barrier(self) -> None:
        """All that was published before has been dealt with, in chats whose time has come."""
        self.time.now_s += 2 * CHAT_EVERY_S
        before = len(self.shown())
        await self.write("barrier", turn="barrier", chat="99")
        await until(lambda: len(self.shown()) > before and self.shown()[-1]["text"] == "barrier")
        await asyncio.sleep(0.03)

    def shown(self) -> list[dict[str, object]]:
        return [call.fields for call in self.fake.calls if call.method == "sendMessageDraft"]

    def texts(self, chat_id: int = 42) -> list[object]:
        return [fields["text"] for fields in self.shown() if fields["chat_id"] == chat_id]

    async def has_shown(self, *texts: str, chat_id: int = 42) -> None:
        await until(lambda: self.texts(chat_id) == list(texts))


@pytest.fixture
async def stage(redis: RedisPort, api: BotApi, fake: FakeTelegram) -> AsyncGenerator[Stage]:
    stage = Stage(redis, api, fake)
    async with serving(stage):
        yield stage


@asynccontextmanager
async def serving(stage: Stage) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stage.drafts.serve())
        await until(lambda: heard(stage.redis))
        yield
        task.cancel()


async def heard(redis: RedisPort) -> bool:
    return await redis.publish(CHANNEL, "nonsense") > 0


async def test_a_draft_is_plain_text_with_a_button_to_stop(stage: Stage) -> None:
    await stage.write("**One**", topic=7)

    await stage.has_shown("**One**")
    assert stage.shown() == [
        {
            "chat_id": 42, "draft_id": draft_id_of("t1"), "text": "**One**", "can_stop": True,
            "keep_on_stop": True, "message_thread_id": 7,
        }
    ]  # fmt: skip


async def test_a_chat_has_its_pace_and_what_is_older_is_left_out(stage: Stage) -> None:
    await stage.write("1")
    await stage.has_shown("1")
    began = stage.time()

    for text in ("1 2", "1 2 3", "1 2 3 4"):
        await stage.write(text)

    await stage.has_shown("1", "1 2 3 4")
    assert stage.time() - began >= CHAT_EVERY_S


async def test_all_chats_together_leave_the_replies_their_room(stage: Stage) -> None:
    began = stage.time()

    for chat in range(50, 60):
        await stage.write("x", turn=f"t{chat}", chat=str(chat))
    await until(lambda: len(stage.shown()) == 10)

    assert stage.time() - began >= 9 * BOT_EVERY_S
    assert [key async for key in stage.redis.scan_iter(match=keys.send_limit("777", "*"))] == []


async def test_after_a_429_none_is_sent_until_its_wait_is_over(stage: Stage) -> None:  # C21
    stage.fake.fault(Fault("flood", method="sendMessageDraft", chat_id="42", retry_after=33))
    await stage.write("1")
    await until(lambda: len(stage.texts()) == 1)

    for text in ("1 2", "1 2 3"):
        await stage.write(text)
    await stage.barrier()
    assert stage.texts() == ["1"]

    stage.time.now_s += 33
    await stage.write("1 2 3 4")
    await stage.has_shown("1", "1 2 3 4")


@pytest.mark.parametrize("chat_id", ["42", ""], ids=["of the chat", "of the bot"])
async def test_where_a_reply_met_a_429_no_draft_is_sent(stage: Stage, chat_id: str) -> None:  # C21
    await stage.redis.set(keys.send_pause("777", chat_id), "1", px=33_000)

    await stage.write("1")
    await until(lambda: not pending(stage))

    assert stage.shown() == []


def pending(stage: Stage) -> bool:
    chats = stage.drafts._chats.values()  # pyright: ignore[reportPrivateUsage]
    return not chats or any(chat.task is None or not chat.task.done() for chat in chats)


async def test_when_the_reply_begins_the_drafts_of_its_turn_end(
    stage: Stage, redis: RedisPort, sender: Sender
) -> None:  # C22
    await stage.write("1")
    await stage.has_shown("1")
    await stage.write("1 2")  # waits for its time
    await queue(redis, reply(1, "One, two."))  # its id is "turn1:answer"

    stage.drafts.over("t1")
    await stage.write("1 2 3")
    await stage.barrier()

    assert stage.texts() == ["1"]

    await stage.write("x", turn="turn1")
    await stage.has_shown("1", "x")
    await attempt(redis, stage.drafts.before(sender))
    await stage.write("x y", turn="turn1")
    await stage.barrier()
    await stage.write("next", turn="turn2")
    await stage.has_shown("1", "x", "next")
    assert stage.fake.texts(42) == ["One, two."]


async def test_a_draft_that_is_on_its_way_when_the_reply_begins_is_given_up(
    stage: Stage, redis: RedisPort, sender: Sender
) -> None:  # C22
    stage.fake.fault(Fault("hang", method="sendMessageDraft"))
    await stage.write("1", turn="turn1")
    await until(lambda: len(stage.shown()) == 1)
    await queue(redis, reply(1, "One, two."))

    async with asyncio.timeout(2):
        await attempt(redis, stage.drafts.before(sender))

    await stage.write("next", turn="turn2")
    async with asyncio.timeout(2):  # less than a draft may take
        await stage.has_shown("1", "next")


async def test_when_the_worker_says_that_the_turn_is_over_none_follows(stage: Stage) -> None:  # C22
    await stage.write("1")
    await stage.has_shown("1")

    await stage.over()
    await stage.write("1 2")
    await stage.barrier()

    assert stage.texts() == ["1"]


async def test_a_final_reply_that_is_refused_for_long_comes_whole_later(
    stage: Stage, redis: RedisPort, sender: Sender
) -> None:  # C22
    stage.fake.fault(Fault("flood", chat_id="42", retry_after=149))
    await stage.write("One", turn="turn1")
    await stage.has_shown("One")
    await queue(redis, reply(1, "One, two."))
    quiet = stage.drafts.before(sender)

    await attempt(redis, quiet)
    await stage.write("One, t", turn="turn1")
    await stage.barrier()
    await redis.delete(keys.send_pause("777", "42"))
    await redis.zadd(keys.outbox_queue("777"), {keys.outbox_job("777:42:0"): 0})
    await attempt(redis, quiet)

    assert stage.texts() == ["One"]
    assert stage.fake.texts(42) == ["One, two."]


async def test_whatever_fails_the_next_one_is_shown(stage: Stage) -> None:
    stage.fake.fault(Fault("drop_before", method="sendMessageDraft"))
    stage.fake.fault(Fault("error", method="sendMessageDraft", status=400))
    await stage.redis.publish(CHANNEL, b'{"v": 9, "turn_id": "t", "new": 1}')
    await stage.write("in a group", chat="-100123")

    for nth in range(3):
        await stage.write(str(nth))
        await stage.has_shown(*map(str, range(nth + 1)))


async def test_a_server_that_knows_no_drafts_is_not_asked_again_for_a_while(stage: Stage) -> None:
    stage.fake.fault(Fault("error", method="sendMessageDraft", status=404, description="Not Found"))
    await stage.write("1")
    await stage.has_shown("1")

    await stage.write("1 2")
    await stage.write("x", turn="t2", chat="43")
    await asyncio.sleep(0.05)
    assert len(stage.shown()) == 1

    stage.time.now_s += UNKNOWN_S
    await stage.write("1 2 3")
    await stage.has_shown("1", "1 2 3")


async def test_it_lives_through_a_lost_connection(stage: Stage) -> None:
    await kill_subscribers(stage.redis)
    await until(lambda: heard(stage.redis))

    await stage.write("1")

    await stage.has_shown("1")


def test_the_draft_of_a_turn_has_an_id_that_telegram_takes() -> None:
    ids = {draft_id_of(f"worker:{number}") for number in range(2_000)}

    assert len(ids) == 2_000
    assert all(0 < draft_id < 2**31 for draft_id in ids)
