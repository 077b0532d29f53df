"""Whole dialogues over HTTP, in two languages, with a worker that is killed between any two of its steps: each thing is made
once and changed rightly, each message answered once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest

from infra import keys
from infra.deliver import deliver
from infra.redis_port import RedisPort
from infra.settings import Settings
from schemas.call import CallRecord
from schemas.inbound import InboundMessage
from schemas.memory import Session
from schemas.reply import Reply
from schemas.things import Event, Memo, Task, Thing
from schemas.turn import TurnRecord
from schemas.wire import load
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.workers.kill import Cut, Door, Factory, Image, image, lease_over, one_turn, put_back
from tests.workers.mind import decide
from tests.workers.stage import HOUR_MS, MINUTE_MS, House, with_tools
from tools.store import change_effects, load_things
from tools.tool import Ran, new_id

OWNER, LANE, JOB = "home:u:42", "7:42:0", "in:7:42:0"
CHANGING = ("create_", "update_")

type Language = Literal["en", "de"]
type Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What the person says, and what has to come of it."""

    name: str
    text: str
    rounds: tuple[tuple[str, ...], ...]
    """Tools that the model calls, round by round."""
    things: tuple[Row, ...]
    """All that there is then."""
    says: str
    """In the reply."""
    asks: bool = False
    """The turn ends with the question."""
    taps: bool = False
    """The person taps the button that says `text`."""

    @property
    def model_calls(self) -> int:
        """How often the model is asked, if nobody dies."""
        return len(self.rounds) + (not self.asks)

    @property
    def changes(self) -> int:
        return sum(tool.startswith(CHANGING) for tools in self.rounds for tool in tools)


@dataclass(frozen=True, slots=True)
class Dialogue:
    begins_h: float
    """Hours after 14:23 on Sunday 5 April 2026."""
    lines: tuple[Line, ...]


def task(title: str, due: str = "", priority: str = "normal") -> Row:
    return ("task", title, due, priority)


def shopping(language: Language) -> Dialogue:
    """Over midnight: "tomorrow" is said a minute after it, so it is the 7th."""
    bread = "Bread" if language == "en" else "Brot"
    dated, urgent, moved = (
        task(bread, "2026-04-07"), task(bread, "2026-04-07", "high"), task(bread, "2026-04-10", "high"),
    )  # fmt: skip
    texts = {
        "en": ("Add bread to my list.", "Set it for tomorrow.", "Change the priority of the task you just made.", "high",
               "Move that to Friday.", "Two more of the same, each by itself."),
        "de": ("Setz Brot auf meine Liste.", "Mach das für morgen.",
               "Ändere die Priorität der Aufgabe, die du gerade angelegt hast.", "hoch", "Verschieb das auf Freitag.",
               "Noch zwei davon, einzeln."),
    }[language]  # fmt: skip
    update, two = (("update_task",),), (("create_task", "create_task"),)
    return Dialogue(9.6, (
        Line("bread", texts[0], (("create_task",),), (task(bread),), f"OK: {bread}"),
        Line("tomorrow", texts[1], update, (dated,), "2026-04-07"),
        Line("priority", texts[2], (("ask_clarification",),), (dated,), "?", asks=True),
        Line("high", texts[3], update, (urgent,), "high", taps=language == "en"),
        Line("friday", texts[4], update, (moved,), "2026-04-10"),
        Line("twice", texts[5], two, (moved, task(bread), task(bread)), f"OK: {bread}"),
    ))  # fmt: skip


def dentist(language: Language) -> Dialogue:
    """The model takes tomorrow for the day after, and is told."""
    title = "Dentist" if language == "en" else "Zahnarzt"
    texts = {
        "en": ("Dentist tomorrow at 9", "no, I said tomorrow, not the day after", "move that to Friday",
               "add a memo to it too: bring the X-rays"),
        "de": ("Zahnarzt morgen um 9", "nein, ich sagte morgen, nicht übermorgen", "verschieb das auf Freitag",
               "schreib auch noch eine Notiz dazu: Röntgenbilder mitbringen"),
    }[language]  # fmt: skip
    memo = texts[3].partition(": ")[2]

    def at(day: str) -> Row:
        return ("event", title, f"{day}T09:00", "Europe/Berlin")

    update = (("update_calendar_event",),)
    return Dialogue(0, (
        Line("dentist", texts[0], (("list_agenda",), ("create_calendar_event",)), (at("2026-04-07"),), "2026-04-07"),
        Line("no", texts[1], update, (at("2026-04-06"),), "2026-04-06"),
        Line("friday", texts[2], update, (at("2026-04-10"),), "2026-04-10"),
        Line("memo", texts[3], (("create_memo",),), (at("2026-04-10"), ("memo", memo, title)), memo),
    ))  # fmt: skip


DIALOGUES: dict[str, Callable[[Language], Dialogue]] = {"shopping": shopping, "dentist": dentist}
LANGUAGES: tuple[Language, ...] = ("en", "de")


# ── the world ────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass
class World:
    """A person, a worker that may be killed, a model that decides by what it sees."""

    house: House
    server: Path
    """Of the real Valkey."""
    models: ModelServer
    language: Language = "en"
    messages: list[InboundMessage] = field(default_factory=list[InboundMessage])
    dies_at_answer: int = 0
    """The worker is killed while the model gives its nth answer."""
    asked: int = 0
    """Requests that the model got, since `dies_at_answer` was set."""
    door: Door | None = None

    def __post_init__(self) -> None:
        settings = Settings(models=("wise",), anthropic_base_url=self.models.url)
        self.factory = Factory(with_tools(self.house).services, settings)
        self.models.always(self.answer)

    @property
    def redis(self) -> RedisPort:
        return self.house.redis

    def answer(self, body: dict[str, Any]) -> Answer:
        self.asked += 1
        answer = decide(body)
        if self.language == "de":  # a service whose ids begin anew in each answer
            numbered = (replace(use, id=f"call_{nth}") for nth, use in enumerate(answer.uses))
            answer = replace(answer, uses=tuple(numbered))
        if self.asked != self.dies_at_answer or self.door is None:
            return answer
        asyncio.get_running_loop().call_later(0.01, self.door.close)
        return replace(answer, text="Let me see…", chunk_delay_s=60)  # it never gets to its second word

    async def turn(
        self, cut: Cut | None = None, between: Callable[[int], Awaitable[None]] | None = None
    ) -> bool:
        """A worker takes the waiting message; False: it was killed."""
        self.door = Door(self.server, self.server.with_name("door.sock"), cut, between=between)
        return await one_turn(self.door, self.factory)

    async def hear(self, line: Line) -> None:
        """The person says it, in a minute or two."""
        self.house.later(minutes=2)
        text = await self._button(line.text) if line.taps else line.text
        message = self.house.message(text, language=self.language)
        self.messages.append(message)
        await self.house.push(message)

    async def _button(self, text: str) -> str:
        buttons = (button for row in (await self.house.replies())[-1].buttons for button in row)
        return next(button.command for button in buttons if button.text == text)

    async def killed(self, cut: Cut | None, line: Line) -> bool:
        """A worker takes the turn and is killed at `cut`, another one ends it; False: nobody was killed."""
        self.asked = 0
        alive = await self.turn(cut)
        self.dies_at_answer = 0
        if alive:
            return False
        await lease_over(self.redis, JOB)
        if await self.redis.llen(keys.items(JOB)):
            kept = [name for name in await self.redis.hkeys(keys.kept(JOB)) if name.startswith(b"round:")]
            self.asked = 0
            assert await self.turn()
            assert self.asked == line.model_calls - len(kept), "what was kept is not asked for again"
        return True


@pytest.fixture
async def world(house: House, valkey_socket: Path) -> AsyncIterator[World]:
    async with ModelServer() as models:
        world = World(house, valkey_socket, models)
        yield world
        await world.factory.aclose()


async def check(world: World, lines: tuple[Line, ...]) -> None:
    """Everything is as if nobody had died."""
    things = await load_things(world.redis, OWNER)
    assert tuple(row(thing, things.by_id) for thing in things.by_id.values()) == lines[-1].things
    assert things.version == sum(line.changes for line in lines)
    replies = await world.house.replies()
    assert [reply.answers for reply in replies] == [(message.id,) for message in world.messages]
    for reply, line in zip(replies, lines, strict=True):
        assert line.says in reply.text
        assert not reply.failed
    await check_memory(world, lines, replies)
    await check_calls(world, lines)
    assert await world.redis.exists(keys.items(JOB), keys.kept(JOB), keys.lease(JOB), keys.dead()) == 0
    assert await world.redis.exists(keys.pending(LANE)) == lines[-1].asks


async def check_memory(world: World, lines: tuple[Line, ...], replies: list[Reply]) -> None:
    session = load(Session, await world.redis.get(keys.session(LANE)) or b"")
    said = [
        (one.user, [[call.name for call in step.calls] for step in one.rounds], one.reply)
        for one in session.exchanges
    ]
    assert said == [
        (line.text, [list(tools) for tools in line.rounds], reply.text)
        for line, reply in zip(lines, replies, strict=True)
    ]
    assert await world.redis.llen(keys.ring(OWNER)) == len(lines)


async def check_calls(world: World, lines: tuple[Line, ...]) -> None:
    """Each answer of the model that counted is in the record of its turn, and none is anywhere twice."""
    turns = [load(TurnRecord, raw) for raw in await world.redis.lrange(keys.turns(OWNER), 0, -1)]
    assert [len(turn.calls) for turn in turns] == [line.model_calls for line in lines]
    assert [[ran.name for ran in turn.tools] for turn in turns] == [
        [tool for tools in line.rounds for tool in tools] for line in lines
    ]
    in_turns = [call.id for turn in turns for call in turn.calls]
    assert len(set(in_turns)) == len(in_turns)
    stream = await world.redis.xrange(keys.calls())
    written = [load(CallRecord, value).id for _, fields in stream for value in fields.values()]
    assert len(set(written)) == len(written)
    assert len(written) <= len(world.models.requests)


def row(thing: Thing, by_id: Any) -> Row:
    match thing:
        case Task():
            return task(thing.title, thing.due, thing.priority)
        case Event():
            return ("event", thing.title, thing.start, thing.zone)
        case Memo():
            return ("memo", thing.text, by_id[thing.about].title)
        case _:
            return ("?", thing.id)


def begin(world: World, name: str, language: Language) -> tuple[Line, ...]:
    dialogue = DIALOGUES[name](language)
    world.language = language
    world.house.now_ms += round(dialogue.begins_h * HOUR_MS) - 2 * MINUTE_MS
    return dialogue.lines


# ── tests ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", DIALOGUES)
async def test_every_sentence_is_understood_by_what_the_window_shows(
    world: World, name: str, language: Language
) -> None:
    lines = begin(world, name, language)
    for upto, line in enumerate(lines, 1):
        await world.hear(line)

        assert await world.turn()

        await check(world, lines[:upto])
    assert len(world.models.requests) == sum(line.model_calls for line in lines)


def cases() -> Iterator[Any]:
    for language in LANGUAGES:
        for name, dialogue in DIALOGUES.items():
            for at, line in enumerate(dialogue(language).lines):
                yield pytest.param(name, language, at, id=f"{language}-{name}-{line.name}")


@pytest.mark.parametrize(("name", "language", "at"), [*cases()])
async def test_a_worker_killed_at_any_step_of_a_turn_leaves_no_trace(
    world: World, name: str, language: Language, at: int
) -> None:
    """English: every request to Redis and every answer of the model, one by one. German: some."""
    lines = begin(world, name, language)
    for line in lines[:at]:
        await world.hear(line)
        assert await world.turn()
    await world.hear(lines[at])
    old = await image(world.redis)

    deaths = await every_death(world, old, lines[: at + 1], every=1 if language == "en" else 5)

    assert deaths >= (15 if language == "en" else 4)


async def every_death(world: World, old: Image, lines: tuple[Line, ...], *, every: int) -> int:
    """Kills at one request to Redis after the other, in both ways, until the turn needs no more; then while the model
    answers. Gives how many there were.
    """
    deaths = 0
    for nth in count(1, every):
        for when in ("before", "after"):
            await put_back(world.redis, old)
            killed = await world.killed(Cut(nth, when), lines[-1])
            await check(world, lines)
            deaths += killed
        if not killed:
            break
    for nth in range(1, lines[-1].model_calls + 1):
        await put_back(world.redis, old)
        world.dies_at_answer = nth
        assert await world.killed(None, lines[-1])
        await check(world, lines)
    return deaths + lines[-1].model_calls


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", DIALOGUES)
@pytest.mark.parametrize("first", [3, 6, 9])
async def test_a_dialogue_goes_on_after_a_death_in_each_of_its_turns(
    world: World, name: str, language: Language, first: int
) -> None:
    lines = begin(world, name, language)
    for at, line in enumerate(lines):
        await world.hear(line)

        await world.killed(Cut((first + 5 * at) % 13 + 1, "after"), line)

        await check(world, lines[: at + 1])


# ── two at once ──────────────────────────────────────────────────────────────────────────────────────────────────
async def milk_is_added(redis: RedisPort) -> None:
    """Elsewhere, by the same person."""
    things = await load_things(redis, OWNER)
    milk = Task(id=new_id("t", things), title="Milk", made_ms=1, changed_ms=1)
    await deliver(redis, expects=(), effects=change_effects(OWNER, things, Ran("", put=(milk,))), pushes=())


async def bread_gets_a_note(redis: RedisPort) -> None:
    things = await load_things(redis, OWNER)
    (bread,) = (thing for thing in things.by_id.values() if isinstance(thing, Task))
    noted = Ran("", put=(bread.model_copy(update={"note": "rye"}),))
    await deliver(redis, expects=(), effects=change_effects(OWNER, things, noted), pushes=())


@pytest.mark.parametrize(
    ("at", "meanwhile", "kept"),
    [
        pytest.param(0, milk_is_added, {("Bread", "", ""), ("Milk", "", "")}, id="makes one too"),
        pytest.param(1, bread_gets_a_note, {("Bread", "2026-04-07", "rye")}, id="changes the same one"),
    ],
)
async def test_what_somebody_changes_between_any_two_steps_is_not_lost(
    world: World, at: int, meanwhile: Callable[[RedisPort], Awaitable[None]], kept: set[Row]
) -> None:
    lines = begin(world, "shopping", "en")
    for line in lines[:at]:
        await world.hear(line)
        assert await world.turn()
    await world.hear(lines[at])
    old, done = await image(world.redis), 0
    for nth in count(1):
        await put_back(world.redis, old)

        async def at_nth(request: int, nth: int = nth) -> None:
            nonlocal done
            if request == nth:
                done = nth
                await meanwhile(world.redis)

        assert await world.turn(between=at_nth)

        if done < nth:
            break
        things = await load_things(world.redis, OWNER)
        tasks = [thing for thing in things.by_id.values() if isinstance(thing, Task)]
        assert {(one.title, one.due, one.note) for one in tasks} == kept
        assert len(tasks) == len(kept)
    assert done >= 7
