"""A model server that fails in every way it can, behind real processes: the person gets one right answer each time, the
records say what happened, the owner hears of an outage once and of its end once.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from infra import keys
from infra.redis_port import RedisPort
from llm.standing import OPEN_LONGEST_MS, OPEN_MS, THRESHOLD
from schemas.call import CallRecord
from schemas.turn import TurnRecord
from tests.fakes.model_script import OVERLOADED, Answer, Broken, Status, rate_limited
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

OWNER = 80
BOTS = {"limited": "7301", "dead": "7302", "cut": "7303", "small": "7304", "prim": "7305"}
"""By the first choice of each, which is its name."""
PEOPLE = {"limited": 81, "dead": 82, "cut": 83, "small": 84, "prim": 85}
"""Each talks to one of them."""
CONFIG = "".join(
    f'[[bots]]\nname = "{name}"\ntoken_env = "{name.upper()}_TOKEN"\nmodels = ["{name}", "steady"]\n\n'
    f'[prices."{name}"]\ninput = 1\noutput = 2\n\n'
    for name in BOTS
) + '[prices."steady"]\ninput = 4\noutput = 8\n'  # fmt: skip
CHEAP, DEAR = 100, 398
"""Micro-dollars of an answer of tests.fakes.model_script.USAGE: (40 + 1.25 · 30 + 0.1 · 20) · input + 10 · output."""
OUTAGE_S = 600


@dataclass
class Case:
    """What came of the messages to one bot."""

    replies: list[str] = field(default_factory=list[str])
    asked: list[list[str]] = field(default_factory=list[list[str]])
    """Which models were asked, for each message."""
    sent: list[str] = field(default_factory=list[str])
    """Everything that the person got."""
    told: list[str] = field(default_factory=list[str])
    """What the owner heard of the bot's first choice."""
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    requests: list[Asked] = field(default_factory=list[Asked])
    record: TurnRecord = field(init=False)
    """Of the turn that is looked at: `koi explain --json`."""

    def of_turn(self) -> list[tuple[str, str]]:
        """Who was called for that turn, and how it ended, as the stream of calls says."""
        return [(call.model, call.outcome) for call in self.calls if call.turn_id == self.record.id]


@dataclass
class Story:
    cases: dict[str, Case] = field(default_factory=lambda: {name: Case() for name in BOTS})
    waits_ms: list[int] = field(default_factory=list[int])
    """For how long the dead model was left alone, one wait after the other."""
    owner: list[str] = field(default_factory=list[str])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    stack.config.write_text(CONFIG)
    telegram, model = FakeTelegram(), ModelServer()
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        people = {"TELEGRAM_OWNER": str(OWNER), "TELEGRAM_ALLOWED_USERS": ",".join(map(str, PEOPLE.values()))}
        tokens = {f"{name.upper()}_TOKEN": koi.token(bot_id) for name, bot_id in BOTS.items()}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **people, **tokens)
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="steady", **people)
        koi.start(bot, worker)
        play = Play(stack, redis, Talk(telegram, model), Story())
        await play.limited()
        await play.dead()
        await play.cut()
        await play.small()
        await play.prim()
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        await koi.end(bot, worker)
        return await play.over()


@dataclass
class Play:
    """One scene for each way to fail. The turn that is looked at is the one in `turns`."""

    stack: Stack
    redis: RedisPort
    talk: Talk
    story: Story
    turns: dict[str, str] = field(default_factory=dict[str, str])

    async def limited(self) -> None:
        """429 that asks for 90 seconds."""
        self.talk.model.always(rate_limited(90), model="limited")
        await self.say("limited", "Quitten")
        await self.mark("limited")
        await self.say("limited", "Holunder")
        await self.back("limited")

    async def dead(self) -> None:
        """529 for ten minutes: between two waits of the breaker two people write."""
        self.talk.model.always(OVERLOADED, model="dead")
        for nth in range(THRESHOLD):
            await self.say("dead", f"Schlehe-{nth}")
        await self.mark("dead")
        opened = keys.breaker_open("compatible", "dead")
        while wait_ms := int(await self.redis.hget(opened, "wait") or 0):
            self.story.waits_ms.append(wait_ms)
            if sum(self.story.waits_ms) >= OUTAGE_S * 1000:
                break
            await self.waited("dead")
            for nth in range(2):
                await self.say("dead", f"Holunder-{nth}")
        await self.back("dead")

    async def cut(self) -> None:
        """The stream breaks off after 200 tokens, whenever it is tried."""
        self.talk.model.always(Broken("disconnect", after_chunks=200, text="word " * 400), model="cut")
        await self.say("cut", "Mirabelle")
        await self.mark("cut")
        await self.back("cut")

    async def small(self) -> None:
        """After some long exchanges the service says that it takes less than koi thinks."""
        for nth in range(5):
            await self.say("small", f"Rhabarber-{nth}. " + "Wie viel Zucker kommt daran? " * 60)
        self.talk.model.script(Status(400, "invalid_request_error", "prompt is too long"), model="small")
        await self.say("small", "Und wie lange?")
        await self.mark("small")

    async def prim(self) -> None:
        """The model declines in mid-sentence; the next message is an ordinary one."""
        self.talk.model.script(Answer("I will not", stop_reason="refusal"), model="prim")
        await self.say("prim", "Bilsenkraut?")
        await self.mark("prim")
        await self.say("prim", "Sanddorn")

    async def say(self, name: str, text: str) -> None:
        case = self.story.cases[name]
        heard = await self.talk.say(BOTS[name], PEOPLE[name], text)
        case.replies.append(heard.reply)
        case.asked.append([asked.model for asked in heard.requests])
        case.requests += heard.requests

    async def mark(self, name: str) -> None:
        """The turn that just ended is the one to look at; wait for the record of its calls."""
        made = sum(map(len, self.story.cases[name].asked))

        async def recorded() -> bool:
            return len(await koi.calls_of(self.redis, PEOPLE[name])) >= made

        await until(recorded, what="the record of all calls")
        self.turns[name] = (await koi.calls_of(self.redis, PEOPLE[name]))[-1].turn_id

    async def waited(self, name: str) -> None:
        """The breaker's wait is over now. Redis' own clock cannot be moved."""
        opened = keys.breaker_open("compatible", name)
        if await self.redis.exists(opened):
            await self.redis.hset(opened, "until", 1)

    async def back(self, name: str) -> None:
        """The model works again, its wait is over, and somebody writes."""
        self.talk.model.always(Answer(), model=name)
        await self.waited(name)
        await self.say(name, "Wieder da?")
        await self.say(name, "Gut.")

    async def over(self) -> Story:
        """Everything that is to be seen in the end."""
        telegram = self.talk.telegram
        self.story.owner = telegram.texts(OWNER)
        for name, case in self.story.cases.items():
            case.sent = telegram.texts(PEOPLE[name])
            case.calls = await koi.calls_of(self.redis, PEOPLE[name])
            case.told = [text for text in self.story.owner if name in text]
            case.record = await koi.explained(self.stack, self.turns[name])
        return self.story


def echoes(case: Case) -> list[str]:
    return [reply for reply in case.replies if reply.startswith("echo: ")]


@pytest.mark.parametrize("name", BOTS)
def test_each_message_is_answered_once(story: Story, name: str) -> None:
    case = story.cases[name]

    assert case.sent == case.replies
    assert len(case.sent) == len(case.asked)


@pytest.mark.parametrize("name", BOTS)
def test_every_call_that_was_made_is_recorded_and_no_other(story: Story, name: str) -> None:
    case = story.cases[name]

    assert [call.model for call in case.calls] == [model for models in case.asked for model in models]
    assert {(call.asked, call.bot, call.service, call.why) for call in case.calls} == {
        (name, name, "compatible", "only_model")
    }


@pytest.mark.parametrize("name", BOTS)
def test_the_record_of_the_turn_has_the_same_calls_as_the_stream(story: Story, name: str) -> None:
    case = story.cases[name]

    assert [(call.model, call.outcome) for call in case.record.calls] == case.of_turn()
    assert case.record.cost_microusd == sum(call.cost_microusd or 0 for call in case.record.calls)


def test_a_model_that_asks_for_90_seconds_is_left_alone_and_another_answers(story: Story) -> None:
    case = story.cases["limited"]

    assert echoes(case) == case.replies
    assert case.asked == [["limited", "steady"], ["steady"], ["limited"], ["limited"]]
    assert case.of_turn() == [("limited", "rate_limited"), ("steady", "answered")]
    assert case.record.calls[0].detail.startswith("HTTP 429 rate_limit_error")
    assert (case.record.model, case.record.asked, case.record.cost_microusd) == ("steady", "limited", DEAR)


def test_a_model_that_is_overloaded_for_ten_minutes_costs_a_few_probes(story: Story) -> None:
    case = story.cases["dead"]
    asked = sum(call.outcome == "overloaded" for call in case.calls)
    probes = len(story.waits_ms) - 1

    assert echoes(case) == case.replies
    assert sum(story.waits_ms) >= OUTAGE_S * 1000
    assert story.waits_ms == [min(OPEN_MS * 2**nth, OPEN_LONGEST_MS) for nth in range(len(story.waits_ms))]
    assert asked == THRESHOLD + probes
    assert max(case.asked[2:], key=len) == ["dead", "steady"]
    assert case.record.model == "steady"
    assert case.asked[-2:] == [["dead"], ["dead"]]


def test_a_stream_that_is_cut_leaves_no_word_of_it_in_the_answer(story: Story) -> None:
    case = story.cases["cut"]

    assert case.replies[0] == "echo: Mirabelle"
    assert case.asked[0] == ["cut", "cut", "steady"]
    assert case.of_turn() == [("cut", "broken"), ("cut", "broken"), ("steady", "answered")]
    assert all(call.output_tokens for call in case.record.calls)
    assert "word" not in str(case.requests[-1].body["messages"])


def test_a_prompt_that_is_too_long_is_trimmed_once_more_and_answered(story: Story) -> None:
    case = story.cases["small"]
    refused, taken = case.requests[-2:]

    assert case.replies[-1] == "echo: Und wie lange?"
    assert case.asked[-1] == ["small", "small"]
    assert case.of_turn() == [("small", "too_long"), ("small", "answered")]
    assert len(str(taken.body)) < 0.7 * len(str(refused.body))
    assert taken.body["messages"][-1] == refused.body["messages"][-1]
    left_out = {(left.kind, left.why) for left in case.record.left_out}
    assert left_out - {("offer", "no_room")} == {("exchange", "no_room")}
    assert case.record.cost_microusd == CHEAP


def test_a_refusal_is_told_as_one_and_stays_out_of_the_conversation(story: Story) -> None:
    case = story.cases["prim"]

    assert case.replies == [
        "The model declined to answer this. It may help to put it differently.",
        "echo: Sanddorn",
    ]
    assert case.asked == [["prim"], ["prim"]]
    assert (case.of_turn(), case.record.ending) == ([("prim", "refused")], "refused")
    assert case.record.cost_microusd == CHEAP
    assert case.requests[-1].body["messages"] == [{"role": "user", "content": "Sanddorn"}]


@pytest.mark.parametrize(
    ("name", "why"),
    [("limited", "too many requests"), ("dead", "overloaded"), ("cut", "connection broken")],
)
def test_the_owner_gets_one_alert_and_one_all_clear(story: Story, name: str, why: str) -> None:
    alert, clear = story.cases[name].told

    assert alert.startswith(f"⚠ {name}: {why} since ")
    assert alert.endswith(". steady answers now.")
    assert clear.startswith(f"✓ {name} answers again, since ")
    assert clear.endswith(f" ({why}); meanwhile steady answered.")


@pytest.mark.parametrize("name", ["small", "prim"])
def test_what_is_no_outage_troubles_nobody(story: Story, name: str) -> None:
    assert story.cases[name].told == []
    assert len(story.owner) == 6
