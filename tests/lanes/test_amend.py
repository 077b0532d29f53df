"""An edit takes the place of what it corrects, as long as that waits (C37)."""

from typing import Any

import pytest

from bot.edits import amendment
from infra import keys
from infra.pushes import push_message
from infra.redis_port import RedisPort
from lanes.amend import Amended, amend
from lanes.claim import Claim
from lanes.ingest import ingest
from schemas.inbound import InboundMessage
from schemas.wire import load
from tests.lanes.conftest import send, take_one


def written(update_id: int, text: str, message_id: int = 5, **more: Any) -> InboundMessage:
    fields: dict[str, Any] = {
        "id": f"7:{update_id}", "bot_id": "7", "bot": "b", "chat_id": "42", "user_id": "42", "message_id": message_id,
        "sent_at_ms": 1, "text": text, **more,
    }  # fmt: skip
    return InboundMessage(**fields)


def edit(update_id: int, text: str, message_id: int = 5, **more: Any) -> InboundMessage:
    return written(update_id, text, message_id, v=2, edited=True, **more)


async def apply(redis: RedisPort, message: InboundMessage) -> Amended:
    return await amend(redis, amendment(message))


async def wait(redis: RedisPort, *messages: InboundMessage) -> None:
    await send(redis, *(push_message(one) for one in messages))


def messages(claim: Claim) -> list[InboundMessage]:
    return [load(InboundMessage, item.body) for item in claim.items]


async def test_a_waiting_message_is_read_with_its_new_text(redis: RedisPort) -> None:  # C37
    await wait(redis, written(1, "hello", 4), written(2, "book 5"), written(3, "thanks", 6))

    assert await apply(redis, edit(9, "book 6")) is Amended.AMENDED

    assert messages(await take_one(redis)) == [
        written(1, "hello", 4),
        written(2, "book 6"),
        written(3, "thanks", 6),
    ]


async def test_only_the_message_itself_is_replaced(redis: RedisPort) -> None:  # C37
    other_numbers = [
        written(1, "55", 55), written(2, "15", 15), written(3, "quotes", 6, v=2, replied_message_id=5, replied_text="x", edited=True),
        written(4, 'says "message_id":5, itself', 7),
    ]  # fmt: skip
    await wait(redis, *other_numbers)

    assert await apply(redis, edit(9, "book 6")) is Amended.MISSED

    assert messages(await take_one(redis)) == other_numbers


async def test_another_chat_has_the_same_numbers(redis: RedisPort) -> None:
    await wait(redis, written(1, "theirs", chat_id="43"))

    assert await apply(redis, edit(9, "mine")) is Amended.MISSED


async def test_what_a_turn_has_taken_is_not_changed_behind_its_back(redis: RedisPort) -> None:  # C37
    await wait(redis, written(1, "book 5"))
    claim = await take_one(redis)

    assert await apply(redis, edit(9, "book 6")) is Amended.MISSED

    assert await redis.hget(keys.bodies(claim.job_id), "7:1") == claim.items[0].body


async def test_what_came_behind_a_running_turn_is_replaced(redis: RedisPort) -> None:  # C37
    await wait(redis, written(1, "first", 4))
    await take_one(redis)
    await wait(redis, written(2, "book 5"))

    assert await apply(redis, edit(9, "book 6")) is Amended.AMENDED


async def test_an_edit_that_is_delivered_again_is_known(redis: RedisPort) -> None:  # C6 C37
    await wait(redis, written(1, "book 5"))
    await apply(redis, edit(9, "book 6"))
    await apply(redis, edit(10, "book 7"))

    assert await apply(redis, edit(9, "book 6")) is Amended.KNOWN

    assert messages(await take_one(redis)) == [written(1, "book 7")]
    pushed = await ingest(redis, [push_message(edit(9, "book 6"))])
    assert pushed.repeats == 1


async def test_an_edit_that_was_pushed_is_known(redis: RedisPort) -> None:
    await wait(redis, edit(9, "book 6"))

    assert await apply(redis, edit(9, "book 6")) is Amended.KNOWN


async def test_an_edit_of_an_edit_that_waits_stays_one(redis: RedisPort) -> None:  # C37
    await wait(redis, edit(9, "book 6"))

    assert await apply(redis, edit(10, "book 7")) is Amended.AMENDED

    (found,) = messages(await take_one(redis))
    assert found == edit(9, "book 7")


async def test_a_waiting_command_is_not_changed_by_an_edit(redis: RedisPort) -> None:  # C37
    command = written(1, "/forget last", kind="command", command="forget", argument="last")
    await wait(redis, command)

    assert await apply(redis, edit(9, "/forget all")) is Amended.MISSED

    assert messages(await take_one(redis)) == [command]


async def test_a_body_that_needs_nothing_new_is_written_as_version_1(redis: RedisPort) -> None:
    await wait(redis, written(1, "a"), written(2, "b", 6))
    await apply(redis, edit(9, "plain"))
    await apply(redis, edit(10, "with a quote", 6, replied_text="x", replied_message_id=3))

    plain, quoting = messages(await take_one(redis))

    assert (plain.v, plain.edited) == (1, False)
    assert (quoting.v, quoting.replied_text) == (2, "x")


@pytest.mark.parametrize("text", ["100 %1 %", '"id":"7:9"', "\\"])
async def test_any_text_is_stored_as_it_is(redis: RedisPort, text: str) -> None:
    await wait(redis, written(1, "x"))

    await apply(redis, edit(9, text))

    assert messages(await take_one(redis)) == [written(1, text)]
