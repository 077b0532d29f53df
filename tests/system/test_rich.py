"""Rich messages, switched on with a tap: real processes, a model that answers with a table, a Telegram that refuses one."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from infra import keys
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_rich import said
from tests.fakes.telegram_state import Fault
from tests.system import koi
from tests.system.acting import Acting
from tests.system.koi import Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

BOT, JO = "7651", 65
QUESTION = "When are the bins collected?"
TABLE = "| Tag | Tonne |\n|---|---|\n| Montag | **Papier** |"


@dataclass
class Story:
    shown: str = ""
    offered: dict[str, str] = field(default_factory=dict[str, str])
    on: str = ""
    answers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """To the same question: before, with rich messages, when Telegram refuses one, and when they are off again."""
    asked: list[str] = field(default_factory=list[str])
    """Methods by which the answers were sent."""
    everlasting: set[str] = field(default_factory=set[str])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    telegram, model, story = FakeTelegram(), ModelServer(), Story()
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        model.always(Acting({QUESTION: [Answer(TABLE)]}))
        people = {"TELEGRAM_OWNER": str(JO), "TELEGRAM_BOT_TOKEN": koi.token(BOT)}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **people)
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m", **people)
        koi.start(bot, worker)
        talk = Talk(telegram, model)
        await ask(telegram, story)
        heard = await talk.say(BOT, JO, "/rich", language="de")
        story.shown, story.offered = heard.reply, heard.buttons
        story.on = (await talk.tap(BOT, JO, heard.buttons["Einschalten"], language="de")).reply
        await ask(telegram, story)
        story.everlasting = {key for key in await koi.everlasting(redis) if key.startswith(keys.rich(""))}
        refusal = "Bad Request: can't parse rich message: odd"
        telegram.fault(Fault("error", method="sendRichMessage", description=refusal))
        await ask(telegram, story)
        await talk.say(BOT, JO, "/rich off")
        await ask(telegram, story)
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        await koi.end(bot, worker)
        return story


async def ask(telegram: FakeTelegram, story: Story) -> None:
    before, since = len(telegram.sent(JO)), len(telegram.calls)
    telegram.say(BOT, JO, QUESTION)
    await until(lambda: len(telegram.sent(JO)) > before, what="an answer")
    story.answers.append(telegram.sent(JO)[before])
    sends = ("sendMessage", "sendRichMessage")
    story.asked.append(" ".join(call.method for call in telegram.calls[since:] if call.method in sends))


def test_a_person_sees_what_it_is_and_switches_it_on_with_a_tap(story: Story) -> None:
    assert story.shown.startswith("Reiche Nachrichten sind in diesem Chat aus.")
    assert story.offered == {"Einschalten": "/rich on"}
    assert story.on.startswith("Von jetzt an kommen Tabellen")
    assert story.everlasting == {keys.rich(str(JO))}


def test_a_table_is_then_a_rich_message(story: Story) -> None:
    _, rich, _, _ = story.answers

    assert [block["type"] for block in rich["rich_message"]["blocks"]] == ["table"]
    assert said(rich["rich_message"]).split() == ["Tag", "|", "Tonne", "Montag", "|", "Papier"]


def test_a_refused_one_comes_as_it_came_before(story: Story) -> None:
    before, _, refused, after = story.answers

    assert before["text"] == refused["text"] == after["text"]
    assert before["entities"] == refused["entities"] == after["entities"]
    assert story.asked == ["sendMessage", "sendRichMessage", "sendRichMessage sendMessage", "sendMessage"]
