"""Bots that are added to koi.toml and taken out of it while real processes run; the others never notice."""

import asyncio
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import pytest

from infra import keys
from tests.fakes.model_script import Answer
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import until
from tests.system.stack import Process, Stack

pytestmark = pytest.mark.system

A, B, C, D = "7801", "7802", "7803", "7804"
OWNER, ANN, BEA = 90, 91, 92
"""The owner; a member; somebody else who was let in."""
SLOW_S = 12.0
"""How long the model thinks about what A was asked; a change of koi.toml is in force after four seconds."""
PEOPLE = {"TELEGRAM_OWNER": str(OWNER), "TELEGRAM_ALLOWED_USERS": f"{ANN},{BEA}"}


@dataclass
class Story:
    pids: list[set[int]] = field(default_factory=list[set[int]])
    """Of the two processes, at the beginning and at the end."""
    codes: list[int] = field(default_factory=list[int])
    by_c: Asked | None = None
    """What the model was asked for C."""
    a_before: list[str] = field(default_factory=list[str])
    """What A had said when C had answered."""
    a_said: list[str] = field(default_factory=list[str])
    b_while_out: list[str] = field(default_factory=list[str])
    b_back: list[str] = field(default_factory=list[str])
    by_b: Asked | None = None
    bea: list[str] = field(default_factory=list[str])
    """What somebody was told who may not use C."""
    same_poll: bool = False
    """A waited in one and the same getUpdates all the time."""
    introduced: dict[str, int] = field(default_factory=dict[str, int])
    """How often each bot called getMe."""
    conflicts: int = 0
    bot_log: str = ""
    worker_log: str = ""
    lasting: set[str] = field(default_factory=set[str])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack(koi.ENVIRONMENT | PEOPLE) as stack:
        yield asyncio.run(played(stack))


def table(stack: Stack, bot_id: str, **more: str) -> str:
    """One `[[bots]]` table; its token is in a file of its own."""
    file = stack.folder / f"{bot_id}.token"
    file.write_text(koi.token(bot_id))
    lines = {"name": f'"bot-{bot_id}"', "token_file": f'"{file}"', **more}
    return "\n".join(["[[bots]]", *(f"{name} = {value}" for name, value in lines.items()), ""])


def write(stack: Stack, *tables: str) -> None:
    stack.config.write_text("\n".join(tables))


async def played(stack: Stack) -> Story:
    story, telegram, model = Story(), FakeTelegram(), ModelServer()
    a = table(stack, A, models='["slow"]')
    b = table(stack, B, models='["quick"]', persona='"You are Berta."')
    c = table(stack, C, models='["quick"]', persona='"You are Caesar."', people=f"[{ANN}]")
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        write(stack, a, b)
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base)
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m")
        koi.start(bot, worker)
        story.pids.append({bot.pid, worker.pid})
        await until(lambda: polling(telegram, A) and polling(telegram, B), what="the bots")
        await in_the_middle(story, stack, telegram, model, (a, b, c))
        await broken(stack, telegram, bot, worker)
        await back_again(story, stack, telegram, model, (a, b, c))
        story.introduced = {bot_id: calls(telegram, bot_id, "getMe") for bot_id in (A, B, C)}
        story.conflicts = sum(call.status == 409 for call in telegram.calls)
        story.lasting = await koi.everlasting(redis)
        story.pids.append({bot.pid, worker.pid})
        story.codes = await koi.end(bot, worker)
        story.bot_log, story.worker_log = (one.log.read_text("utf-8") for one in (bot, worker))
    return story


def polling(telegram: FakeTelegram, bot_id: str) -> bool:
    return telegram.bot(bot_id).poller is not None


def calls(telegram: FakeTelegram, bot_id: str, method: str) -> int:
    return sum((call.bot_id, call.method) == (bot_id, method) for call in telegram.calls)


def said(telegram: FakeTelegram, bot_id: str) -> list[str]:
    """What people read from a bot."""
    return [call.fields["text"] for call in telegram.calls if call.delivered and call.bot_id == bot_id]


async def in_the_middle(
    story: Story, stack: Stack, telegram: FakeTelegram, model: ModelServer, tables: tuple[str, str, str]
) -> None:
    """A thinks; C comes and B goes, while A waits for updates with one request (it may last 25 seconds)."""
    a, _, c = tables
    model.script(Answer("That took a while.", delay_s=SLOW_S), model="slow")
    telegram.say(A, ANN, "A hard question")
    await until(lambda: bool(model.requests), what="the question")
    await until(lambda: polling(telegram, A), what="A's next poll")
    poll = telegram.bot(A).poller
    write(stack, a, c)
    await until(lambda: polling(telegram, C) and not polling(telegram, B), what="the change")
    telegram.say(B, ANN, "Are you there?")
    telegram.say(C, BEA, "May I?")
    telegram.say(C, BEA, "Please?")
    telegram.say(C, ANN, "Hello Caesar")
    await until(lambda: len(said(telegram, C)) == 2, what="C's answers")
    story.same_poll = telegram.bot(A).poller is poll
    story.by_c, story.a_before = model.requests[-1], said(telegram, A)
    await until(lambda: bool(said(telegram, A)), what="A's answer")
    story.bea = telegram.texts(BEA)
    story.b_while_out = said(telegram, B)


async def broken(stack: Stack, telegram: FakeTelegram, *processes: Process) -> None:
    """Nothing changes, and both say so."""
    write(stack, '[[bots]]\nnaem = "oops"\n')
    await until(
        lambda: all("everything goes on as before" in one.log.read_text("utf-8") for one in processes)
    )
    telegram.say(C, ANN, "Still there?")
    await until(lambda: len(said(telegram, C)) == 3, what="C's answer")
    await asyncio.sleep(5)  # two more looks: it is not told again


async def back_again(
    story: Story, stack: Stack, telegram: FakeTelegram, model: ModelServer, tables: tuple[str, str, str]
) -> None:
    write(stack, *tables)
    await until(lambda: bool(said(telegram, B)), what="B's answer")
    story.b_back, story.by_b, story.a_said = said(telegram, B), model.requests[-1], said(telegram, A)


def test_what_a_bot_was_thinking_about_is_answered_once(story: Story) -> None:
    assert story.a_before == []
    assert story.a_said == ["That took a while."]


def test_the_bot_that_stays_is_not_interrupted(story: Story) -> None:
    assert story.pids[0] == story.pids[1]
    assert story.same_poll
    assert story.introduced == {A: 1, B: 2, C: 1}
    assert story.conflicts == 0


def test_the_new_bot_answers_with_its_own_persona_and_model(story: Story) -> None:
    assert story.by_c is not None
    assert story.by_c.model == "quick"
    assert "You are Caesar." in str(story.by_c.body["system"])


def test_who_may_not_use_it_is_told_so_once(story: Story) -> None:
    (line,) = story.bea
    assert line.startswith("Sorry, this bot is only for certain people")


def test_the_bot_that_was_away_answers_what_it_was_asked_meanwhile(story: Story) -> None:
    assert story.b_while_out == []
    (answer,) = story.b_back
    assert answer.endswith("Are you there?")
    assert story.by_b is not None
    assert "You are Berta." in str(story.by_b.body["system"])


@pytest.mark.parametrize("process", ["bot", "worker"])
def test_a_broken_file_is_told_once_by_each_process(story: Story, process: str) -> None:
    log = story.bot_log if process == "bot" else story.worker_log
    lines = [line for line in log.splitlines() if line.startswith("Until this is put right")]
    assert lines == [
        "Until this is put right, everything goes on as before: koi.toml line 2: bots[0].naem is not a setting; did you "
        "mean bots.name?"
    ]


def test_all_ends_well_and_says_no_secret(story: Story) -> None:
    assert story.codes == [0, 0]
    assert koi.SECRET not in story.bot_log + story.worker_log
    assert {name for name in story.lasting if not any(fnmatchcase(name, one) for one in keys.PERMANENT)} == set()  # fmt: skip


async def test_koi_up_gets_its_first_bot_while_it_runs_at_once_if_it_is_told() -> None:
    with Stack(koi.ENVIRONMENT | PEOPLE) as stack:
        async with FakeTelegram().running() as telegram, koi.valkey_of(stack):
            up = stack.koi("up", "up", TELEGRAM_API_BASE=telegram.base, KOI_MODEL="offline")
            up.start()
            await until(lambda: "worker started" in up.log.read_text("utf-8"), what="koi up")

            write(stack, table(stack, D))
            up.send(signal.SIGHUP)
            telegram.say(D, OWNER, "hello koi")
            await until(lambda: bool(said(telegram, D)), what="an answer")

            assert await koi.end(up) == [0]
        assert "Bots, as the settings say now: new: bot-7804." in up.log.read_text("utf-8")
    assert "hello koi" in said(telegram, D)[0]
