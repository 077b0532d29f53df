"""A long conversation with `session.summarise`: what it dropped comes back as a summary by the light model, while the last
exchanges stand there word for word.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from infra import keys
from infra.redis_port import RedisPort
from schemas.call import CallRecord
from tests.fakes.model_script import Answer
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import Heard, Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

BOT, PERSON = "7601", 111
LANE = f"{BOT}:{PERSON}:0"
FILLER = "There also is sugar, a lemon and some cinnamon to go into the jar with it. " * 4
NOTES = "Six jars so far; the first one was jar-0 with quinces."
SUMMARY = f"<conversation_summary>\n{NOTES}\n</conversation_summary>\n\n"
ENVIRONMENT = {
    **koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms", "KOI_SESSION__SUMMARISE": "true", "KOI_SESSION__BUDGET_TOKENS": "1000",
    "KOI_MEMORY__BUDGET_TOKENS": "100",
}  # fmt: skip


@dataclass
class Story:
    talked: list[Heard] = field(default_factory=list[Heard])
    """Until something was folded."""
    texts: list[str] = field(default_factory=list[str])
    folding: list[Asked] = field(default_factory=list[Asked])
    """What the light model was asked."""
    afterwards: Heard = field(init=False)
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    waiting: bool = True
    """Whether the summary still waits for a turn, after one took it."""
    sent: list[str] = field(default_factory=list[str])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack(ENVIRONMENT) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    story, telegram, model = Story(), FakeTelegram(), ModelServer()
    model.always(Answer(NOTES), model="light")
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        talk = Talk(telegram, model)
        people = {"TELEGRAM_ALLOWED_USERS": str(PERSON), "TELEGRAM_BOT_TOKEN": koi.token(BOT)}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **people)
        worker = stack.koi(
            "worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="strong", KOI_LIGHT_MODEL="light", **people
        )  # fmt: skip
        koi.start(bot, worker)
        await until_folded(story, redis, talk)
        story.afterwards = await talk.say(BOT, PERSON, f"What of the first jar? {FILLER}")
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story.waiting = bool(await redis.exists(keys.fold(LANE)))
        await koi.end(bot, worker)
        story.calls, story.sent = await koi.calls_of(redis, PERSON), telegram.texts(PERSON)
        story.folding = [asked for asked in model.requests if asked.model == "light"]
    return story


async def until_folded(story: Story, redis: RedisPort, talk: Talk) -> None:
    for number in range(12):
        text = f"jar-{number}: {FILLER}".strip()
        story.texts.append(text)
        story.talked.append(await talk.say(BOT, PERSON, text))
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        if await redis.exists(keys.fold(LANE)):
            return
    raise AssertionError("nothing was folded")


def contents_of(asked: Asked) -> list[str]:
    """The messages, as text."""
    return [message["content"] for message in asked.body["messages"]]


def test_the_light_model_is_given_what_was_dropped(story: Story) -> None:
    (asked,) = story.folding
    (prompt,) = contents_of(asked)
    shown = "".join(contents_of(story.talked[-1].requests[0]))

    assert "jar-0" in prompt
    assert [text for text in story.texts[:-1] if (text in prompt) == (text in shown)] == []


def test_the_next_request_begins_with_the_summary_and_has_the_last_two_exchanges_word_for_word(
    story: Story,
) -> None:  # C28
    (asked,) = story.afterwards.requests
    first, *rest = contents_of(asked)
    one, two = story.texts[-2:]

    assert first.startswith(SUMMARY)
    assert [first.removeprefix(SUMMARY), *rest][-5:-1] == [one, f"echo: {one}", two, f"echo: {two}"]
    assert "jar-0:" not in "".join([first, *rest])
    assert asked.model == "strong"


def test_a_summary_is_taken_once_and_recorded_as_what_it_is(story: Story) -> None:
    folds = [call for call in story.calls if call.why == "fold"]

    assert not story.waiting
    assert [(call.model, call.outcome, call.user_id) for call in folds] == [
        ("light", "answered", str(PERSON))
    ]


def test_the_person_notices_nothing_of_it(story: Story) -> None:
    assert story.sent == [*(f"echo: {text}" for text in story.texts), story.afterwards.reply]
    assert story.afterwards.reply.startswith("echo: What of the first jar?")
