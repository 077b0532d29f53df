"""An assistant that acts, by real processes: what is asked for is made once and changed rightly, in German and in English,
although something is killed between any two sentences, and in the middle of the first one.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from infra import keys
from infra.redis_port import RedisPort
from schemas.things import Memo, Task, Thing
from tests.fakes.model_script import Answer
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.acting import Acting, offered, results, uses, using_id, with_text
from tests.system.koi import Heard, Talk, until
from tests.system.stack import Process, Stack

pytestmark = pytest.mark.system

BOT = "7601"
ANNA, BEN, CLARA, DORA, EMIL = PEOPLE = range(101, 106)
LANGUAGES = {ANNA: "de", BEN: "en", CLARA: "de", DORA: "de", EMIL: "en"}
NOW = datetime(2026, 4, 13, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
"""A Monday."""
TOMORROW, DAY_AFTER, FRIDAY = "2026-04-14", "2026-04-15", "2026-04-17"
HANGS_S = 600.0

DIALOGUE = {
    "Setz Brot auf die Einkaufsliste.": "Add bread to my list.",
    "Stell das auf morgen.": "Set it for tomorrow.",
    "Nein, ich meinte morgen, nicht übermorgen.": "No, I said tomorrow, not the day after.",
    "Gib der Aufgabe, die du eben gemacht hast, eine andere Priorität.": "Change the priority of the task you just made.",
    "Verschieb das auf Freitag.": "Move that to Friday.",
    "Schreib auch eine Notiz dazu.": "Add a memo to it too.",
}
"""What ANNA says → what BEN says. The second sentence is misunderstood, the third puts it right."""
ACTS = (
    uses("create_task", title="Brot", list="Einkauf"),
    using_id("t", "update_task", "id", due=DAY_AFTER),
    using_id("t", "update_task", "id", due=TOMORROW),
    using_id("t", "update_task", "id", priority="high"),
    using_id("t", "update_task", "id", due=FRIDAY),
    using_id("t", "create_memo", "about", text="Roggen"),
)
MILK, WHERE, WHICH = "Setz Milch auf die Liste.", "Setz Honig auf die Liste.", "Put honey on the list."
ROLES = {
    said: (act, Answer(f"Gut: {said}"))
    for sentences in (DIALOGUE.keys(), DIALOGUE.values())
    for said, act in zip(sentences, ACTS, strict=True)
} | {
    MILK: (uses("create_task", title="Milch"),),
    WHERE: (uses("ask_clarification", question="Welche Liste?", options=["Einkauf", "Imkerei"]),),
    WHICH: (uses("ask_clarification", question="Which list?", options=["Shopping", "Hives"]),),
}
FIRST, ENGLISH_FIRST = next(iter(DIALOGUE.items()))
SECRETS = ("Brot", "Einkauf", "Roggen", "Milch", "Honig", "honey", "Imkerei", koi.SECRET, koi.API_KEY)


@dataclass(repr=False)
class Story:
    """What happened, for the tests to look at."""

    heard: dict[str, Heard] = field(default_factory=dict[str, Heard])
    """What was said or tapped → what came of it. The first sentences of the dialogue are not here."""
    first_asked: dict[str, list[Asked]] = field(default_factory=dict[str, list[Asked]])
    """First sentence → requests for it."""
    after_dialogue: dict[int, list[Thing]] = field(default_factory=dict[int, list[Thing]])
    things: dict[int, list[Thing]] = field(default_factory=dict[int, list[Thing]])
    """In the end."""
    before_the_tap: list[Thing] = field(default_factory=list[Thing])  # of CLARA
    sent: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    workers: set[str] = field(default_factory=set[str])
    everlasting: set[str] = field(default_factory=set[str])
    logs: str = ""
    exit_codes: list[int] = field(default_factory=list[int])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms", "KOI_QUEUE__LEASE": "5s"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    telegram, model, acting = FakeTelegram(), ModelServer(), Acting(ROLES)
    model.always(acting)
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        bot, *workers = koi.two_workers(stack, telegram, model, BOT, PEOPLE)
        koi.at(NOW.timestamp() - time.time(), bot, *workers)
        koi.start(bot, *workers)
        story, told = Story(), Telling(stack, redis, Talk(telegram, model), acting, bot, workers)
        await told.killed_in_the_first_sentence(story)
        await told.dialogue(story)
        story.after_dialogue = {person: await koi.things_of(redis, person) for person in (ANNA, BEN)}
        await told.taps_on_the_list(story)
        await told.what_waits(story)
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story.exit_codes = await koi.end(bot, *workers)
        story.things = {person: await koi.things_of(redis, person) for person in PEOPLE}
        story.everlasting = await koi.everlasting(redis)
        story.sent = {person: telegram.texts(person) for person in PEOPLE}
        story.workers = {
            one.name for one in workers if b"turn_answered" in await asyncio.to_thread(one.log.read_bytes)
        }
        story.logs = koi.logs(stack)
    return story


@dataclass(frozen=True)
class Telling:
    stack: Stack
    redis: RedisPort
    talk: Talk
    acting: Acting
    bot: Process
    workers: list[Process]

    async def again(self, *killed: Process) -> None:
        """kill −9 between two sentences, and started again. A bot that dies in the moment in which it sends something would
        send it once more, marked (C2).
        """
        await until(lambda: koi.all_done(self.redis), what="the end of all lanes")
        koi.kill(*killed)
        koi.start(*killed)
        await until(lambda: koi.is_up(self.redis), what="Valkey")

    @property
    def everything(self) -> tuple[Process, ...]:
        return (self.bot, *self.workers, self.stack.valkey)

    async def say(self, story: Story, person: int, text: str) -> None:
        story.heard[text] = await self.talk.say(BOT, person, text, language=LANGUAGES[person])

    async def tap(self, story: Story, person: int, name: str, command: str) -> Heard:
        story.heard[name] = await self.talk.tap(BOT, person, command, language=LANGUAGES[person])
        return story.heard[name]

    async def killed_in_the_first_sentence(self, story: Story) -> None:
        """The tools have run, the model thinks about what to say; then both workers die."""
        telegram, model = self.talk.telegram, self.talk.model
        firsts = {FIRST: ANNA, ENGLISH_FIRST: BEN}
        self.acting.slow_s |= dict.fromkeys(firsts, HANGS_S)
        for text, person in firsts.items():
            telegram.say(BOT, person, text, language=LANGUAGES[person])
        await until(
            lambda: sum(bool(results(asked.body)) for asked in model.requests) >= len(firsts),
            what="the second call",
        )
        koi.kill(*self.workers)
        self.acting.slow_s.clear()
        koi.start(*self.workers)
        await until(lambda: all(telegram.texts(person) for person in firsts.values()), what="both answers")
        story.first_asked = {text: with_text(model.requests, text) for text in firsts}

    async def dialogue(self, story: Story) -> None:
        """All other sentences; before each something is killed."""
        deaths = (self.everything, self.workers[:1], (self.bot,), (self.stack.valkey,), self.workers)
        rest = list(DIALOGUE.items())[1:]
        for killed, (german, english) in zip(deaths, rest, strict=True):
            await self.again(*killed)
            async with asyncio.TaskGroup() as both:
                both.create_task(self.say(story, ANNA, german))
                both.create_task(self.say(story, BEN, english))

    async def taps_on_the_list(self, story: Story) -> None:
        """/tasks, the button that opens the task, Done."""
        await self.say(story, ANNA, "/tasks")
        shown = story.heard["/tasks"]
        opened = await self.tap(story, ANNA, "open", next(iter(shown.buttons.values())))
        await self.tap(story, ANNA, "done", opened.buttons["✓ Erledigt"])
        await self.say(story, ANNA, "/tasks fertig")

    async def what_waits(self, story: Story) -> None:
        """A preview and two questions; before they are answered everything dies."""
        telegram = self.talk.telegram
        self.stack.config.write_text("[tools]\nconfirm = true\n")
        await self.again(*self.everything)
        await self.say(story, CLARA, MILK)
        await self.say(story, DORA, WHERE)
        await self.say(story, EMIL, WHICH)
        story.before_the_tap = await koi.things_of(self.redis, CLARA)
        await self.again(*self.everything)
        confirm = story.heard[MILK].buttons["Bestätigen"]
        for _ in range(2):
            telegram.tap(BOT, CLARA, confirm, language="de")
        await until(lambda: len(telegram.texts(CLARA)) == 3, what="an answer to each tap")
        await self.tap(story, DORA, "pick", story.heard[WHERE].buttons["Imkerei"])
        await self.say(story, EMIL, "2")


# ── dialogues ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", [FIRST, ENGLISH_FIRST], ids=["de", "en"])
def test_a_worker_that_dies_after_the_tool_leaves_one_task_and_one_answer(
    story: Story, text: str
) -> None:  # C9
    person = ANNA if text == FIRST else BEN
    with_result = [asked for asked in story.first_asked[text] if results(asked.body)]

    assert story.sent[person].count(f"Gut: {text}") == 1
    assert len([thing for thing in story.after_dialogue[person] if isinstance(thing, Task)]) == 1
    assert len(story.first_asked[text]) - len(with_result) == 1, "the first answer was kept"
    assert len({str(asked.body["messages"]) for asked in with_result}) == 1


@pytest.mark.parametrize("person", [ANNA, BEN], ids=["de", "en"])
def test_each_sentence_finds_what_was_made_although_something_died_before_it(
    story: Story, person: int
) -> None:
    task, memo = story.after_dialogue[person]

    assert isinstance(task, Task)
    assert (task.title, task.list_name, task.due, task.priority) == ("Brot", "Einkauf", FRIDAY, "high")
    assert isinstance(memo, Memo)
    assert (memo.text, memo.about) == ("Roggen", task.id)


@pytest.mark.parametrize("person", [ANNA, BEN], ids=["de", "en"])
def test_each_sentence_is_answered_once_after_one_call(story: Story, person: int) -> None:
    sentences = list(DIALOGUE if person == ANNA else DIALOGUE.values())

    assert story.sent[person][: len(sentences)] == [f"Gut: {said}" for said in sentences]
    for said in sentences[1:]:
        assert len(with_text(story.heard[said].requests, said)) == 2, said


def test_the_misunderstanding_was_there_before_it_was_put_right(story: Story) -> None:
    third = list(DIALOGUE)[2]
    asked = with_text(story.heard[third].requests, third)[0]

    assert DAY_AFTER in results(asked.body)[-1]


def test_both_workers_answer(story: Story) -> None:
    assert story.workers == {"worker-1", "worker-2"}


# ── /tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_list_shows_it_and_taps_open_and_finish_it(story: Story) -> None:
    task = story.things[ANNA][0]

    assert story.heard["/tasks"].reply.startswith("1 offene Aufgabe")
    assert list(story.heard["/tasks"].buttons) == ["❗ Brot"]
    assert "Roggen" in story.heard["open"].reply
    assert story.heard["done"].reply == "Erledigt: Brot"
    assert isinstance(task, Task)
    assert task.done_ms > 0
    assert [name for name in ("/tasks", "open", "done") if story.heard[name].requests] == []


# ── what waits ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_preview_survives_the_death_of_everything_and_is_made_once_though_tapped_twice(
    story: Story,
) -> None:
    preview, done, over = story.sent[CLARA]

    assert list(story.heard[MILK].buttons) == ["Bestätigen", "Ändern"]
    assert "Milch" in preview
    assert story.before_the_tap == []
    assert done.startswith("Erledigt:\n• ")
    assert over == "Das ist schon erledigt oder inzwischen zu alt. Schreib mir einfach, was du möchtest."
    assert [getattr(thing, "title", "") for thing in story.things[CLARA]] == ["Milch"]


def test_a_question_is_answered_by_a_tap_after_the_death_of_everything(story: Story) -> None:  # C44
    (asked,) = story.heard["pick"].requests

    assert story.heard[WHERE].reply == "Welche Liste?"
    assert list(story.heard[WHERE].buttons) == ["Einkauf", "Imkerei"]
    assert story.heard["pick"].reply.startswith("echo: Imkerei")
    assert "ask_clarification" in str(asked.body["messages"])


def test_a_question_is_answered_by_its_number_after_the_death_of_everything(story: Story) -> None:  # C44
    (asked,) = story.heard["2"].requests

    assert story.heard[WHICH].reply == "Which list?"
    assert story.heard["2"].reply.startswith("echo: Hives")
    assert "create_task" in offered(asked.body)


# ── always ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("word", SECRETS)
def test_no_log_holds_what_was_said_or_made(story: Story, word: str) -> None:
    assert word not in story.logs


def test_what_was_made_is_kept_without_expiry(story: Story) -> None:
    assert {keys.things(f"home:u:{person}") for person in (ANNA, BEN, CLARA)} <= story.everlasting


def test_whoever_is_told_to_stop_ends_cleanly(story: Story) -> None:
    assert story.exit_codes == [0, 0, 0]
