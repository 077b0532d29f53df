"""Outages over real HTTP, with the real breaker: `a` is asked first, then `b`. Acceptance 5 of the model side."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from infra.redis_port import RedisPort
from infra.settings import Settings
from llm.breaker import Breaker
from llm.candidates import FIRST_PARTY, Candidate, Service
from llm.chain import Chain, build_chain, provider_for
from llm.errors import RequestRejected
from llm.provider import Provider
from llm.request import CallEnded, Completion, Message, ModelRequest
from llm.standing import THRESHOLD
from tests.fakes.model_script import OVERLOADED, Answer, Behaviour, Broken, Dropped, Status, rate_limited
from tests.fakes.model_server import ModelServer
from tests.llm.test_breaker import Time

HELLO = ModelRequest("Be kind.", (Message("user", "Hello"),), max_tokens=100)


@dataclass
class Processes:
    """Two, with a chain each over the same Redis, taking turns."""

    server: ModelServer
    chains: tuple[Chain, Chain]
    time: Time
    recorded: list[CallEnded] = field(default_factory=list[CallEnded])
    turns: int = 0

    async def ask(self, request: ModelRequest = HELLO) -> Completion:
        self.turns += 1
        deadline_at = asyncio.get_running_loop().time() + 60
        return await self.chains[self.turns % 2].complete(
            request, deadline_at=deadline_at, on_call=self.record
        )

    async def record(self, ended: CallEnded) -> None:
        self.recorded.append(ended)

    def calls(self, model: str) -> int:
        return sum(asked.model == model for asked in self.server.requests)


@pytest.fixture
async def house(redis: RedisPort) -> AsyncIterator[Processes]:
    async with ModelServer() as server:
        settings, time = Settings(models=("a", "b"), anthropic_base_url=server.url), Time()
        chains = build_chain(settings, redis=redis), build_chain(settings, redis=redis)
        for chain in chains:
            chain.breaker = Breaker(redis, clock=time)
            chain.chance = lambda: 0.0
            await chain.prepare()
        yield Processes(server, chains, time)
        for chain in chains:
            await chain.aclose()


async def test_ten_minutes_of_529_yield_an_answer_each_and_few_calls(house: Processes) -> None:  # C23
    house.server.always(OVERLOADED, model="a")
    for _ in range(61):
        assert (await house.ask()).text == "echo: Hello"
        house.time.ms += 10_000
    during = house.calls("a")

    house.server.always(Answer("back"), model="a")
    house.time.ms += 300_000
    after = await house.ask()

    assert during == THRESHOLD + 4
    assert (after.text, after.model, after.skipped) == ("back", "a", ())


async def test_a_429_with_ninety_seconds_falls_back_at_once_and_is_kept(house: Processes) -> None:
    house.server.script(rate_limited(90), model="a")
    house.server.always(Answer("back"), model="a")

    models: list[str] = []
    for _ in range(10):
        models.append((await house.ask()).model)
        house.time.ms += 10_000

    assert models == ["b"] * 9 + ["a"]
    assert [ended.outcome for ended in house.recorded[:2]] == ["rate_limited", "answered"]


@pytest.mark.parametrize("cut", [1, 2])
async def test_a_stream_cut_after_200_tokens_yields_one_right_answer(cut: int, house: Processes) -> None:
    house.server.script(*[Broken("disconnect", after_chunks=200, text="wrong " * 400)] * cut, model="a")

    completion = await house.ask()

    assert completion.text == "echo: Hello"
    assert completion.model == ("a" if cut == 1 else "b")
    assert [ended.outcome for ended in completion.calls] == ["broken"] * cut + ["answered"]


async def test_a_400_for_too_long_says_how_much_fits_and_leaves_the_breaker_alone(house: Processes) -> None:
    message = "prompt is too long: 210000 tokens > 200000 maximum"
    house.server.script(*[Status(400, "invalid_request_error", message)] * 5, model="a")

    for _ in range(5):
        with pytest.raises(RequestRejected) as rejected:
            await house.ask()
        assert (rejected.value.too_long, rejected.value.limit_tokens) == (True, 200_000)

    assert (await house.ask()).model == "a"


async def test_a_refusal_stands(house: Processes) -> None:
    house.server.script(Answer("I would rath", stop_reason="refusal"), model="a")

    completion = await house.ask()

    assert (completion.ending, completion.text, completion.model) == ("refused", "", "a")
    assert house.calls("b") == 0


@pytest.mark.parametrize(
    ("behaviour", "calls"),
    [
        (Status(401, "authentication_error"), 1),
        (Status(402, "billing_error"), 1),
        (Status(404, "not_found_error"), 1),
        (Status(503, ""), THRESHOLD),
        (Status(500), THRESHOLD),
        (Dropped(), THRESHOLD),
        (Broken("truncate"), THRESHOLD),
        (Broken("malformed"), THRESHOLD),
    ],
)
async def test_every_dead_model_costs_its_threshold_and_one_probe(
    behaviour: Behaviour, calls: int, house: Processes
) -> None:
    house.server.always(behaviour, model="a")

    for _ in range(8):
        assert (await house.ask()).model == "b"
    before_the_probe = house.calls("a")
    house.time.ms += 300_000
    for _ in range(8):
        await house.ask()

    assert (before_the_probe, house.calls("a")) == (calls, calls + 1)


async def test_a_dead_host_costs_no_timeout_per_message(redis: RedisPort) -> None:
    gone = ModelServer()
    await gone.start()
    await gone.stop()
    async with ModelServer() as alive:
        dead, well = Service("compatible", gone.url), Service("openrouter", alive.url, SecretStr("k"))
        links: list[tuple[Candidate, Provider]] = [
            (Candidate(dead, "a"), provider_for(dead)), (Candidate(well, "b"), provider_for(well)),
        ]  # fmt: skip
        chain = Chain(links, breaker=Breaker(redis))
        house = Processes(alive, (chain, chain), Time())

        answers = [await house.ask() for _ in range(6)]

        await house.chains[0].aclose()
    assert {answer.text for answer in answers} == {"echo: Hello"}
    assert sum(ended.model == "a" for ended in house.recorded) == THRESHOLD
    assert answers[-1].skipped[0].why == "broken"


async def test_no_thinking_of_a_compatible_service_reaches_anthropic(redis: RedisPort) -> None:  # C24
    async with ModelServer() as local, ModelServer() as anthropic:
        local.script(Answer("On Wednesday.", thinking="The parcel…"))
        services = (
            Service("compatible", local.url),
            Service("anthropic", anthropic.url, SecretStr("k"), FIRST_PARTY),
        )
        chains = [
            Chain([(Candidate(each, "m"), provider_for(each))], breaker=Breaker(redis)) for each in services
        ]
        house = Processes(local, (chains[1], chains[0]), Time())

        first = await house.ask()
        messages = (*HELLO.messages, Message("assistant", first.text), Message("user", "Sure?"))
        second = await house.ask(ModelRequest("Be kind.", messages, max_tokens=100, effort="low"))

        for chain in chains:
            await chain.aclose()
    sent = str(anthropic.requests[-1].body)
    assert first.text == "On Wednesday."
    assert second.text == "echo: Sure?"  # the strict server took it
    assert "thinking" not in sent
    assert "signature" not in sent
    assert house.recorded[-1].effort == "low"
    assert "output_config" in sent
    assert sent.count("cache_control") == 3


async def test_chains_of_one_process_share_their_connections() -> None:
    settings = Settings(models=("a", "b"), anthropic_base_url="http://127.0.0.1:9")
    providers: dict[Service, Provider] = {}

    one = build_chain(settings, providers=providers)
    other = build_chain(settings, ("b", "offline"), providers=providers)

    assert one.links[0][1] is one.links[1][1] is other.links[0][1]
    assert len(providers) == 2
