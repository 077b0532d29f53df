"""A message is answered anew: /retry, what was edited, a dislike; each from the command to the commit."""

from infra import keys
from infra.sent_answers import sent_effects
from lanes.outcome import Commit, Done
from schemas.memory import Session
from schemas.wire import load
from tests.workers.stage import House, completion

LANE, OWNER = "7:42:0", "home:u:42"


async def session(house: House) -> Session:
    return load(Session, await house.redis.get(keys.session(LANE)) or b"")


async def test_retry_asks_the_last_question_again_and_the_new_answer_takes_the_place_of_the_first(
    house: House,
) -> None:
    house.chain.script = ["Four.", "Five."]
    await house.say("How many?", language="en")

    assert await house.say("/retry strong", language="en") == "Five."

    assert house.chain.requests[1].messages[-1].text.startswith("How many?")
    assert [(one.user, one.reply) for one in (await session(house)).exchanges] == [("How many?", "Five.")]
    assert await house.redis.llen(keys.ring(OWNER)) == 1


async def test_retry_without_an_answer_says_so_and_asks_nobody(house: House) -> None:
    assert "Just ask once more" in await house.say("/retry", language="en")
    assert house.chain.requests == []


async def test_an_edit_that_says_the_same_is_not_answered_and_another_is(house: House) -> None:
    await house.say("Buy five")
    await house.push(house.message("Buy five", edited=True, v=2))
    assert await house.turn() == Done(Commit())

    house.chain.script = ["Six then."]
    assert await house.say("Buy six", edited=True, v=2) == "Six then."
    assert "Buy six" in house.asked


async def test_a_dislike_of_the_last_answer_offers_another_try_and_of_others_nothing(house: House) -> None:
    await house.say("How many?", language="en")
    (reply,) = await house.replies()
    (push, *_) = sent_effects(LANE, reply.id, [77])
    await house.redis.rpush(push.key, *push.args)

    said = await house.say("/retry offer", reaction="👎", message_id=77, v=2, language="en")

    assert "with my strongest model" in said
    assert (await house.replies())[-1].buttons[0][0].command == "/retry strong"
    before = len(await house.replies())
    await house.push(house.message("/retry offer", reaction="👎", message_id=5, v=2))
    await house.turn()
    assert len(await house.replies()) == before


async def test_a_retry_that_brings_no_answer_leaves_the_first_one_in_the_memory(house: House) -> None:
    house.chain.script = ["Four.", completion("", ending="refused")]
    await house.say("How many?", language="en")

    assert "declined" in await house.say("/retry", language="en")

    assert await house.redis.llen(keys.ring(OWNER)) == 1
    assert [one.reply for one in (await session(house)).exchanges] == ["Four."]
