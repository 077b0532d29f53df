"""The main conversation against servers that we did not write, by polling and by webhook, while processes and Valkey are
killed: lo-bot-api-emulator is Telegram, llmock is the model.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from tests.fakes.emulator import PERSON, Emulator, emulator
from tests.fakes.llmock import llmock_server
from tests.system import koi
from tests.system.koi import until
from tests.system.stack import Stack, free_port

pytestmark = pytest.mark.system

POLLING, POSTED = "7201", "7202"
QUESTION, MESSAGE = "Check wo das Chemitek-Paket bleibt", "Soll Mittwoch kommen"
LAST = "Bist du noch da?"
SECRET = "secret-of-the-webhook"
LATER_S = 3_000


@dataclass(repr=False)
class Story:
    """What happened, for the tests to look at."""

    sent: list[str] = field(default_factory=list[str])
    """All that the person got, in order."""
    asked: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    """The messages of each request to the model, in order."""
    while_valkey_was_dead: list[int] = field(default_factory=list[int])
    """How the webhook answered then."""
    afterwards: list[int] = field(default_factory=list[int])
    """How it answered when Valkey was back, to the same update and to its repeats."""
    without_secret: int = 0
    exit_codes: list[int] = field(default_factory=list[int])
    logs: str = ""


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack(koi.ENVIRONMENT) as stack, llmock_server() as llmock:
        yield asyncio.run(played(stack, llmock))


async def played(stack: Stack, llmock: str) -> Story:
    story = Story()
    async with emulator() as (telegram, base), koi.valkey_of(stack) as redis:
        house = House(stack, telegram, base, llmock)
        koi.start(house.polling, house.posted, house.worker)
        await until(
            lambda: telegram.asked("deleteWebhook") and telegram.asked("setWebhook"), what="both bots"
        )
        await fifty_minutes(house)
        story.while_valkey_was_dead, story.afterwards = await without_valkey(house)
        story.without_secret = await house.post({"update_id": 1}, secret="")
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story.exit_codes = await koi.end(house.polling, house.posted, house.worker)
        story.sent = [fields["text"] for fields in telegram.sent]
    requests: list[dict[str, Any]] = httpx2.get(f"{llmock}/_llmock/requests").json()["requests"]
    story.logs = koi.logs(stack)
    story.asked = [request["body"]["messages"] for request in requests]
    return story


class House:
    """Two bots of one store: one fetches its messages, one has them posted."""

    def __init__(self, stack: Stack, telegram: Emulator, base: str, llmock: str) -> None:
        self.stack = stack
        self.telegram = telegram
        here = f"127.0.0.1:{free_port()}"
        self.address = f"http://{here}/tg/{POSTED}"
        settings = {"TELEGRAM_API_BASE": base, "TELEGRAM_OWNER": str(PERSON)}
        webhook = {
            "TELEGRAM_WEBHOOK_URL": f"http://{here}", "TELEGRAM_WEBHOOK_BIND": here,
            "TELEGRAM_WEBHOOK_SECRET": SECRET,
        }  # fmt: skip
        self.polling = stack.koi("polling", "bot", TELEGRAM_BOT_TOKEN=koi.token(POLLING), **settings)
        self.posted = stack.koi("posted", "bot", TELEGRAM_BOT_TOKEN=koi.token(POSTED), **settings, **webhook)
        model = {"ANTHROPIC_BASE_URL": f"{llmock}/anthropic", "KOI_MODEL": "m"}
        # that model calls the first tool it is offered, whatever was said
        self.worker = stack.koi("worker", "worker", KOI_TOOLS__ENABLED="false", **model)

    async def say(self, bot_id: str, text: str) -> None:
        """Wait for the answer."""
        before = len(self.telegram.sent)
        await self.telegram.say(koi.token(bot_id), text)
        await until(lambda: len(self.telegram.sent) > before, what=f"an answer to {text!r}")

    async def post(self, update: dict[str, Any], *, secret: str = SECRET) -> int:
        """As Telegram does; gives the HTTP status."""
        async with httpx2.AsyncClient() as client:
            headers = {"X-Telegram-Bot-Api-Secret-Token": secret}
            return (await client.post(self.address, json=update, headers=headers)).status_code


async def fifty_minutes(house: House) -> None:
    """One bot is asked; the worker is killed; fifty minutes later first the other bot is told, then the same one."""
    await house.say(POLLING, QUESTION)
    koi.kill(house.worker)
    house.worker.environment["KOI_CLOCK_OFFSET"] = str(LATER_S)
    house.worker.start()
    await house.say(POSTED, MESSAGE)
    await house.say(POLLING, MESSAGE)


async def without_valkey(house: House) -> tuple[list[int], list[int]]:
    """A message is posted while Valkey is dead, again when it is back, and twice more although it was answered.

    Gives how the webhook answered then, and afterwards.
    """
    telegram, before, answered = house.telegram, len(house.telegram.posted), len(house.telegram.sent)
    koi.kill(house.stack.valkey)
    update = await telegram.say(koi.token(POSTED), LAST)
    refused, before = telegram.posted[before:], len(telegram.posted)
    house.stack.valkey.start()
    await until(lambda: telegram.deliver_updates(token=koi.token(POSTED)), what="a delivery that is taken")
    await until(lambda: len(telegram.sent) > answered, what="the last answer")
    return refused, [telegram.posted[-1], await house.post(update), await house.post(update)]


@pytest.mark.parametrize("number", [1, 2], ids=["another bot, by webhook", "the same bot"])
def test_fifty_minutes_and_a_killed_worker_later_the_first_talk_is_known(story: Story, number: int) -> None:
    (message,) = story.asked[number]

    assert message["content"].startswith("<conversation_history>\n")
    assert f"User: {QUESTION}\nBot: Hello! You said: {QUESTION}\n" in message["content"]
    assert message["content"].endswith(f"</conversation_history>\n\nAktuelle Nachricht: {MESSAGE}")


def test_every_message_is_answered_once(story: Story) -> None:
    said = [messages[-1]["content"].rpartition("Aktuelle Nachricht: ")[2] for messages in story.asked]

    assert said == [QUESTION, MESSAGE, MESSAGE, LAST]
    assert len(story.sent) == len(said)
    assert story.sent[0] == f"Hello! You said: {QUESTION}"


def test_a_webhook_refuses_what_it_cannot_store_and_takes_it_once_later(story: Story) -> None:  # C1, C6
    assert [status // 100 for status in story.while_valkey_was_dead] == [5]
    assert story.afterwards == [200, 200, 200]


def test_whoever_does_not_know_the_secret_is_sent_away(story: Story) -> None:
    assert story.without_secret == 401


def test_no_log_holds_what_was_said_or_a_secret_although_valkey_died(story: Story) -> None:
    assert "update_not_stored" in story.logs
    assert [
        word for word in ("Chemitek", "Mittwoch", SECRET, koi.SECRET, koi.API_KEY) if word in story.logs
    ] == []


def test_whoever_is_told_to_stop_ends_cleanly(story: Story) -> None:
    assert story.exit_codes == [0, 0, 0]
