"""Reminders, by real processes: asked for in a chat, sent by one of two workers, snoozed, late after everything was down,
daily into winter time; and in the zone, language and project of whoever asks.
"""

import asyncio
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from infra.redis_port import RedisPort
from schemas.things import Reminder
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.acting import Acting, uses
from tests.system.koi import Heard, Talk, buttons_of, until
from tests.system.stack import Process, Stack
from workers.upkeep import REMINDERS_S

pytestmark = pytest.mark.system

BOT = "7602"
ANNA, BEN, CLARA, FINN = PEOPLE = range(111, 115)
LANGUAGES = {ANNA: "de", BEN: "de", CLARA: "en", FINN: "en"}
BERLIN, LISBON = ZoneInfo("Europe/Berlin"), {"latitude": 38.72, "longitude": -9.14}
NOW = datetime(2026, 10, 23, 12, 0, tzinfo=BERLIN)
"""A Friday; summer time ends in the night after the next."""
ONCE, ONCE_AT = (
    "Erinnere mich in einer halben Stunde ans Brot.",
    datetime(2026, 10, 23, 12, 30, tzinfo=BERLIN),
)
DAILY, DAILY_AT = "Erinnere mich jeden Morgen um acht.", datetime(2026, 10, 24, 8, 0, tzinfo=BERLIN)
EVENING, AWAY = "Remind me at six of the theatre.", "Erinnere mich um neun an die Faehre."
HOUR_MS = 3_600_000
BEFORE = timedelta(seconds=12)
"""So long before a time two workers are started that both live when it comes."""
MADE = Answer("Gemacht.")
ROLES = {
    ONCE: (uses("create_reminder", text="Brot holen", at="2026-10-23T12:30"), MADE),
    DAILY: (uses("create_reminder", text="Pillen", at="2026-10-23T08:00", rrule="FREQ=DAILY"), MADE),
    EVENING: (uses("create_reminder", text="Theatre", at="2026-10-23T18:00"), MADE),
    AWAY: (uses("create_reminder", text="Faehre", at="2026-10-25T09:00"), MADE),
}


@dataclass(repr=False)
class Story:
    """What happened, for the tests to look at."""

    heard: dict[str, Heard] = field(default_factory=dict[str, Heard])
    made: dict[int, list[Reminder]] = field(default_factory=dict[int, list[Reminder]])
    """When all had asked."""
    left: dict[int, list[Reminder]] = field(default_factory=dict[int, list[Reminder]])
    """In the end."""
    sent: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    buttons: dict[str, str] = field(default_factory=dict[str, str])
    """Under the first reminder that was sent."""
    logged: list[int] = field(default_factory=list[int])
    """How many reminders each worker says that it sent."""
    logs: str = ""


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms", "KOI_QUEUE__LEASE": "5s"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    story, telegram, model = Story(), FakeTelegram(), ModelServer()
    model.always(Acting(ROLES))
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        bot, *workers = koi.two_workers(stack, telegram, model, BOT, PEOPLE)
        told = Telling(story, stack, redis, Talk(telegram, model), (bot, *workers))
        koi.at(NOW.timestamp() - time.time(), bot, *workers)
        koi.start(bot, *workers)
        await told.asked_for()
        await told.sent_and_snoozed()
        await told.the_next_morning()
        await koi.end(bot, *workers)
        story.left = {person: await reminders(redis, person) for person in PEOPLE}
        story.sent = {person: telegram.texts(person) for person in PEOPLE}
        story.logged = [one.log.read_text("utf-8").count("reminder_sent") for one in workers]
        story.logs = koi.logs(stack)
    return story


async def reminders(redis: RedisPort, person: int) -> list[Reminder]:
    return [thing for thing in await koi.things_of(redis, person) if isinstance(thing, Reminder)]


@dataclass(frozen=True)
class Telling:
    story: Story
    stack: Stack
    redis: RedisPort
    talk: Talk
    processes: tuple[Process, ...]

    async def asked_for(self) -> None:
        """12:00: everybody asks; FINN has told koi about himself before."""
        for person, text in ((ANNA, ONCE), (BEN, DAILY), (CLARA, EVENING)):
            await self.say(person, text)
        await self.send_place(FINN)
        for text in ("/language de", "/project garten", AWAY, "/new", "Was war mit der Faehre?"):
            await self.say(FINN, text)
        self.story.made = {person: await reminders(self.redis, person) for person in PEOPLE}

    async def sent_and_snoozed(self) -> None:
        """12:30: ANNA's is due, and she wants it ten minutes later; then it is done."""
        before = len(self.talk.telegram.texts(ANNA))
        await self.killed_until(ONCE_AT - BEFORE)
        await self.in_step()
        await self.arrival(ANNA, before)
        self.story.buttons = buttons_of(self.talk.telegram.sent(ANNA)[before])
        await self.tap(ANNA, "snooze", self.story.buttons["10 Min."])
        (snoozed,) = await reminders(self.redis, ANNA)
        before = len(self.talk.telegram.texts(ANNA))
        await self.killed_until(datetime.fromtimestamp(snoozed.due_ms / 1000, BERLIN))
        await self.arrival(ANNA, before)
        await self.tap(ANNA, "done", self.story.buttons["✓ Erledigt"])

    async def the_next_morning(self) -> None:
        """8:00: since 12:40 nothing ran, so CLARA's is late; BEN's is not."""
        before = {person: len(self.talk.telegram.texts(person)) for person in (BEN, CLARA)}
        await self.killed_until(DAILY_AT)
        for person, number in before.items():
            await self.arrival(person, number)

    async def killed_until(self, moment: datetime) -> None:
        """Everything dies, Valkey too, and lives again at that time."""
        await until(lambda: koi.all_done(self.redis), what="the end of all lanes")
        koi.kill(*self.processes, self.stack.valkey)
        koi.at(moment.timestamp() - time.time(), *self.processes)
        koi.start(self.stack.valkey, *self.processes)
        await until(lambda: koi.is_up(self.redis), what="Valkey")

    async def in_step(self) -> None:
        """Both workers look for due reminders at the same moments from now on: both wait for a Valkey that stands still."""
        workers = self.processes[1:]
        await until(lambda: all(one.log.read_text("utf-8").count("worker_started") == 2 for one in workers), what="two workers")  # fmt: skip
        self.stack.valkey.send(signal.SIGSTOP)
        await asyncio.sleep(1.5 * REMINDERS_S)
        self.stack.valkey.send(signal.SIGCONT)

    async def arrival(self, person: int, before: int) -> None:
        """Of one more message, when there were so many."""
        await until(lambda: len(self.talk.telegram.texts(person)) > before, what=f"a reminder for {person}")

    async def say(self, person: int, text: str) -> None:
        self.story.heard[text] = await self.talk.say(BOT, person, text, language=LANGUAGES[person])

    async def tap(self, person: int, name: str, command: str) -> None:
        self.story.heard[name] = await self.talk.tap(BOT, person, command, language=LANGUAGES[person])

    async def send_place(self, person: int) -> None:
        """A location, as Telegram tells of it: without a text."""
        telegram = self.talk.telegram
        message: dict[str, Any] = telegram.message(BOT, person, "", location=LISBON)
        del message["text"]
        telegram.feed(BOT, {"message": message})
        await until(lambda: telegram.texts(person), what="an answer to the location")


def fired(story: Story, person: int) -> list[str]:
    return [text for text in story.sent[person] if text.startswith("⏰")]


# ── one time ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_of_two_workers_one_sends_it_and_it_has_buttons(story: Story) -> None:
    first, *_ = fired(story, ANNA)

    assert first == "⏰ 12:30 · Brot holen"
    assert list(story.buttons) == ["✓ Erledigt", "10 Min.", "1 Stunde", "1 Tag"]
    assert sum(story.logged) == 4


def test_a_snoozed_one_is_sent_again_and_a_done_one_is_gone(story: Story) -> None:
    first, answer, again = fired(story, ANNA)

    assert first.endswith("Brot holen")
    assert story.heard["snooze"].reply == answer
    assert "12:4" in answer
    assert again.endswith(" · Brot holen")
    assert "\n" not in again
    assert story.heard["done"].reply == "✓ Erledigt: Brot holen"
    assert story.left[ANNA] == []


def test_one_that_was_due_while_nothing_ran_comes_once_and_says_so(story: Story) -> None:
    (late,) = fired(story, CLARA)

    assert late == "⏰ 18:00 · Theatre\nIt was due Fri, 23 Oct, 18:00; koi was not running then."


# ── every day ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_daily_one_comes_at_eight_and_then_waits_for_eight_in_winter_time(story: Story) -> None:  # C50
    (made,), (left,) = story.made[BEN], story.left[BEN]
    next_at = datetime(2026, 10, 25, 8, 0, tzinfo=BERLIN)

    assert made.due_ms == DAILY_AT.timestamp() * 1000
    assert fired(story, BEN) == ["⏰ 08:00 · Pillen"]
    assert (left.due_ms, left.local) == (next_at.timestamp() * 1000, "2026-10-25T08:00")
    assert left.due_ms - made.due_ms == 25 * HOUR_MS


# ── who asks ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("line", ["Time zone: Europe/Lisbon", "Language: German", "Project: garten"])
def test_place_language_and_project_are_told_to_the_model(story: Story, line: str) -> None:
    assert line in str(story.heard[AWAY].requests[0].body["system"])


def test_a_reminder_is_meant_in_the_zone_of_the_place_that_was_sent(story: Story) -> None:
    (made,) = story.made[FINN]

    assert story.sent[FINN][0].startswith("Your time zone is now Europe/Lisbon")
    assert story.heard["/language de"].reply == "Ab jetzt sprechen wir Deutsch."
    assert (made.local, made.zone, made.language) == ("2026-10-25T09:00", "Europe/Lisbon", "de")
    assert made.due_ms == datetime(2026, 10, 25, 9, 0, tzinfo=ZoneInfo("Europe/Lisbon")).timestamp() * 1000


def test_the_block_of_the_next_conversation_says_of_which_project_an_entry_is(story: Story) -> None:
    (message,) = story.heard["Was war mit der Faehre?"].messages

    assert "\n[23.10. 11:00 · garten]\n" in message["content"]


# ── always ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("word", ["Brot", "Pillen", "Theatre", "Faehre", "garten", "38.72", koi.SECRET])
def test_no_log_holds_what_was_said_or_where_somebody_is(story: Story, word: str) -> None:
    assert word not in story.logs
