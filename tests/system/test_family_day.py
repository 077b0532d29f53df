"""A recorded day of a family with two bots and one group gives exactly the expected calls of the Bot API.

The day stands in tests/system/family/: morning, day, group. Each step is what happens and which calls it causes, all of them with
all their parameters. Calls of one bot in one chat have an order among themselves; what happens in different chats at once has none.

Only three methods are not listed one by one, since how many there are depends on how long things take: getUpdates;
sendChatAction and sendMessageDraft, for which there is a rule each below. What the models are asked is seen in what they
answer: what tests/system/family/model.py does not script is an echo.
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.fakes.telegram_state import Call
from tests.system import koi
from tests.system.family import model
from tests.system.family.calls import Codes, Expected, by_stream, hurried, stream_of
from tests.system.family.day import FILES, FORENOON, NOON, PER_MINUTE
from tests.system.family.group import AFTERNOON, EVENING
from tests.system.family.morning import MORNING
from tests.system.family.people import KOI, MIA
from tests.system.family.stage import FamilyModel, FamilyTelegram, Stage, Step
from tests.system.stack import Stack

pytestmark = pytest.mark.system

DAY = (*MORNING, *FORENOON, *NOON, *AFTERNOON, *EVENING)
CONFIG = """
[[bots]]
name = "Koi"
token_env = "KOI_S_TOKEN"

[[bots]]
name = "Mia"
token_env = "MIA_S_TOKEN"
persona = "You are always cheerful."
"""
ENVIRONMENT = {
    **koi.ENVIRONMENT,
    "KOI_TURN__DEBOUNCE": "50ms",
    "KOI_QUEUE__LEASE": "3s",
    "KOI_TELEGRAM__PERSON_MESSAGES_PER_MINUTE": str(PER_MINUTE),
}


type Place = tuple[str, int | None]
"""Which bot in which chat, and the topic."""


@dataclass
class Story:
    calls: list[Call] = field(default_factory=list[Call])
    ended: list[int] = field(default_factory=list[int])
    """After each step: how many calls there were by then."""
    updates: int = 0
    trouble: str = ""
    """Why the day ended early."""

    def of(self, step: Step) -> list[Call]:
        """Calls in a step."""
        at = DAY.index(step)
        if at >= len(self.ended):
            pytest.fail(f"the day ended before: {self.trouble}")
        return self.calls[self.ended[at - 1] if at else 0 : self.ended[at]]


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack(ENVIRONMENT) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    stack.config.write_text(CONFIG)
    telegram, models = FamilyTelegram(), FamilyModel()
    models.always(model.answer)
    async with telegram.running(), models, koi.valkey_of(stack) as redis:
        telegram.files.update(FILES)
        tokens = {"KOI_S_TOKEN": koi.token(KOI.id), "MIA_S_TOKEN": koi.token(MIA.id)}
        bots = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **tokens)
        chain = {"KOI_MODEL": model.STRONG, "KOI_LIGHT_MODEL": model.LIGHT}
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=models.url, **chain)
        koi.start(bots, worker)
        stage = Stage(redis, telegram, models, bots, worker)
        await stage.play(DAY)
        await koi.end(bots, worker)
        return Story(telegram.calls, stage.ended, stage.updates, stage.trouble)


@pytest.mark.parametrize("step", DAY, ids=[step.title for step in DAY])
def test_each_step_causes_its_calls_and_no_other(story: Story, step: Step) -> None:
    seen = by_stream(hurried(story.of(step)))

    assert seen == Codes().filled(hurried(step.calls), seen), story.trouble


def test_the_day_causes_exactly_these_calls(story: Story) -> None:
    """From the first to the last, also between two steps and when koi ends; and the same code wherever it is named."""
    seen = by_stream(story.calls)
    expected = [call for step in DAY for call in step.calls]

    assert seen == Codes().filled(expected, seen)
    assert story.updates >= 60


def test_typing_is_shown_only_where_an_answer_is_due(story: Story) -> None:
    """In that step; or in the one before, if the sign was late."""
    before = set[Place]()
    for step in DAY:
        due = {place(call) for call in step.calls}
        shown = {place(call) for call in story.of(step) if call.method == "sendChatAction"}
        assert shown <= due | before, step.title
        before = due


def test_drafts_are_shown_only_in_private_and_begin_as_the_answer_does(story: Story) -> None:
    for step in DAY:
        begun = {(place(call), beginning(call)) for call in story.of(step) if call.method == "sendMessage"}
        drafts = [call for call in story.of(step) if call.method == "sendMessageDraft"]
        assert all(call.fields["chat_id"] > 0 for call in drafts), step.title
        assert {(place(call), beginning(call)) for call in drafts} <= begun, step.title


def place(call: Call | Expected) -> Place:
    return stream_of(call.bot_id, call.method, call.fields), call.fields.get("message_thread_id")


def beginning(call: Call) -> str:
    """The first word: a draft shows Markdown as it is, and perhaps not much of it."""
    return re.findall(r"\w+", call.fields["text"])[0]
