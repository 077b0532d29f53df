"""Two workers, and one person who writes to ten bots at the same moment with hardly anything left of the plan: it is never
passed, not for an instant, and nobody is left without a line.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from infra import keys
from infra.redis_port import RedisPort
from schemas.call import CallRecord
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

BOTS = {f"bot{number}": str(7400 + number) for number in range(10)}
OWNER, MONEY, FEW = 90, 91, 92
"""MONEY has a plan with dollars a month, FEW one with messages a day."""
LIMIT_MICROUSD, SPENT_BEFORE = 10_000_000, 9_900_000
"""99 %."""
MESSAGES_A_DAY = 5
CONFIG = f"""
[plans.money]
people = ["{MONEY}"]
usd_per_month = {LIMIT_MICROUSD / 1_000_000}

[plans.few]
people = ["{FEW}"]
messages_per_day = {MESSAGES_A_DAY}

[prices."m"]
input = 1
output = 4
""" + "".join(f'[[bots]]\nname = "{name}"\ntoken_env = "{name.upper()}_TOKEN"\n' for name in BOTS)
NOW = datetime(2026, 4, 15, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
DAY, MONTH = "2026-04-15", "2026-04"
THINKS_S = 1.5
"""Longer than it takes until the last of ten messages has reached a worker, also on a busy machine."""
NO_MONEY = "What your plan allows for this month is used up. From 1 May, 00:00 on I answer again."
NO_MESSAGES = f"Your plan allows {MESSAGES_A_DAY} messages a day, and today's are used up. From 16 Apr, 00:00 on I answer again."


@dataclass
class Story:
    waves: list[list[str]] = field(default_factory=list[list[str]])
    """What came of ten messages at once of MONEY, then of ten more."""
    seen: list[int] = field(default_factory=list[int])
    """The counter of the month, every few milliseconds while all that went on."""
    in_the_end: int = 0
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    workers: set[str] = field(default_factory=set[str])
    """Who made them."""
    few: list[str] = field(default_factory=list[str])
    """What came of the ten messages of FEW."""
    messages_counted: int = 0
    asked_for_few: int = 0
    usage: str = ""
    reserved: list[str] = field(default_factory=list[str])
    """Reservations that are left over."""


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    stack.config.write_text(CONFIG)
    shift_s = NOW.timestamp() - time.time()
    telegram, model = FakeTelegram(), ModelServer()
    model.always(Answer(delay_s=THINKS_S, to_the_last=True))
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        people = {"TELEGRAM_OWNER": str(OWNER), "TELEGRAM_ALLOWED_USERS": f"{MONEY},{FEW}"}
        tokens = {f"{name.upper()}_TOKEN": koi.token(bot_id) for name, bot_id in BOTS.items()}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **people, **tokens)
        workers = [
            stack.koi(name, "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m", **people)
            for name in ("worker-1", "worker-2")
        ]
        koi.at(shift_s, bot, *workers)
        koi.start(bot, *workers)
        await until(lambda: both_alive(redis), what="two workers")
        story, talk = Story(), Talk(telegram, model)
        await money(story, redis, talk)
        await few(story, redis, talk)
        await koi.end(bot, *workers)
        story.in_the_end = await spent(redis)
        story.calls = await koi.calls_of(redis, MONEY)
        story.reserved = [key.decode() async for key in redis.scan_iter(match=keys.reserved("*"))]
        turns = await asyncio.to_thread(
            lambda: [worker.log.read_text("utf-8").count("turn_") for worker in workers]
        )
        story.workers = {worker.name for worker, n in zip(workers, turns, strict=True) if n}
    return story


async def both_alive(redis: RedisPort) -> bool:
    return await redis.zcard(keys.alive("worker")) == 2


async def money(story: Story, redis: RedisPort, talk: Talk) -> None:
    """Twice ten messages at once, when a hundredth of the plan is left."""
    await redis.hset(keys.spent(str(MONEY), MONTH), "microusd", SPENT_BEFORE)
    async with watched(story, redis):
        for text in ("Quitten", "Holunder"):
            story.waves.append(await ten_at_once(talk, MONEY, text))
            await until(lambda: settled(redis), what="the settlement of all calls")
    talk.model.always(Answer())
    story.usage = (await talk.say(BOTS["bot0"], MONEY, "/usage")).reply


async def few(story: Story, redis: RedisPort, talk: Talk) -> None:
    """Ten messages at once, when one is left for today."""
    await redis.hset(keys.spent(str(FEW), DAY), "messages", MESSAGES_A_DAY - 1)
    asked = len(talk.model.requests)
    story.few = await ten_at_once(talk, FEW, "Schlehe")
    story.asked_for_few = len(talk.model.requests) - asked
    story.messages_counted = int(await redis.hget(keys.spent(str(FEW), DAY), "messages") or 0)


async def ten_at_once(talk: Talk, person: int, text: str) -> list[str]:
    """One to each bot; all that is answered."""
    before = len(talk.telegram.texts(person))
    for bot_id in BOTS.values():
        talk.telegram.say(bot_id, person, text)
    await until(lambda: len(talk.telegram.texts(person)) >= before + len(BOTS), what="ten answers")
    return talk.telegram.texts(person)[before:]


async def spent(redis: RedisPort) -> int:
    return int(await redis.hget(keys.spent(str(MONEY), MONTH), "microusd") or 0)


async def settled(redis: RedisPort) -> bool:
    return not [key async for key in redis.scan_iter(match=keys.reserved("*"))]


@asynccontextmanager
async def watched(story: Story, redis: RedisPort) -> AsyncGenerator[None]:
    """Look at the counter until the end of the block."""

    async def look() -> None:
        while True:
            story.seen.append(await spent(redis))
            await asyncio.sleep(0.002)

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        yield
        looking.cancel()


# ── dollars a month ──────────────────────────────────────────────────────────────────────────────────────────────
def test_the_plan_is_never_passed_not_even_while_ten_answers_are_written(story: Story) -> None:  # C54
    assert len(story.seen) > 100
    assert max(story.seen) <= LIMIT_MICROUSD
    assert max(story.seen) > SPENT_BEFORE + 50_000  # what is reserved is counted
    assert SPENT_BEFORE < story.in_the_end <= LIMIT_MICROUSD


def test_each_of_ten_messages_at_once_is_answered_or_told_when_the_plan_renews(story: Story) -> None:  # C54
    for wave, text in zip(story.waves, ("Quitten", "Holunder"), strict=True):
        assert len(wave) == len(BOTS)
        assert set(wave) <= {f"echo: {text}", f"echo: Current message: {text}", NO_MONEY}
    first = story.waves[0]
    assert 2 <= first.count("echo: Quitten") < len(BOTS)


def test_what_was_spent_is_what_the_calls_cost_and_no_reservation_is_left(story: Story) -> None:
    answers = sum(reply.startswith("echo: ") for wave in story.waves for reply in wave)

    assert [call.outcome for call in story.calls] == ["answered"] * answers
    assert story.in_the_end == SPENT_BEFORE + sum(call.cost_microusd or 0 for call in story.calls)
    assert story.reserved == []
    assert story.workers == {"worker-1", "worker-2"}


def test_the_person_can_see_what_the_plan_leaves(story: Story) -> None:
    assert "Plan money: $0.00" in story.usage
    assert "of $10.00 left this month, all of it again from 1 May, 00:00 on" in story.usage


# ── messages a day ───────────────────────────────────────────────────────────────────────────────────────────────
def test_of_ten_messages_at_once_with_one_left_for_today_one_is_answered(story: Story) -> None:
    assert sorted(story.few) == [NO_MESSAGES] * 9 + ["echo: Schlehe"]
    assert story.asked_for_few == 1
    assert story.messages_counted == MESSAGES_A_DAY
