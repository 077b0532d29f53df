"""A turn asks for a file, again and again, until it is answered or the deadline passes."""

import asyncio

import pytest

from infra import keys
from infra.files import (
    MOST_BYTES,
    Fetched,
    FileOutcome,
    NotInTime,
    NotThere,
    TooBig,
    answer,
    answer_bytes,
    drop_effects,
    fetch,
    read_answer,
)
from infra.redis_port import RedisPort
from schemas.files import FileRequest
from schemas.inbound import Attachment
from schemas.wire import load
from tests.contents import contents

PHOTO = Attachment(kind="photo", file_id="f1", unique_id="u1", mime="image/jpeg")
REQUESTS = keys.file_requests("777")


async def ask(
    redis: RedisPort, attachment: Attachment = PHOTO, *, deadline_s: float = 5, again_s: float = 3
) -> FileOutcome:
    return await fetch(
        redis, "777", attachment, turn_id="t1", max_bytes=100, deadline_s=deadline_s, again_s=again_s
    )


async def request(redis: RedisPort) -> FileRequest:
    found = await redis.blpop([REQUESTS], timeout=5)
    assert found is not None
    return load(FileRequest, found[1])


@pytest.mark.parametrize(
    "outcome",
    [
        Fetched(b"\xff\xd8\n\x00\n", "image/jpeg"),
        Fetched(b"", "image/jpeg"),
        TooBig(101),
        NotThere("refused"),
    ],
    ids=["bytes with line ends", "an empty file", "too big", "not there"],
)
async def test_a_file_is_asked_for_and_what_the_bot_found_comes_back(
    redis: RedisPort, outcome: Fetched | TooBig | NotThere
) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask(redis))
        asked = await request(redis)
        await answer(redis, asked, outcome)

    assert (asked.turn_id, asked.file_id, asked.unique_id, asked.max_bytes) == ("t1", "f1", "u1", 100)
    assert asking.result() == outcome


async def test_a_request_that_was_lost_is_repeated(redis: RedisPort) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask(redis, again_s=0.05))
        lost = [await request(redis) for _ in range(3)]  # a bot that took them and died
        await answer(redis, lost[0], Fetched(b"x"))

    assert lost[0] == lost[1] == lost[2]
    assert asking.result() == Fetched(b"x", "image/jpeg")


async def test_without_an_answer_the_deadline_ends_it(redis: RedisPort) -> None:
    assert await ask(redis, deadline_s=0.15, again_s=0.05) == NotInTime()
    assert await ask(redis, deadline_s=-1) == NotInTime()


async def test_a_file_that_is_said_to_be_too_big_is_not_asked_for(redis: RedisPort) -> None:
    large = PHOTO.model_copy(update={"size_bytes": 101})

    assert await ask(redis, large) == TooBig(101)
    assert await redis.exists(REQUESTS) == 0


async def test_nobody_can_ask_for_more_than_redis_is_given(redis: RedisPort) -> None:
    async with asyncio.TaskGroup() as group:
        asking = fetch(redis, "777", PHOTO, turn_id="t1", max_bytes=10**9, deadline_s=5)
        group.create_task(asking)
        asked = await request(redis)
        await answer(redis, asked, NotThere("x"))

    assert asked.max_bytes == MOST_BYTES


async def test_what_was_taken_is_gone_and_what_nobody_takes_expires(redis: RedisPort) -> None:
    asked = FileRequest(turn_id="t1", file_id="f1", unique_id="u1", max_bytes=100)
    await answer(redis, asked, Fetched(b"x"))
    assert 0 < await redis.pttl(keys.file("t1", "u1")) <= 120_000

    await ask(redis)

    assert await redis.exists(keys.file("t1", "u1")) == 0
    assert 0 < await redis.pttl(REQUESTS) <= 60_000  # asked once before the answer was read


async def test_answers_do_not_pile_up(redis: RedisPort) -> None:
    asked = FileRequest(turn_id="t1", file_id="f1", unique_id="u1", max_bytes=100)

    await answer(redis, asked, Fetched(b"old"))
    await answer(redis, asked, Fetched(b"new"))

    assert await redis.llen(keys.file("t1", "u1")) == 1
    assert await ask(redis) == Fetched(b"new", "image/jpeg")


async def test_requests_do_not_pile_up_while_no_bot_is_there(redis: RedisPort) -> None:
    await redis.rpush(REQUESTS, *(b"old" for _ in range(500)))

    await ask(redis, deadline_s=0.05)

    waiting = await redis.lrange(REQUESTS, 0, -1)
    assert len(waiting) == 200
    assert b'"f1"' in waiting[-1]


async def test_a_request_holds_ids_and_no_name(redis: RedisPort) -> None:
    named = Attachment(kind="document", file_id="f1", unique_id="u1", name="Kündigung.pdf")
    await ask(redis, named, deadline_s=0.05)

    assert "Kündigung" not in str(await contents(redis))


def test_a_file_without_a_unique_id_has_its_own_key() -> None:
    one = Attachment(kind="document", file_id="f1")
    other = Attachment(kind="document", file_id="f2")

    keys_dropped = {effect.key for effect in drop_effects("t1", (one, other))}
    assert keys_dropped == {keys.file("t1", "f1"), keys.file("t1", "f2")}


@pytest.mark.parametrize("raw", [b"", b"?", b'{"v": 9}\nbytes', b'{"odd": 1}\nx'])
def test_an_answer_that_cannot_be_read_is_no_file(raw: bytes) -> None:
    assert isinstance(read_answer(raw), NotThere)


def test_what_the_sender_calls_it_goes_before_what_the_bot_guesses() -> None:
    raw = answer_bytes(Fetched(b"x", "text/plain"))

    assert read_answer(raw, "text/csv") == Fetched(b"x", "text/csv")
    assert read_answer(raw) == Fetched(b"x", "text/plain")
