"""Which kind of model a turn asks, and what it learns about how that counts."""

from dataclasses import replace

import pytest

from infra import keys
from llm.routing import Models
from memory.ratio import start, unpack
from schemas.memory import Session
from schemas.wire import load
from tests.workers.stage import House, ScriptedChain
from workers.services import Brain

SMALL, DEMANDING = "Brot dazu", "Sortiere meine Aufgaben dieser Woche nach Priorität und begründe es"


@pytest.fixture
def light(house: House) -> ScriptedChain:
    """The house has a light model beside its strong one."""
    chain = ScriptedChain()
    brain = Brain(house.chain, Models(("sonnet",), "haiku"), light=chain)
    house.services = replace(house.services, brain=brain)
    return chain


async def tier(house: House) -> str:
    return load(Session, await house.redis.get(keys.session("7:42:0")) or b"").tier


async def test_a_small_request_is_answered_by_the_light_model_a_demanding_one_by_the_strong(
    house: House, light: ScriptedChain
) -> None:
    await house.say(SMALL)
    assert (len(light.requests), len(house.chain.requests), await tier(house)) == (1, 0, "light")

    await house.say(DEMANDING)
    assert (len(light.requests), len(house.chain.requests), await tier(house)) == (1, 1, "strong")


async def test_what_was_asked_for_with_model_holds_until_it_is_given_back(
    house: House, light: ScriptedChain
) -> None:
    await house.say("/model stark")
    await house.say(SMALL)
    assert (len(light.requests), len(house.chain.requests)) == (0, 1)

    await house.say("/model leicht")
    await house.say(DEMANDING)
    assert (len(light.requests), len(house.chain.requests)) == (1, 1)

    await house.say("/model auto")
    await house.say(DEMANDING)
    assert (len(light.requests), len(house.chain.requests)) == (1, 2)


async def test_what_an_answer_taught_about_counting_is_kept_for_its_model_and_chat(house: House) -> None:
    await house.say("Hallo")

    learnt = unpack(await house.redis.hget(keys.ratios("7:42:0"), "sonnet"))
    assert learnt.seen == 1
    assert learnt.r != start().r
    assert await house.redis.pttl(keys.ratios("7:42:0")) > 0
