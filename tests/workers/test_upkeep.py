"""What a worker does beside turns."""

import asyncio
from dataclasses import replace

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from infra import keys
from schemas.mail import Mail
from schemas.wire import dump
from tests.fakes.mailbox import Mailbox
from tests.workers.stage import House
from workers.mail_settings import MailSettings
from workers.services import Services
from workers.upkeep import every, expire, upkeep


async def no_beat() -> None:
    """Nobody listens."""


def with_rounds(house: House, rounds: int) -> Services:
    """Services whose sleep ends everything after so many rounds."""
    slept = iter(range(rounds))

    async def sleep(_: float) -> None:
        if next(slept, None) is None:
            raise asyncio.CancelledError

    return replace(house.services, sleep=sleep)


async def test_a_job_is_done_at_once_and_again(house: House) -> None:
    done: list[int] = []

    async def job() -> None:
        done.append(1)

    with pytest.raises(asyncio.CancelledError):
        await every(with_rounds(house, 2), "job", 5.0, job)

    assert len(done) == 3


async def test_a_job_that_fails_is_tried_again(house: House) -> None:
    done: list[int] = []

    async def job() -> None:
        done.append(1)
        raise RedisConnectionError("away")

    with pytest.raises(asyncio.CancelledError):
        await every(with_rounds(house, 2), "job", 5.0, job)

    assert len(done) == 3


async def test_a_shared_job_that_another_worker_did_lately_is_left_out(house: House) -> None:
    done: list[int] = []

    async def job() -> None:
        done.append(1)

    await house.redis.set(keys.once("upkeep:job"), "1", ex=60)
    with pytest.raises(asyncio.CancelledError):
        await every(with_rounds(house, 5), "job", 5.0, job, shared=True)

    assert len(done) == 1


async def test_old_texts_expire_as_soon_as_a_worker_starts(house: House) -> None:
    await house.say("Chemitek")
    house.later(hours=25)

    await expire(house.services)

    assert await house.redis.exists(keys.ring("home:u:42"), keys.session("7:42:0")) == 0


async def test_mails_are_sent_beside_the_turns(house: House) -> None:
    async with Mailbox() as mailbox, asyncio.TaskGroup() as group:
        await house.redis.rpush(keys.mails(), dump(Mail(id="m", at_ms=house.now_ms, subject="s", text="t")))
        settings = MailSettings("me@example.org", "koi@example.org", "127.0.0.1", mailbox.port, "offered")
        keeping = group.create_task(upkeep(replace(house.services, mail=settings), no_beat))
        async with asyncio.timeout(5):
            while not mailbox.mails:
                await asyncio.sleep(0.005)
        keeping.cancel()


async def test_upkeep_beats_mends_lanes_expires_texts_and_tells_of_the_dead(house: House) -> None:
    beaten = asyncio.Event()
    await house.say("Chemitek", user_id="43", chat_id="43")
    house.later(hours=25)
    await house.push(house.message("Hallo"))
    await house.bury("sonnet: rejected")
    stranded = house.message("gestrandet", chat_id="44", user_id="44")
    await house.push(stranded)
    await house.redis.zrem(keys.inbox_queue(), keys.inbox_job(stranded.lane))

    async def beat() -> None:
        beaten.set()

    async def all_is_well() -> bool:
        mended = await house.redis.zscore(keys.inbox_queue(), keys.inbox_job(stranded.lane)) is not None
        expired = await house.redis.exists(keys.ring("home:u:43")) == 0
        return mended and expired and len(await house.replies("7:1:0")) == 1

    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(upkeep(house.services, beat))
        async with asyncio.timeout(5):
            await beaten.wait()
            while not await all_is_well():
                await asyncio.sleep(0.005)
        keeping.cancel()


async def test_every_job_leaves_word_of_its_last_run(house: House) -> None:
    names = ("beat", "dead", "expire", "reminders", "sweep")
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(upkeep(house.services, no_beat))
        async with asyncio.timeout(5):
            while await house.redis.exists(*map(keys.ran, names)) < len(names):
                await asyncio.sleep(0.005)
        keeping.cancel()
