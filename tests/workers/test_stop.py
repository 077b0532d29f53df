"""A turn that is told to end early ends within a second, and says what it had."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from infra import keys
from infra.redis_port import RedisPort
from infra.stop import STOP_TTL_MS, stop_turn
from lanes.claim import Claim
from lanes.outcome import Done, Outcome
from llm.candidates import Candidate
from llm.chain import Chain
from llm.events import Finished, Grew, Opened, Stopped, Text
from llm.routing import Models
from schemas.memory import RingEntry, Session
from schemas.turn import TurnRecord
from schemas.wire import load
from tests.llm.scripted import OVERLOADED, SERVICE, USED, ScriptedProvider, Step, says
from tests.workers.stage import House, with_tools
from workers.cut_off import closed
from workers.services import Brain
from workers.stop import Stops

LANE, OWNER = "7:42:0", "home:u:42"
FOR_EVER = 1000.0
CALLS_A_TOOL: tuple[Step, ...] = (
    USED, Text("I look."), Opened(1, {"type": "tool_use", "id": "t1", "name": "create_task", "input": {}}),
    Grew(1, "input", '{"title": "Bread"}'), Stopped("tool_use"), Finished(),
)  # fmt: skip


@dataclass
class Stage:
    """A house whose model is a real chain over a scripted provider, and one turn of it that runs."""

    house: House
    stops: Stops
    provider: ScriptedProvider
    claim: Claim
    turn: asyncio.Task[Outcome]

    async def asked(self, times: int = 1) -> None:
        """The model was asked, and said what it says before it is silent."""
        async with asyncio.timeout(5):
            while len(self.provider.requests) < times:
                await asyncio.sleep(0.002)
        await asyncio.sleep(0.02)

    async def stop(self, lane: str = LANE) -> bool:
        return await stop_turn(self.house.redis, lane, claim="7:900")

    async def said(self) -> str:
        """The turn ends by itself; what the person is sent."""
        async with asyncio.timeout(5):
            outcome = await self.turn
        await self.house.settle(self.claim, outcome)
        return (await self.house.replies())[-1].text


@asynccontextmanager
async def staged(
    house: House, *scripts: Sequence[Step], text: str = "Tell me", hears: bool = True, looks_s: float = 3600
) -> AsyncGenerator[Stage]:
    """hears: Redis' channels work. looks_s: how long passes between two looks at the key."""

    async def sleep(_: float) -> None:
        await asyncio.sleep(looks_s)

    provider = ScriptedProvider(scripts)
    chain = Chain([(Candidate(SERVICE, "a"), provider)])
    stops = Stops(house.redis, sleep=sleep)
    house.services = replace(house.services, stops=stops, brain=Brain(chain, Models(("a",))))
    await house.push(house.message(text, language="en"))
    claim = await house.take()
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(stops.serve() if hears else deaf(stops, looks_s))
        while hears and not await house.redis.publish(keys.stop_channel(), "nobody"):
            await asyncio.sleep(0.002)
        turn = group.create_task(house.handler.run(claim))
        yield Stage(house, stops, provider, claim, turn)
        turn.cancel()
        serving.cancel()


async def deaf(stops: Stops, looks_s: float) -> None:
    while True:
        await asyncio.sleep(looks_s)
        await stops.look()


async def session(house: House) -> Session:
    return load(Session, await house.redis.get(keys.session(LANE)) or b"")


async def record(house: House) -> TurnRecord:
    return load(TurnRecord, (await house.redis.lrange(keys.turns(OWNER), -1, -1))[0])


async def test_what_was_written_stays_as_the_answer_and_is_marked(house: House) -> None:
    async with staged(house, (USED, Text("One. "), Text("Two."), FOR_EVER)) as stage:
        await stage.asked()

        assert await stage.stop()

        assert await stage.said() == "One. Two.\n\n(stopped)"
    assert [one.reply for one in (await session(house)).exchanges] == ["One. Two."]
    (entry,) = [load(RingEntry, raw) for raw in await house.redis.lrange(keys.ring(OWNER), 0, -1)]
    assert entry.reply == "One. Two."
    made = await record(house)
    assert (made.ending, [call.outcome for call in made.calls]) == ("stopped", ["interrupted"])
    assert made.calls[0].input_tokens == 10


async def test_before_a_word_was_written_koi_says_so_and_the_message_stays_known(house: House) -> None:
    async with staged(house, (USED, FOR_EVER)) as stage:
        await stage.asked()

        await stage.stop()

        assert await stage.said() == "Stopped, before I had written anything."
    (exchange,) = (await session(house)).exchanges
    assert exchange.user == "Tell me"


async def test_a_stop_that_was_not_heard_is_seen(house: House) -> None:
    async with staged(house, (USED, Text("One."), FOR_EVER), hears=False, looks_s=0.01) as stage:
        await stage.asked()

        await stage.stop()

        assert await stage.said() == "One.\n\n(stopped)"


async def test_a_failing_model_is_not_tried_again_after_a_stop(house: House) -> None:
    async with staged(house, (0.3, OVERLOADED), says("no")) as stage:
        await stage.asked()

        await stage.stop()

        assert "Stopped" in await stage.said()
    assert len(stage.provider.requests) == 1


async def test_a_stop_before_the_next_round_ends_the_loop_and_what_was_done_stands(house: House) -> None:
    with_tools(house)
    async with staged(house, CALLS_A_TOOL, (USED, Text("Two."), FOR_EVER)) as stage:
        await stage.asked(2)

        await stage.stop()

        assert await stage.said() == "Two.\n\n(stopped)"
    (exchange,) = (await session(house)).exchanges
    assert [call.name for one in exchange.rounds for call in one.calls] == ["create_task"]
    assert await house.redis.hlen(keys.things(OWNER)) == 2  # the task, and their version


async def test_tools_that_are_called_when_the_stop_comes_are_not_run(house: House) -> None:
    with_tools(house)
    begun, rest = CALLS_A_TOOL[:4], CALLS_A_TOOL[4:]
    async with staged(house, (*begun, 0.1, *rest, FOR_EVER), says("no")) as stage:
        await stage.asked()
        await asyncio.sleep(0.1)  # all is said, and the connection stays open

        await stage.stop()

        assert await stage.said() == "I look.\n\n(stopped)"
    assert await house.redis.exists(keys.things(OWNER)) == 0


async def test_a_stop_for_a_turn_that_has_ended_changes_nothing(house: House) -> None:
    async with staged(house, says("One.")) as stage:
        turn_id = stage.claim.turn_id
        assert await stage.said() == "One."

        assert not await stage.stop()
        await house.redis.set(keys.stop(LANE), turn_id)
        await stage.stops.look()

    async with staged(house, (USED, Text("Two."), 0.1, Stopped("end_turn"), Finished())) as stage:
        await stage.stops.look()

        assert await stage.said() == "Two."
    assert await house.redis.exists(keys.stop(LANE)) == 0


async def test_the_commit_removes_the_stop(house: House) -> None:
    async with staged(house, (USED, Text("One."), FOR_EVER)) as stage:
        await stage.asked()
        await stage.stop()
        assert 0 < await house.redis.pttl(keys.stop(LANE)) <= STOP_TTL_MS

        await stage.said()

    assert await house.redis.exists(keys.stop(LANE)) == 0


async def test_the_lane_goes_on_with_what_waits(house: House) -> None:
    async with staged(house, (USED, Text("One."), FOR_EVER)) as stage:
        await stage.asked()
        await house.push(house.message("And then?", language="en"))
        await stage.stop()
        await stage.said()

    claim = await house.take()
    assert b"And then?" in claim.items[0].body


async def test_no_other_lane_is_stopped(house: House) -> None:
    async with staged(house, (USED, Text("One. "), 0.3, *says("Two."))) as stage:
        await stage.asked()

        assert not await stage.stop("7:43:0")
        await house.redis.publish(keys.stop_channel(), "somebody else's")

        assert await stage.said() == "One. Two."


async def test_a_retry_of_a_turn_that_was_stopped_says_so_too(house: House) -> None:
    async with staged(house, (USED, FOR_EVER)) as stage:
        await stage.asked()
        await stage.stop()
    await house.redis.delete(keys.lease(keys.inbox_job(LANE)))  # that worker died
    await house.redis.zadd(keys.inbox_queue(), {keys.inbox_job(LANE): 0})
    again = await house.take()
    assert again.turn_id == stage.claim.turn_id

    stops = Stops(house.redis)
    house.services = replace(house.services, stops=stops)
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(deaf(stops, 0.01))
        outcome = await asyncio.wait_for(house.handler.run(again), 5)
        looking.cancel()

    assert isinstance(outcome, Done)
    assert b"Stopped, before" in outcome.commit.pushes[0].body


async def test_stops_are_heard_again_after_a_lost_connection(redis: RedisPort) -> None:
    stops = Stops(redis, sleep=lambda _: asyncio.sleep(0.01))
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(stops.serve())
        for _ in range(2):
            async with asyncio.timeout(5):
                while not await redis.publish(keys.stop_channel(), "nobody"):
                    await asyncio.sleep(0.002)
            async with redis.pipeline(transaction=False) as pipe:
                pipe.execute_command("CLIENT", "KILL", "TYPE", "PUBSUB")
                await pipe.execute()
        serving.cancel()


async def test_a_message_that_waits_can_be_stopped_before_its_turn_begins(house: House) -> None:
    message = house.message("Tell me", language="en")
    await house.push(message)

    assert await stop_turn(house.redis, LANE, claim="7:900")

    stops = Stops(house.redis)
    with stops.watching(LANE, frozenset({message.id})) as halt:
        await stops.look()
        assert halt.is_set()


async def test_a_command_that_waits_is_nothing_to_stop(house: House) -> None:
    await house.push(house.message("/memory"))

    assert not await stop_turn(house.redis, LANE, claim="7:900")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"),
        ("a\n```\nb\n```\nc\n````\nd", "a\n```\nb\n```\nc\n````\nd\n````"),
        ("inline ``` here", "inline ``` here"),
    ],
)
def test_a_code_block_that_was_cut_off_is_closed(text: str, expected: str) -> None:
    assert closed(text) == expected
