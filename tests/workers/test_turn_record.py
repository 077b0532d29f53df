"""What is kept of an answer, and until when."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from infra import keys
from infra.settings import PlanSettings
from llm.candidates import Candidate, Service
from llm.chain import Chain
from llm.request import Skipped
from llm.routing import Models
from memory.expire import expire_texts
from schemas.memory import AnswerRecord, Exchange, Session
from schemas.turn import TurnRecord
from schemas.wire import dump, load
from tests.contents import contents
from tests.llm.scripted import ScriptedProvider, Step, says
from tests.workers.stage import HOUR_MS, House, completion
from workers.plans import plans_from
from workers.services import Brain
from workers.turn_record import asked_of

LANE, OWNER = "7:42:0", "home:u:42"
SERVICE = Service("openrouter", "http://127.0.0.1:1")


async def newest(house: House) -> TurnRecord:
    return load(TurnRecord, (await house.redis.lrange(keys.turns(OWNER), -1, -1))[0])


def text_of(record: TurnRecord, kind: str) -> str:
    return next(part.text for part in record.parts if part.kind == kind)


def brain_of(**models: Sequence[Step]) -> Brain:
    """A chain of these models, each with what it says every time."""
    ids = itertools.count(1)
    links = [(Candidate(SERVICE, model), ScriptedProvider([script])) for model, script in models.items()]
    return Brain(Chain(links, new_id=lambda: f"c{next(ids)}"), Models(tuple(models)))


async def test_a_record_goes_with_the_oldest_text_that_it_quotes(house: House) -> None:
    await house.say("ROSEBUD")
    house.later(hours=23)
    await house.say("What was it?")
    assert "ROSEBUD" in text_of(await newest(house), "block")
    await house.sent()

    house.later(hours=1)
    await expire_texts(house.redis, house.now_ms, house.services.memory, house.services.session)

    assert [key for key, held in (await contents(house.redis)).items() if "ROSEBUD" in held] == []


async def test_a_record_that_quotes_the_running_summary_is_as_old_as_that(house: House) -> None:
    began_ms = house.now_ms - 23 * HOUR_MS
    running = Session(
        id="s", started_ms=began_ms, last_ms=house.now_ms, summary="ROSEBUD", summary_oldest_ms=began_ms,
        exchanges=(Exchange(id="e", at_ms=house.now_ms, user="Hi", reply="Hello"),),
    )  # fmt: skip
    await house.redis.set(keys.session(LANE), dump(running))

    await house.say("Go on")

    record = await newest(house)
    assert "ROSEBUD" in text_of(record, "summary")
    assert record.oldest_ms == began_ms


async def test_a_model_that_the_plan_does_not_allow_is_not_said_to_have_failed(house: House) -> None:
    plans = plans_from({"free": PlanSettings(people=("*",), models=("haiku",))})
    house.services = replace(
        house.services, brain=brain_of(sonnet=says("no"), haiku=says("yes")), plans=plans
    )

    assert await house.say("Hallo") == "yes"

    answer = load(AnswerRecord, await house.redis.get(keys.answer(LANE)) or b"")
    assert (answer.asked, answer.model) == ("haiku", "haiku")
    assert (await newest(house)).asked == "haiku"


@pytest.mark.parametrize(
    ("skipped", "asked"),
    [
        ((), "opus"),
        ((Skipped("fake", "opus", "breaker", "overloaded"),), "opus"),
        ((Skipped("fake", "opus", "permit", "plan free does not allow opus"),), "sonnet"),
    ],
)
def test_asked_is_the_first_that_was_allowed(skipped: tuple[Skipped, ...], asked: str) -> None:
    assert asked_of(completion("Hi", asked="opus", skipped=skipped)) == asked


async def test_an_answer_is_not_said_to_know_what_was_trimmed_away(house: House) -> None:
    house.services = replace(house.services, session=replace(house.services.session, budget_tokens=1_000))
    await house.say("The parcel is a lamp", bot_id="8", bot="mail", language="de")
    given: list[tuple[str, ...]] = []
    for number in range(8):
        await house.say(f"Message {number}: " + "and so on " * 60)
        given.append(load(AnswerRecord, await house.redis.get(keys.answer(LANE)) or b"").entry_ids)

    raw = await house.redis.get(keys.session(LANE)) or b""
    shown = [exchange.id for exchange in load(Session, raw).exchanges[:-1]]
    assert len(given[1]) == 2  # the lamp, and the first exchange
    assert list(given[-1]) == shown
