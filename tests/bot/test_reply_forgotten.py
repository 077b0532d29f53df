"""A reply that its turn pushed after its owner forgot: sent, but kept nowhere (invariant 9)."""

import pytest

from bot.reply import Sender
from infra import keys
from infra.dead import dead_letters
from infra.forget import forget
from infra.people import save_person
from infra.pushes import push_message, push_reply
from infra.redis_port import RedisPort
from lanes.commit import commit
from lanes.ingest import ingest
from lanes.outcome import Commit, Done
from schemas.inbound import InboundMessage
from schemas.person import Person
from tests.bot.conftest import CHAT, OWNER, attempt, one, reply, settle, take
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault


async def answer_of_a_turn_during_which(redis: RedisPort, what: str) -> None:
    """A turn that begins, sees its owner forget, and ends with an answer."""
    message = InboundMessage(
        id="777:1", bot_id="777", bot="b", chat_id=CHAT, user_id=CHAT, sent_at_ms=1, text="x"
    )
    await ingest(redis, [push_message(message)])
    (claim,) = await take(redis, keys.inbox_queue())
    if what:
        await forget(redis, OWNER, what)
    await commit(redis, keys.inbox_queue(), claim, Commit(pushes=(push_reply(reply(1, "a secret")),)))


@pytest.mark.parametrize("what", ["all", "last", "anything"])
async def test_an_answer_from_before_a_forgetting_is_sent_but_never_kept(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, what: str
) -> None:
    await answer_of_a_turn_during_which(redis, what)
    await save_person(redis, Person(user_id="1", role="owner", language="en", chat_bot_id="777"))
    fake.fault(Fault("error", description="Bad Request: no"))

    await attempt(redis, sender)

    assert await dead_letters(redis) == []
    assert await redis.exists(keys.dead_of(OWNER), keys.bodies(f"out:777:{CHAT}:0")) == 0
    await attempt(redis, sender)
    (told,) = fake.texts("1")
    assert told.endswith("It is not kept: its person had koi forget meanwhile.")


async def test_nor_is_it_when_its_sender_dies_too_often(redis: RedisPort, sender: Sender) -> None:
    await answer_of_a_turn_during_which(redis, "all")
    claim = await one(redis)

    await settle(redis, claim, Done(sender.bury(claim, "died 5 times")))

    assert await dead_letters(redis) == []


async def test_an_answer_that_was_there_and_not_meant_is_kept(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await answer_of_a_turn_during_which(redis, "")
    await forget(redis, OWNER, "something else")
    fake.fault(Fault("error", description="Bad Request: no"))

    await attempt(redis, sender)

    (letter,) = await dead_letters(redis)
    assert "a secret" in letter.body


async def test_an_answer_from_before_a_forgetting_arrives(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await answer_of_a_turn_during_which(redis, "all")

    await attempt(redis, sender)

    assert fake.texts() == ["a secret"]
    assert await redis.pttl(keys.unkept("turn1:answer")) > 0
