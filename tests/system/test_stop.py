"""An answer that a person watches while it is written, and ends: real processes, and a model that would write for a minute."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from infra import keys
from infra.redis_port import RedisPort
from schemas.call import CallRecord
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

BOT, JO = "7601", 61
GROUP = {"id": -100761, "type": "supergroup", "title": "Home"}
WORDS, WORD_S = 600, 0.1
SLOW = Answer("word " * WORDS, chunk_delay_s=WORD_S)
"""A minute of text."""
SOON_S = 5.0
"""A second, and what a busy machine adds; far from a minute."""


@dataclass
class Story:
    replies: dict[str, str] = field(default_factory=dict[str, str])
    took_s: dict[str, float] = field(default_factory=dict[str, float])
    """From the stop to the reply."""
    drafts: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    late: list[str] = field(default_factory=list[str])
    """Drafts of a turn that went out after its reply."""
    left: set[str] = field(default_factory=set[str])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    telegram, model = FakeTelegram(), ModelServer()
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        people = {"TELEGRAM_OWNER": str(JO), "TELEGRAM_BOT_TOKEN": koi.token(BOT)}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **people)
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m", **people)
        koi.start(bot, worker)
        play = Play(redis, Talk(telegram, model), Story())
        await play.talk.say(BOT, JO, "Hello")  # all is loaded
        await play.typed()
        await play.pressed()
        await play.nothing()
        await play.in_a_group()
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        play.story.left = {key.decode() async for key in redis.scan_iter(match=keys.stop("*"))}
        play.story.calls = await koi.calls_of(redis, JO)
        await koi.end(bot, worker)
        return play.story


@dataclass
class Play:
    redis: RedisPort
    talk: Talk
    story: Story

    async def typed(self) -> None:
        """/stop, and a message that waits meanwhile."""
        telegram = self.talk.telegram
        since, texts = len(telegram.calls), len(telegram.texts(JO))
        self.talk.model.script(SLOW)
        telegram.say(BOT, JO, "Tell me a long story")
        await until(lambda: len(self.drafts(since)) >= 3, what="drafts")
        telegram.say(BOT, JO, "And what is new?")
        await self.stopped("typed", since, texts, lambda: telegram.say(BOT, JO, "/stop"))
        await until(lambda: len(telegram.texts(JO)) > texts + 1, what="the next answer")
        self.story.replies["next"] = telegram.texts(JO)[texts + 1]

    async def pressed(self) -> None:
        """The button under the draft."""
        telegram = self.talk.telegram
        since, texts = len(telegram.calls), len(telegram.texts(JO))
        self.talk.model.script(SLOW)
        telegram.say(BOT, JO, "Another one")
        await until(lambda: self.drafts(since), what="a draft")
        draft_id = int(self.drafts(since)[0]["draft_id"])
        await self.stopped("pressed", since, texts, lambda: telegram.press_stop(BOT, JO, draft_id))

    async def nothing(self) -> None:
        self.story.replies["nothing"] = (await self.talk.say(BOT, JO, "/stop")).reply

    async def in_a_group(self) -> None:
        """No drafts there."""
        telegram, chat = self.talk.telegram, GROUP["id"]
        since, texts = len(telegram.calls), len(telegram.texts(chat))
        asked = len(self.talk.model.requests)
        self.talk.model.script(SLOW)
        text = f"@koi{BOT}_bot tell us"
        mention = [{"type": "mention", "offset": 0, "length": len(text.split(maxsplit=1)[0])}]
        telegram.say(BOT, JO, text, chat=GROUP, entities=mention)
        await until(lambda: len(self.talk.model.requests) > asked, what="the question")
        await asyncio.sleep(1.5)
        await self.stopped("group", since, texts, lambda: telegram.say(BOT, JO, "/stop", chat=GROUP), chat)

    async def stopped(self, name: str, since: int, texts: int, stop: Any, chat_id: Any = JO) -> None:
        """`stop` is done, and the reply awaited."""
        telegram, began = self.talk.telegram, time.monotonic()
        stop()
        await until(lambda: len(telegram.texts(chat_id)) > texts, what=f"the end of {name}")
        self.story.took_s[name] = time.monotonic() - began
        self.story.replies[name] = telegram.texts(chat_id)[texts]
        self.story.drafts[name] = before = self.drafts(since)
        await asyncio.sleep(1.5)
        ids = {draft["draft_id"] for draft in before}
        after = [draft for draft in self.drafts(since)[len(before) :] if draft["draft_id"] in ids]
        self.story.late += [f"{name}: {draft['text']}" for draft in after]

    def drafts(self, since: int) -> list[dict[str, Any]]:
        calls = self.talk.telegram.calls[since:]
        return [call.fields for call in calls if call.method == "sendMessageDraft"]


def test_drafts_grow_while_the_model_writes(story: Story) -> None:
    texts = [draft["text"] for draft in story.drafts["typed"]]

    assert len(texts) >= 3
    assert all(later.startswith(text) and later != text for text, later in pairwise(texts))
    assert len({draft["draft_id"] for draft in story.drafts["typed"]}) == 1
    assert {draft["chat_id"] for draft in story.drafts["typed"]} == {JO}


@pytest.mark.parametrize("name", ["typed", "pressed", "group"])
def test_a_stop_ends_the_answer_long_before_the_model_would(story: Story, name: str) -> None:
    assert story.took_s[name] < SOON_S
    assert story.replies[name].startswith("word ")
    assert story.replies[name].endswith("\n\n(stopped)")
    assert story.replies[name].count("word") < WORDS / 3


@pytest.mark.parametrize("name", ["typed", "pressed"])
def test_the_reply_has_all_that_was_shown(story: Story, name: str) -> None:
    shown = story.drafts[name][-1]["text"].strip()

    assert story.replies[name].startswith(shown)


def test_after_the_reply_no_draft_of_its_turn_goes_out(story: Story) -> None:  # C22
    assert story.late == []


def test_the_lane_goes_on_with_what_waits(story: Story) -> None:
    assert story.replies["next"].startswith("echo: And what is new?")


def test_a_stop_with_nothing_to_stop_says_so(story: Story) -> None:
    assert story.replies["nothing"] == "There is nothing to stop: I am not writing anything."


def test_in_a_group_nothing_is_drafted(story: Story) -> None:
    assert story.drafts["group"] == []


def test_stopped_calls_are_recorded_and_billed(story: Story) -> None:
    stopped = [call for call in story.calls if call.outcome == "interrupted"]

    assert len(stopped) == 3
    assert all(call.input_tokens and call.output_tokens and call.output_tokens > 5 for call in stopped)


def test_nothing_is_left_of_the_stops(story: Story) -> None:
    assert story.left == set()
