"""A fake Bot API server, a bot that talks to it, and one bot's outbox."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from bot.api import BotApi, Me
from bot.limiter import Limiter
from bot.reply import Sender
from infra import keys
from infra.people import PeopleCache
from infra.pushes import push_reply
from infra.redis_port import RedisPort
from infra.settings import Settings, TelegramSettings
from lanes.claim import Claim, claim_due
from lanes.commit import commit, release
from lanes.ingest import ingest
from lanes.outcome import Done, HandBack, Handler, Outcome
from schemas.reply import Button, Reply
from tests.fakes.telegram import FakeTelegram

TOKEN = "777:test-token"
ME = Me("777", "koi777_bot", "parcel", "home", "en")
CHAT = "42"
OWNER = "home:u:42"
QUEUE = keys.outbox_queue(ME.bot_id)
NOW_MS = 1_800_000_000_000


def clock() -> int:
    return NOW_MS


@pytest.fixture
async def fake() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram(now=lambda: NOW_MS / 1000).running() as server:
        yield server


@pytest.fixture
async def api(fake: FakeTelegram) -> AsyncIterator[BotApi]:
    client = BotApi(TOKEN, fake.base)
    yield client
    await client.close()


def reply(
    number: int | str,
    text: str,
    *,
    chat_id: str = CHAT,
    topic_id: int = 0,
    plain: bool = False,
    buttons: tuple[tuple[Button, ...], ...] = (),
) -> Reply:
    return Reply(
        id=f"turn{number}:answer", bot_id=ME.bot_id, chat_id=chat_id, topic_id=topic_id, text=text, plain=plain,
        owner=OWNER, buttons=buttons,
    )  # fmt: skip


async def take(redis: RedisPort, queue: str = QUEUE) -> list[Claim]:
    """Claim what is due, one item per turn as the sender does."""
    claims, _ = await claim_due(redis, queue, lease_ms=10_000, wanted=50, prefix="test", per_turn=1)
    return claims


async def settle(redis: RedisPort, claim: Claim, outcome: Outcome) -> None:
    """What the lane worker does with an outcome; a delay is not waited for."""
    match outcome:
        case Done(commit=end):
            await commit(redis, QUEUE, claim, end)
        case HandBack():
            await release(redis, QUEUE, claim)
        case failed:
            raise AssertionError(failed)


async def die(redis: RedisPort, claim: Claim) -> None:
    """The process that held the claim is gone, and its lease has ended."""
    await redis.delete(keys.lease(claim.job_id))
    await redis.zadd(keys.queue_of(claim.job_id), {claim.job_id: 0})


async def until(condition: Callable[[], bool | Awaitable[bool]], *, timeout_s: float = 10) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.002)


class Sleeps:
    """Stands for asyncio.sleep: notes the seconds, and lets others run."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


# ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────
FAST = TelegramSettings(messages_per_second=10_000, chat_messages_per_second=1_000)
BOSS = Settings(telegram_owner="1")
THREE_PARTS = "\n".join(f"line {i} " + "x" * 1000 for i in range(9))


@pytest.fixture
def sender(redis: RedisPort, api: BotApi) -> Sender:
    return make_sender(redis, api)


def make_sender(redis: RedisPort, api: BotApi, limits: TelegramSettings = FAST) -> Sender:
    return Sender(redis, api, ME, Limiter(redis, ME.bot_id, limits), PeopleCache(redis, BOSS, clock), clock)


async def queue(redis: RedisPort, *replies: Reply) -> None:
    await ingest(redis, [push_reply(r) for r in replies])


async def one(redis: RedisPort) -> Claim:
    (claim,) = await take(redis)
    return claim


async def attempt(redis: RedisPort, sender: Handler) -> Outcome:
    """Claim what is due, send, settle."""
    claim = await one(redis)
    outcome = await sender.run(claim)
    await settle(redis, claim, outcome)
    return outcome
