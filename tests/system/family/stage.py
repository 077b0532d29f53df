"""Where the day is played: real processes of koi, a Telegram and a model that wait when they are told to."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from infra.redis_port import RedisPort
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Call, Fault, Json
from tests.system import koi
from tests.system.family.calls import UNHURRIED, Expected, counted, hurried
from tests.system.koi import until
from tests.system.stack import Process

STRAGGLERS_S = 15.0
"""For calls that nothing else tells of, when all lanes are empty."""
STEP_S = 7
"""Between two steps, by Telegram's clock: who writes twelve messages in a minute writes too many."""
BEGAN_S = 360
"""So long ago the day began: late enough for koi not to apologise for having been away."""

BOTS = 2

type Action = Callable[["Stage"], Awaitable[None]]


class FamilyTelegram(FakeTelegram):
    """Knows what each bot wrote last in each chat."""

    def reset(self) -> None:
        super().reset()
        self.written: dict[tuple[str, int], Json] = {}

    def _message_sent(self, call: Call, content: Json) -> Json:
        sent = super()._message_sent(call, content)
        author = {"id": int(call.bot_id), "is_bot": True, "first_name": f"Bot {call.bot_id}"}
        self.written[call.bot_id, int(call.fields["chat_id"])] = {**sent, "from": author}
        return sent


class FamilyModel(ModelServer):
    """Answers nobody while it is told to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()

    async def _answer(self, request: web.Request, answer: Answer, body: dict[str, Any]) -> web.StreamResponse:
        await self.open.wait()
        return await super()._answer(request, answer, body)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens, and all calls that it causes."""

    title: str
    actions: tuple[Action, ...]
    calls: tuple[Expected, ...]


def step(title: str, *parts: Action | Expected | Sequence[Expected]) -> Step:
    """What happens, in order, and what is expected of it."""
    calls = list[Expected]()
    for part in parts:
        if isinstance(part, Expected):
            calls.append(part)
        elif isinstance(part, Sequence):
            calls += part
    actions = [part for part in parts if not isinstance(part, Expected | Sequence)]
    return Step(title, tuple(actions), tuple(calls))


@dataclass
class Stage:
    redis: RedisPort
    telegram: FamilyTelegram
    model: FamilyModel
    bots: Process
    worker: Process
    now_s: int = field(init=False)
    """By Telegram's clock, which is the script's."""
    next_number: int = 10_000
    """Of the next message of a person."""
    mark: int = 0
    """Calls before this step."""
    asked: int = 0
    """Requests to the model before this step."""
    updates: int = 0
    trouble: str = ""
    """Why the day ended early."""
    ended: list[int] = field(default_factory=list[int])
    """After each step that was played: how many calls there were by then."""

    def __post_init__(self) -> None:
        self.now_s = int(self.telegram.now()) // 60 * 60 - BEGAN_S

    async def play(self, steps: Sequence[Step]) -> None:
        """To the first step that does not cause all its calls: the rest would tell nothing."""
        for one in steps:
            await self._play(one)
            self.mark = len(self.telegram.calls)
            self.ended.append(self.mark)
            self.now_s += STEP_S
            if self.trouble:
                return
        unhurried = sum(call.method in UNHURRIED for one in steps for call in one.calls)
        await self._have(lambda: sum(c.method in UNHURRIED for c in self.telegram.calls) >= unhurried)

    async def _play(self, one: Step) -> None:
        self.asked = len(self.model.requests)
        due = len(hurried(one.calls))
        try:
            for action in one.actions:
                await action(self)
            await self.taken()
            await until(self._idle, what="the end of all lanes")
            await self._have(lambda: len(self.seen()) >= due and all(call.status for call in self.seen()))
            await until(self._idle, what="the end of all lanes")  # also of what was sent last
        except AssertionError as error:
            self.trouble = str(error)

    async def _have(self, all_calls: Callable[[], bool]) -> None:
        """Wait, but not for ever: when all lanes are empty not much can come any more."""
        try:
            async with asyncio.timeout(STRAGGLERS_S):
                while not all_calls():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            self.trouble = "calls are missing"

    async def _idle(self) -> bool:
        return await koi.all_done(self.redis)

    def seen(self) -> list[Call]:
        """Calls of this step that count and come at once."""
        return hurried(counted(self.telegram.calls[self.mark :]))

    async def taken(self) -> None:
        """Nothing waits with Telegram any more."""
        await until(lambda: not any(bot.updates for bot in self.telegram.bots.values()), what="the bots")

    def feed(self, bot_id: str, update: Json) -> None:
        self.updates += 1
        self.telegram.feed(bot_id, update)

    def number(self) -> int:
        self.next_number += 1
        return self.next_number

    async def pairing_code(self) -> str:
        """As the console shows it."""
        found = list[str]()

        def look() -> bool:
            found[:] = re.findall(r"the code (\w{8}) to make it yours", self.bots.log.read_text("utf-8"))
            return bool(found)

        await until(look, what="the pairing code")
        return found[0]


# ── what happens beside people's doings ──────────────────────────────────────────────────────────────────────────
async def bots_are_started(stage: Stage) -> None:
    def polling() -> set[str]:
        return {call.bot_id for call in stage.telegram.calls if call.method == "getUpdates"}

    await until(lambda: len(polling()) == BOTS, what="two bots")


async def model_waits(stage: Stage) -> None:
    """From now on it answers nobody."""
    stage.model.open.clear()


async def model_answers(stage: Stage) -> None:
    """Everybody who waits, too."""
    stage.model.open.set()


def model_is_asked(times: int = 1) -> Action:
    """So often in this step, by now."""

    async def wait(stage: Stage) -> None:
        await until(lambda: len(stage.model.requests) >= stage.asked + times, what="a question to the model")

    return wait


def calls_are_made(calls: int) -> Action:
    """So many in this step, by now; the last one may still run."""

    async def wait(stage: Stage) -> None:
        await until(lambda: len(stage.seen()) >= calls, what="a call")

    return wait


async def all_is_taken(stage: Stage) -> None:
    """The bots have stored what was written."""
    await stage.taken()


async def a_draft_is_shown(stage: Stage) -> None:
    await until(lambda: drafts(stage.telegram.calls[stage.mark :]), what="a draft")


async def worker_is_killed(stage: Stage) -> None:
    """kill −9; another one is started."""
    koi.kill(stage.worker)
    koi.start(stage.worker)


async def a_new_minute(stage: Stage) -> None:
    """Begins by Telegram's clock."""
    stage.now_s = (stage.now_s // 60 + 1) * 60


def telegram_fails(fault: Fault) -> Action:
    async def fail(stage: Stage) -> None:
        stage.telegram.fault(replace(fault))  # it counts down

    return fail


def drafts(calls: Iterable[Call]) -> list[Call]:
    return [call for call in calls if call.method == "sendMessageDraft"]
