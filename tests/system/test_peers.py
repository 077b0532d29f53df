"""The main conversation against servers that we did not write, by polling and by webhook, while processes and Valkey are
killed: lo-bot-api-emulator is Telegram, llmock is the model.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from aiohttp import ClientSession

from bench.stack import Process, Stack, free_port
from tests.fakes.emulator import PERSON, Emulator, emulator
from tests.fakes.llmock import llmock_server
from tests.system import koi
from tests.system.koi import until

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("peers")]

POLLING, POSTED = "7201", "7202"
QUESTION, MESSAGE = "Check wo das Chemitek-Paket bleibt", "Soll Mittwoch kommen"
WEBHOOK_SECRET = "AAsecret-of-the-webhook"
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
    story, webhook = Story(), f"127.0.0.1:{free_port()}"
    async with emulator() as (telegram, base), koi.valkey_of(stack) as redis:
        settings = {"TELEGRAM_API_BASE": base, "TELEGRAM_OWNER": str(PERSON)}
        polling = stack.koi("polling", "bot", TELEGRAM_BOT_TOKEN=koi.token(POLLING), **settings)
        posted = stack.koi(
            "posted", "bot", TELEGRAM_BOT_TOKEN=koi.token(POSTED), **settings,
            TELEGRAM_WEBHOOK_URL=f"http://{webhook}", TELEGRAM_WEBHOOK_BIND=webhook,
            TELEGRAM_WEBHOOK_SECRET=WEBHOOK_SECRET,
        )  # fmt: skip
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=f"{llmock}/anthropic", KOI_MODEL="m")
        koi.start(polling, posted, worker)
        await until(lambda: telegram.asked("getUpdates") and telegram.asked("setWebhook"), what="both bots")
        await fifty_minutes(telegram, worker)
        await without_valkey(story, telegram, stack.valkey)
        await until(lambda: koi.is_up(redis))
        story.afterwards = await posted_again(telegram, f"http://{webhook}/tg/{POSTED}")
        await until(lambda: len(telegram.sent) == 4, what="the last answer")
        story.without_secret = await posts(f"http://{webhook}/tg/{POSTED}", {"update_id": 1}, secret="")
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story.exit_codes = await koi.end(polling, posted, worker)
        story.sent = [fields["text"] for fields in telegram.sent]
    story.asked = [request["body"]["messages"] for request in httpx2.get(f"{llmock}/_llmock/requests").json()["requests"]]
    story.logs = koi.logs(stack)
    return story
