"""Messages of many people through a real koi, with fallbacks, failures, retries, commands and a model without a price; counted
by what people wrote and got, and by what the model server was asked. Nothing here is read from koi.

Every message has a number, "m17", and its kind follows from it. Answers say which model they are from: "second: m17".
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.house import House
from tests.fakes.model_rules import text_of
from tests.fakes.model_script import OVERLOADED, Answer, Status
from tests.system.koi import all_done, until

type Kind = Literal["plain", "fallback", "fails", "again", "command", "twins"]
"""fallback: the first model is overloaded. fails: no model takes it. again: answered at the second attempt. command: koi itself
answers. twins: two messages at once.
"""
KINDS: Mapping[int, Kind] = {
    3: "fallback",
    9: "fallback",
    14: "fails",
    21: "again",
    27: "command",
    33: "twins",
}
"""By the number, modulo PERIOD."""
PERIOD = 37
BOTS = {"home": "7001", "lab": "7002"}
FIRST_PERSON = 1000
LAB_EVERY = 10
"""Each tenth person talks to the bot whose model has no price."""
REFUSED = Status(400, "invalid_request_error", "as scripted")
BROKEN = Status(500, "api_error", "as scripted")
CONFIG = (
    '[[bots]]\nname = "home"\ntoken_env = "HOME_TOKEN"\nmodels = ["first", "second"]\n\n'
    '[[bots]]\nname = "lab"\ntoken_env = "LAB_TOKEN"\nmodels = ["free"]\n\n'
    '[prices."first"]\ninput = 4\noutput = 15\n\n[prices."second"]\ninput = 2\noutput = 5\n'
)
PRICES = {"first": (4, 5, 0.4, 15), "second": (2, 2.5, 0.2, 5)}
"""Micro-dollars for a token: input, written to the cache, read from it, output."""
TOKENS = ("input", "cache_write", "cache_read", "output")
WAVE_S = 300
POLLS = ("getUpdates", "getupdates")
"""They hang, and nothing arrives by them."""


@dataclass(frozen=True, slots=True)
class Call:
    """A model was asked."""

    model: str
    user_id: int
    status: int
    tokens: tuple[int, int, int, int] = (0, 0, 0, 0)
    """In the order of TOKENS."""

    @property
    def microusd(self) -> int | None:
        """None: it has no price, or failed before anything could be billed."""
        if self.model not in PRICES:
            return None
        return round(sum(n * price for n, price in zip(self.tokens, PRICES[self.model], strict=True)))


@dataclass(slots=True)
class Truth:
    """What the run counted itself."""

    people: int
    calls: list[Call] = field(default_factory=list[Call])
    asked: dict[int, int] = field(default_factory=dict[int, int])
    """Number of a message → who wrote it; commands have none."""
    commands: Counter[int] = field(default_factory=Counter[int])
    """Person → how many that koi answers itself."""
    answers: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Person → the answers of models that arrived, in order."""
    lines: Counter[int] = field(default_factory=Counter[int])
    """Person → other messages that arrived: of commands, and of failures."""
    failed_attempts: int = 0
    """That a turn was tried again after."""

    @property
    def written(self) -> int:
        """Messages."""
        return len(self.asked) + self.commands.total()

    def answered_by(self, model: str) -> set[int]:
        """Numbers of the messages that it answered."""
        texts = (one for answers in self.answers.values() for one in answers if one.startswith(f"{model}:"))
        return {number for one in texts for number in numbers_in(one)}

    @property
    def by_models(self) -> set[int]:
        """Numbers that any model answered."""
        return self.answered_by("first") | self.answered_by("second") | self.answered_by("free")

    @property
    def failed(self) -> list[int]:
        """Numbers of messages that got no answer."""
        return sorted(self.asked.keys() - self.by_models)


def kind_of(number: int) -> Kind:
    """What happens with a message."""
    return KINDS.get(number % PERIOD, "plain")


def bot_of(user_id: int) -> str:
    """Whom a person writes to."""
    return "lab" if (user_id - FIRST_PERSON) % LAB_EVERY == LAB_EVERY - 1 else "home"


def numbers_in(said: str) -> list[int]:
    """Of the messages that a text names."""
    return [int(number) for number in re.findall(r"\bm(\d+)\b", said)]


def tokens_of(number: int) -> tuple[int, int, int, int]:
    """What an answer uses: whole micro-dollars at the prices above."""
    return 40 + number % 50, 4 * (number % 7), 10 * (number % 5), 10 + number % 90


class Models:
    """All models of the run, for ModelServer.always."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._refused = Counter[int]()

    def __call__(self, body: dict[str, Any]) -> Answer | Status:
        model, asked = body["model"], numbers_in(last_words(body))
        behaviour = self._behaviour(model, asked)
        is_answer = isinstance(behaviour, Answer)
        self._truth.calls.append(
            Call(
                model,
                self._truth.asked[asked[0]],
                200 if is_answer else behaviour.status,
                tokens_of(asked[0]) if is_answer else (0, 0, 0, 0),
            )
        )
        return behaviour

    def _behaviour(self, model: str, asked: Sequence[int]) -> Answer | Status:
        kinds = {kind_of(number) for number in asked}
        if "fails" in kinds:
            return REFUSED
        if "again" in kinds and self._refused[asked[0]] < ATTEMPT_CALLS[model]:
            self._refused[asked[0]] += 1
            return BROKEN
        if "fallback" in kinds and model == "first":
            return OVERLOADED
        used: dict[str, int] = dict(zip(USAGE_NAMES, tokens_of(asked[0]), strict=True))
        return Answer(f"{model}: {' '.join(f'm{number}' for number in asked)}", usage=used)


USAGE_NAMES: tuple[str, ...] = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)
ATTEMPT_CALLS = {"first": 4, "second": 4, "free": 2}
"""Calls of a whole attempt in which every one fails: two of each model of the bot."""


def last_words(body: dict[str, Any]) -> str:
    """What the person wrote last, without a memory block before it."""
    return text_of(body["messages"][-1]).rpartition("</conversation_history>")[2]


async def run(house: House, *, messages: int, people: int) -> Truth:
    """In waves: everybody writes, and everybody is answered."""
    truth = Truth(people)
    house.model.always(Models(truth))
    inbox = Inbox(house, truth)
    number = 0
    while truth.written < messages:
        wave: list[tuple[int, str]] = []
        for user_id in range(FIRST_PERSON, FIRST_PERSON + people):
            number += 1
            wave += texts_of(truth, user_id, number)
            number += kind_of(number) == "twins"
        await inbox.wave(wave)
    await until(lambda: all_done(house.redis), what="the end of all turns")
    log = house.worker.log.read_text("utf-8")
    truth.failed_attempts = sum("turn_failed" in line and '"again"' in line for line in log.splitlines())
    return truth


def texts_of(truth: Truth, user_id: int, number: int) -> list[tuple[int, str]]:
    """What a person writes in one wave; written down as such."""
    if kind_of(number) == "command":
        truth.commands[user_id] += 1
        return [(user_id, "/help")]
    numbers = (number, number + 1) if kind_of(number) == "twins" else (number,)
    truth.asked |= dict.fromkeys(numbers, user_id)
    return [(user_id, f"What about m{one}?") for one in numbers]


class Inbox:
    """What people wrote and got."""

    def __init__(self, house: House, truth: Truth) -> None:
        self._house, self._truth, self._seen = house, truth, 0

    async def wave(self, texts: Iterable[tuple[int, str]]) -> None:
        """Write, and wait until everybody has got an answer to each, or a line that says why not."""
        for user_id, text in texts:
            self._house.telegram.say(BOTS[bot_of(user_id)], user_id, text)
        async with asyncio.timeout(WAVE_S):
            while not self._is_over():
                await asyncio.sleep(0.02)

    def _is_over(self) -> bool:
        calls = self._house.telegram.calls
        while self._seen < len(calls):
            call = calls[self._seen]
            if not (call.status or call.delivered or call.method in POLLS):
                break
            self._seen += 1
            if call.delivered:
                self._take(int(call.fields["chat_id"]), str(call.fields.get("text", "")))
        truth = self._truth
        return len(truth.by_models) + truth.lines.total() >= truth.written

    def _take(self, chat_id: int, said: str) -> None:
        if chat_id < FIRST_PERSON:  # an alert for the owner
            return
        if re.match(r"(first|second|free): m\d", said):
            self._truth.answers.setdefault(chat_id, []).append(said)
        else:
            self._truth.lines[chat_id] += 1
