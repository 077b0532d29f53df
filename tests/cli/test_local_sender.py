"""Replies on their way into the open windows of a lane."""

import asyncio

from cli.local_sender import LocalSender, serve_outbox
from cli.replies import Replies
from infra import keys
from infra.effect import Push
from infra.redis_port import RedisPort
from lanes.claim import Claim, Item
from lanes.ingest import ingest
from lanes.outcome import Commit, Done, HandBack
from schemas.reply import Reply
from schemas.wire import dump
from tests.cli.conftest import LANE, reply, until

NEWER = b'{"v":99}'


def claim(*bodies: bytes) -> Claim:
    items = tuple(Item(str(number), body) for number, body in enumerate(bodies))
    return Claim(f"out:{LANE}", "token", "turn", items, "0")


async def opened(redis: RedisPort) -> Replies:
    replies = Replies(redis, LANE)
    await replies.open()
    return replies


async def next_of(replies: Replies) -> Reply:
    async with asyncio.timeout(5):
        async for found in replies:
            return found
    raise AssertionError("replies never end")


async def test_a_reply_stays_in_the_outbox_until_a_window_is_open(redis: RedisPort) -> None:
    sender = LocalSender(redis)

    outcome = await sender.run(claim(dump(reply())))

    assert isinstance(outcome, HandBack)


async def test_every_open_window_shows_a_reply(redis: RedisPort) -> None:
    windows = [await opened(redis), await opened(redis)]

    outcome = await LocalSender(redis).run(claim(dump(reply())))

    assert outcome == Done(Commit(remove=("0",)))
    assert [await next_of(window) for window in windows] == [reply(), reply()]
    for window in windows:
        await window.close()


async def test_a_reply_that_is_published_again_after_a_crash_is_shown_once(redis: RedisPort) -> None:
    window = await opened(redis)
    sender = LocalSender(redis)

    for number in (1, 1, 2):
        await sender.run(claim(dump(reply(number))))

    assert [(await next_of(window)).id, (await next_of(window)).id] == ["t1:answer", "t2:answer"]
    await window.close()


async def test_what_cannot_be_read_is_taken_away_and_the_rest_is_shown(redis: RedisPort) -> None:
    window = await opened(redis)

    outcome = await LocalSender(redis).run(claim(b"no json", dump(reply())))

    assert outcome == Done(Commit(remove=("0", "1")))
    assert await next_of(window) == reply()
    await window.close()


async def test_a_reply_of_a_newer_version_waits_with_all_behind_it(redis: RedisPort) -> None:
    window = await opened(redis)

    outcome = await LocalSender(redis).run(claim(dump(reply()), NEWER, dump(reply(2))))

    assert outcome == Done(Commit(remove=("0",)))
    assert isinstance(await LocalSender(redis).run(claim(NEWER, dump(reply(2)))), HandBack)
    await window.close()


async def test_the_outbox_of_a_bot_is_served_until_stop(redis: RedisPort) -> None:
    window, stop, shown = await opened(redis), asyncio.Event(), list[Reply]()
    push = Push(f"out:{LANE}", keys.outbox_queue("local"), reply().id, dump(reply()), reply().owner)

    async def watch() -> None:
        async for found in window:
            shown.append(found)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        watching = group.create_task(watch())
        group.create_task(serve_outbox(redis, "local", stop))
        await ingest(redis, [push])
        await until(lambda: bool(shown))
        stop.set()
        watching.cancel()

    assert shown == [reply()]
    assert await redis.exists(keys.bodies(f"out:{LANE}")) == 0
    await window.close()
