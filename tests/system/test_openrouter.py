"""With nothing but the OPENROUTER variables: the first choice fails, people notice nothing, the owner hears of it once by
chat and by mail, and once that it is over.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from infra import keys
from infra.redis_port import RedisPort
from tests.fakes.mailbox import Mailbox
from tests.fakes.model_script import Answer, Behaviour, Status, rate_limited
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

BOT, OWNER, PERSON = "7201", 71, 72
FIRST, SECOND = "anthropic/claude-sonnet-5.5", "anthropic/claude-haiku-5.5"
OPENROUTER = {
    "OPENROUTER_API_KEY": "sk-or-test-5a1c", "OPENROUTER_MODEL": FIRST, "OPENROUTER_FALLBACK_MODEL": SECOND,
}  # fmt: skip
WORDS = ("Quitten", "Holunder", "Schlehe", "Sanddorn")
AFTERWARDS = ("Mirabelle", "Rhabarber")


@dataclass
class Story:
    """What came of it."""

    replies: list[str]
    """To all the words."""
    alerts: list[str]
    """In the owner's chat, while the first choice failed and in the end."""
    clears: list[str]
    mails: list[str]
    subjects: list[str]
    recipients: list[list[str]]
    models: list[str]
    """Who was asked for the last word."""
    logs: str


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((rate_limited(2), "too many requests"), id="429"),
        pytest.param((Status(503, "api_error"), "overloaded"), id="503"),
    ],
)
def failure(request: pytest.FixtureRequest) -> tuple[Behaviour, str]:
    return request.param


@pytest.fixture(scope="module")
def story(failure: tuple[Behaviour, str]) -> Iterator[Story]:
    with Stack() as stack:
        yield asyncio.run(played(stack, failure[0]))


async def played(stack: Stack, failure: Behaviour) -> Story:
    telegram, model, mailbox = FakeTelegram(), ModelServer(), Mailbox()
    model.always(failure, model=FIRST)
    async with telegram.running(), model, mailbox, koi.valkey_of(stack) as redis:
        talk = Talk(telegram, model)
        people = {"TELEGRAM_OWNER": str(OWNER), "TELEGRAM_ALLOWED_USERS": str(PERSON)}
        bot = stack.koi(
            "bot", "bot", TELEGRAM_BOT_TOKEN=koi.token(BOT), TELEGRAM_API_BASE=telegram.base, **people
        )
        worker = stack.koi(
            "worker", "worker", KOI_ALERT_EMAIL="me@example.org", SMTP_HOST="127.0.0.1", SMTP_PORT=str(mailbox.port),
            OPENROUTER_BASE_URL=model.url, **OPENROUTER, **people,
        )  # fmt: skip
        koi.start(bot, worker)
        replies = [(await talk.say(BOT, PERSON, word)).reply for word in WORDS]
        await until(lambda: mailbox.mails, what="a mail")
        alerts = list(telegram.texts(OWNER))
        model.always(Answer(), model=FIRST)
        await breaker_waited(redis)
        heard = [await talk.say(BOT, PERSON, word) for word in AFTERWARDS]
        await until(lambda: len(mailbox.mails) > 1, what="the all-clear by mail")
        await until(lambda: len(telegram.texts(OWNER)) > len(alerts), what="the all-clear in the chat")
        await koi.end(bot, worker)  # sends what is left
    return Story(
        replies=[*replies, *(one.reply for one in heard)],
        alerts=alerts,
        clears=telegram.texts(OWNER)[len(alerts) :],
        mails=mailbox.texts,
        subjects=[mail["subject"] for mail in mailbox.mails],
        recipients=[recipients for _, recipients in mailbox.envelopes],
        models=[asked.model for asked in heard[-1].requests],
        logs=koi.logs(stack),
    )


async def breaker_waited(redis: RedisPort) -> None:
    """Its wait is over now: the next turn probes. Redis' own clock cannot be moved."""
    opened = keys.breaker_open("openrouter", FIRST)
    if await redis.exists(opened):
        await redis.hset(opened, "until", 1)


def test_every_message_gets_its_normal_answer(story: Story) -> None:
    assert story.replies == [f"echo: {word}" for word in (*WORDS, *AFTERWARDS)]
    assert story.models == [FIRST]


def test_the_owner_gets_one_alert_however_many_messages(story: Story, failure: tuple[Behaviour, str]) -> None:
    (alert,) = story.alerts

    assert alert.startswith(f"⚠ {FIRST}: {failure[1]} since ")
    assert alert.endswith(f". {SECOND} answers now.")


def test_the_owner_gets_one_all_clear(story: Story, failure: tuple[Behaviour, str]) -> None:
    (clear,) = story.clears

    assert clear.startswith(f"✓ {FIRST} answers again, since ")
    assert clear.endswith(f" ({failure[1]}); meanwhile {SECOND} answered.")


def test_both_come_by_mail_too_once_each(story: Story) -> None:
    assert story.mails == [*story.alerts, *story.clears]
    assert story.recipients == [["me@example.org"]] * 2
    assert story.subjects[0].startswith(f"koi: {FIRST}: ")


@pytest.mark.parametrize("secret", [*WORDS, OPENROUTER["OPENROUTER_API_KEY"], koi.SECRET])
def test_neither_words_nor_secrets_are_logged(story: Story, secret: str) -> None:
    assert "mail_sent" in story.logs
    assert secret not in story.logs
