"""Two processes, one breaker: what an outage costs, and that nobody goes without an answer who could have one."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from infra.redis_port import RedisPort
from llm.breaker import Breaker
from llm.candidates import Candidate
from llm.chain import Chain
from llm.errors import NoModelAnswered
from llm.failure import Failure
from llm.request import CallEnded, Completion, Skipped
from llm.standing import CLOSED, OPEN_MS, SAYS_NOTHING, THRESHOLD, Closed, Fails, Signal, State
from tests.llm.scripted import (
    HELLO,
    OVERLOADED,
    SERVICE,
    USED,
    ScriptedProvider,
    Step,
    asking,
    jumping,
    says,
)
from tests.llm.test_breaker import START_MS, Time, trip

A, B = Candidate(SERVICE, "a"), Candidate(SERVICE, "b")
RATE_LIMITED = Failure("rate_limited", retry_after_s=90)
KEY = Failure("unauthorized")


@dataclass
class House:
    """One Redis; each chain is a process of its own, all ask the same servers."""

    redis: RedisPort
    time: Time = field(default_factory=Time)
    servers: dict[str, ScriptedProvider] = field(default_factory=dict[str, ScriptedProvider])
    recorded: list[CallEnded] = field(default_factory=list[CallEnded])

    def serve(self, **scripts: Sequence[Sequence[Step]]) -> None:
        self.servers = {model: ScriptedProvider(script) for model, script in scripts.items()}

    @property
    def breaker(self) -> Breaker:
        return Breaker(self.redis, clock=self.time)

    def chain(self) -> Chain:
        links = [(Candidate(SERVICE, model), server) for model, server in self.servers.items()]
        return Chain(links, breaker=self.breaker, chance=lambda: 0.0)

    async def ask(self, *, deadline_s: float = 120.0) -> Completion:
        deadline_at = asyncio.get_running_loop().time() + deadline_s
        return await self.chain().complete(HELLO, deadline_at=deadline_at, on_call=self.record)

    async def record(self, ended: CallEnded) -> None:
        self.recorded.append(ended)

    def calls(self, model: str) -> int:
        return len(self.servers[model].requests)


@pytest.fixture
def house(redis: RedisPort) -> House:
    return House(redis)


async def test_ten_minutes_of_529_cost_the_threshold_and_a_probe_per_wait(house: House) -> None:  # C23
    house.serve(a=[[OVERLOADED]], b=[says("yes")])

    answers: list[Completion] = []
    for _ in range(600):
        answers.append(await house.ask())
        house.time.ms += 1_000

    assert {answer.text for answer in answers} == {"yes"}
    assert house.calls("a") == THRESHOLD + 4  # probes after 30, 90, 210 and 450 seconds
    assert house.calls("b") == 600


async def test_a_model_that_works_again_is_back_with_the_first_probe(house: House) -> None:
    house.serve(a=[*[[OVERLOADED]] * THRESHOLD, says("back")], b=[says("yes")])
    for _ in range(THRESHOLD):
        await house.ask()
    house.time.ms += OPEN_MS

    answers = [(await house.ask()).text for _ in range(3)]

    assert answers == ["back"] * 3


async def test_who_answers_instead_says_who_was_skipped_and_since_when(house: House) -> None:
    house.serve(a=[[OVERLOADED]], b=[says("yes")])
    await trip(house.breaker, A)
    house.time.ms += 10_000

    completion = await house.ask()

    assert (completion.asked, completion.model) == ("a", "b")
    assert completion.skipped == (Skipped("compatible", "a", "breaker", "overloaded", START_MS),)
    assert house.calls("a") == 0


async def test_a_model_that_answers_says_nothing_about_those_behind_it(house: House) -> None:
    house.serve(a=[says("yes")], b=[[OVERLOADED]])
    await trip(house.breaker, B)

    assert (await house.ask()).skipped == ()


async def test_a_wait_of_ninety_seconds_is_kept_by_all_processes(house: House) -> None:
    house.serve(a=[[RATE_LIMITED], says("back")], b=[says("yes")])

    answers: list[str] = []
    for _ in range(92):
        answers.append((await house.ask()).text)
        house.time.ms += 1_000

    assert answers == ["yes"] * 90 + ["back"] * 2


async def test_of_two_parallel_turns_one_probes(house: House) -> None:
    house.serve(a=[(0.05, OVERLOADED)], b=[says("yes")])
    await trip(house.breaker, A)
    house.time.ms += OPEN_MS

    answers = await asyncio.gather(*(house.ask() for _ in range(10)))

    assert {answer.text for answer in answers} == {"yes"}
    assert house.calls("a") == 1


async def test_a_probe_whose_turn_is_cancelled_leaves_it_to_the_next_turn(house: House) -> None:
    house.serve(a=[(60.0,), says("back")], b=[says("yes")])
    await trip(house.breaker, A)
    house.time.ms += OPEN_MS

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await house.ask()

    assert (await house.ask()).text == "back"
    assert [ended.outcome for ended in house.recorded] == ["abandoned", "answered"]


async def test_a_probe_that_was_killed_blocks_for_its_turns_deadline_at_most(house: House) -> None:
    house.serve(a=[says("back")], b=[says("yes")])
    await trip(house.breaker, A)
    house.time.ms += OPEN_MS
    await house.breaker.admit([A], lease_ms=120_000)  # and no word ever again

    meanwhile = await house.ask()
    house.time.ms += 120_000
    after = await house.ask()

    assert (meanwhile.text, after.text) == ("yes", "back")


async def test_a_turn_with_nobody_else_to_ask_calls_the_only_model_once(house: House) -> None:
    house.serve(a=[[OVERLOADED]])
    await trip(house.breaker, A)

    with pytest.raises(NoModelAnswered) as nobody:
        await house.ask()

    assert house.calls("a") == 1
    assert nobody.value.reason == "a: overloaded (HTTP 529)"
    assert nobody.value.worth_retrying


async def test_a_last_resort_that_answers_is_an_answer_like_any_other(house: House) -> None:
    house.serve(a=[[KEY]], b=[says("yes")])
    await trip(house.breaker, A, Fails("unauthorized", threshold=1))
    await trip(house.breaker, B)

    completion = await house.ask()

    assert completion.text == "yes"
    assert [each.model for each in completion.skipped] == ["a"]
    assert (await house.breaker.read([B]))[B] == Closed()


async def test_with_everything_down_a_message_pays_for_one_timeout_at_most(house: House) -> None:
    house.serve(a=[[Failure("timeout")]], b=[[Failure("timeout")]], c=[[KEY]])
    for model in "ab":
        await trip(house.breaker, Candidate(SERVICE, model), Fails("timeout"))
    await trip(house.breaker, Candidate(SERVICE, "c"), Fails("unauthorized", threshold=1))

    with pytest.raises(NoModelAnswered) as nobody:
        await house.ask()

    assert [house.calls(model) for model in "abc"] == [1, 0, 0]
    assert nobody.value.reason == ("a: timeout; b: not asked (timeout); c: not asked (unauthorized)")
    assert [each.model for each in nobody.value.skipped] == ["b", "c"]


async def test_what_fails_fast_is_asked_before_what_costs_time(house: House) -> None:
    house.serve(a=[[Failure("timeout")]], b=[says("yes")])
    await trip(house.breaker, A, Fails("timeout"))
    await trip(house.breaker, B, Fails("broken"))

    assert (await house.ask()).text == "yes"
    assert house.calls("a") == 0


async def test_the_only_model_is_waited_for_if_it_asked_for_time_and_there_is_some(house: House) -> None:
    house.serve(a=[says("yes")])
    await trip(house.breaker, A, Fails("rate_limited", threshold=1, asked_ms=100))
    loop = asyncio.get_running_loop()
    started = loop.time()

    assert (await house.ask()).text == "yes"
    assert loop.time() - started >= 0.1


async def test_when_the_key_is_wrong_everywhere_only_the_owner_can_help(house: House) -> None:
    house.serve(a=[[KEY]], b=[[KEY]])
    await trip(house.breaker, A, Fails("unauthorized", threshold=1))

    with pytest.raises(NoModelAnswered) as nobody:
        await house.ask()

    assert not nobody.value.worth_retrying
    assert (house.calls("a"), house.calls("b")) == (0, 1)


async def test_a_model_that_was_opened_by_its_first_try_gets_no_second(house: House) -> None:
    house.serve(a=[[OVERLOADED]], b=[says("yes")])
    for _ in range(THRESHOLD - 1):
        await house.breaker.tell(A, Closed(), Fails("overloaded"))

    await house.ask()

    assert house.calls("a") == 1


async def test_the_only_model_has_its_second_try_also_if_the_first_opened_its_breaker(house: House) -> None:
    house.serve(a=[[OVERLOADED], says("yes")])
    for _ in range(THRESHOLD - 1):
        await house.breaker.tell(A, Closed(), Fails("overloaded"))

    assert (await house.ask()).text == "yes"
    assert (await house.breaker.read([A]))[A] == Closed()


class Noting(Breaker):
    """Knows nothing, and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Signal] = []

    async def admit(self, candidates: Iterable[Candidate], *, lease_ms: int) -> Mapping[Candidate, State]:
        return dict.fromkeys(candidates, CLOSED)

    async def tell(self, candidate: Candidate, known: State, signal: Signal) -> State:
        self.told.append(signal)
        return known


@pytest.mark.parametrize(
    ("script", "signal"), [((1000.0,), Fails("deadline")), ((USED, 1000.0), SAYS_NOTHING)]
)
def test_the_deadline_of_a_turn_counts_only_if_not_one_byte_came(
    script: Sequence[Step], signal: Signal
) -> None:
    breaker, it = Noting(), asking([script])
    chain = Chain(it.chain().links, breaker=breaker)

    async def ask() -> None:
        deadline_at = asyncio.get_running_loop().time() + 120
        await chain.complete(HELLO, deadline_at=deadline_at, on_call=it.record)

    with pytest.raises(NoModelAnswered):
        jumping(ask())
    assert breaker.told == [signal]


async def test_a_healthy_chain_costs_one_round_trip_a_turn(house: House) -> None:
    house.serve(a=[says("yes")], b=[says("no")])
    await house.ask()
    before = (await house.redis.info("stats"))["total_commands_processed"]
    scripts = (await house.redis.info("commandstats"))["cmdstat_evalsha"]["calls"]

    for _ in range(10):
        await house.ask()

    after = (await house.redis.info("commandstats"))["cmdstat_evalsha"]["calls"]
    in_scripts = 2 * 2  # HMGET and GET of two models
    total = (await house.redis.info("stats"))["total_commands_processed"] - before
    assert after - scripts == 10
    assert total <= 10 * (1 + in_scripts) + 10
