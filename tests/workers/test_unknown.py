"""A bot that the worker does not know yet, or no longer: what people wrote to it waits, and nobody else's model sees it."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from infra import keys
from infra.redis_port import RedisPort
from lanes.ingest import ingest
from lanes.outcome import Done, HandBack, Outcome
from llm.routing import Models
from memory.fold import fold_pushes
from schemas.bot import BotNow
from schemas.inbound import InboundMessage
from schemas.memory import Exchange, Session
from schemas.wire import dump
from tests.workers.stage import APRIL_5_14_23, House, ScriptedChain, calls, open_house, with_tools
from workers.latest import Latest
from workers.services import Brain
from workers.unknown import FIRST_PAUSE_MS, LAST_PAUSE_MS, is_known, pause_ms


def message(number: int = 1, **more: Any) -> InboundMessage:
    fields: dict[str, Any] = {"bot": "new", "of_its_own": True, "v": 2, **more}
    return InboundMessage(
        id=f"7:{number}",
        bot_id="7",
        chat_id="42",
        user_id="42",
        sent_at_ms=APRIL_5_14_23,
        text="hi",
        **fields,
    )


@pytest.mark.parametrize(
    ("waited_ms", "pause"),
    [(0, FIRST_PAUSE_MS), (-5_000, FIRST_PAUSE_MS), (100_000, 10_000), (86_400_000, LAST_PAUSE_MS)],
)
def test_the_longer_a_message_waits_the_rarer_it_is_looked_at(waited_ms: int, pause: int) -> None:
    assert pause_ms(message(), APRIL_5_14_23 + waited_ms) == pause


def test_a_known_bot_and_one_without_a_mind_of_its_own_are_not_waited_for() -> None:
    assert is_known(message(), {"new"})
    assert is_known(message(of_its_own=False), set())
    assert not is_known(message(), {"other"})


@dataclass
class Worker:
    """One whose settings change."""

    house: House
    latest: Latest
    deaths: list[int] = field(default_factory=list[int])
    """As each claim counted them."""

    async def turn(self) -> Outcome:
        claim = await self.house.take()
        self.deaths.append(claim.deaths)
        outcome = await self.latest.run(claim)
        await self.house.settle(claim, outcome)
        return outcome


@pytest.fixture
def worker(redis: RedisPort) -> Worker:
    house = open_house(redis)
    return Worker(house, Latest(house.services))


async def test_a_message_of_an_unknown_bot_waits_however_often_it_is_looked_at(worker: Worker) -> None:
    await worker.house.push(message())

    outcomes = [await worker.turn() for _ in range(10)]

    assert set(outcomes) == {HandBack(FIRST_PAUSE_MS)}
    assert max(worker.deaths) == min(worker.deaths)
    assert worker.house.chain.requests == []
    assert await worker.house.replies("7:42:0") == []


async def test_it_is_answered_once_the_bot_is_known_by_no_other_model(worker: Worker) -> None:
    house, own = worker.house, ScriptedChain(["I know you."])
    await house.push(message())
    await worker.turn()

    worker.latest.use(replace(house.services, brains={"new": Brain(own, Models(("m",)), "Be brief.")}))
    await worker.turn()

    assert (len(house.chain.requests), len(own.requests)) == (0, 1)
    assert own.requests[0].system.startswith("Be brief.")
    assert [reply.text for reply in await house.replies("7:42:0")] == ["I know you."]


async def test_a_turn_keeps_the_settings_that_it_began_with(redis: RedisPort) -> None:
    house, other = with_tools(open_house(redis)), ScriptedChain(["by the new settings"])
    house.chain.script = [calls(("tasks_list", {})), "by the old settings"]
    changed = replace(house.services, brain=Brain(other, Models(("m",))))

    def clock() -> int:
        """Asked when a turn has just begun, and later."""
        latest.use(changed)
        return house.now_ms

    latest = Latest(replace(house.services, clock=clock))
    worker = Worker(house, latest)
    for text in ("one", "two"):
        await house.push(house.message(text))
        await worker.turn()

    assert [reply.text for reply in await house.replies()] == ["by the old settings", "by the new settings"]
    assert len(house.chain.requests) == 2


async def test_a_conversation_of_an_unknown_bot_is_summarised_by_no_other_model(worker: Worker) -> None:
    house = worker.house
    dropped = Exchange(id="t", user="secret", reply="yes", at_ms=house.now_ms)
    session = Session(
        id="s", started_ms=house.now_ms, last_ms=house.now_ms, exchanges=(dropped,), leaving=(dropped,)
    )
    await house.redis.set(keys.session("7:42:0"), dump(session))
    pushes = fold_pushes(session, lane="7:42:0", owner="home:u:42", bot="new", user_id="42", turn_id="t", of_its_own=True)  # fmt: skip
    await ingest(house.redis, list(pushes))

    assert await worker.turn() == HandBack(LAST_PAUSE_MS)
    worker.latest.use(replace(house.services, brains={"new": Brain(ScriptedChain(["noted"]))}))
    assert isinstance(await worker.turn(), Done)

    assert house.chain.requests == []


@pytest.mark.parametrize("own", [True, False])
async def test_what_a_renamed_bot_was_told_before_is_answered_under_its_new_name(
    worker: Worker, *, own: bool
) -> None:
    house, chain = worker.house, worker.house.chain
    if own:
        chain = ScriptedChain()
        worker.latest.use(replace(house.services, brains={"new": Brain(chain, Models(("m",)))}))
    await house.push(message(1, bot="old"))
    assert isinstance(await worker.turn(), HandBack)

    await house.redis.hset(keys.bots(), "7", dump(BotNow(name="new", of_its_own=own)))
    await worker.turn()

    (request,) = chain.requests
    assert request.system.startswith("You are new,")


async def test_a_bot_that_was_taken_out_is_waited_for_whatever_it_was_called_last(worker: Worker) -> None:
    await worker.house.redis.hset(keys.bots(), "7", dump(BotNow(name="new", of_its_own=True)))
    await worker.house.push(message())

    assert isinstance(await worker.turn(), HandBack)
    assert worker.house.chain.requests == []
