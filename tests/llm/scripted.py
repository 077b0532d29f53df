"""A provider without a network, and a loop whose clock jumps over every wait: hours pass in no time."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from heapq import heappop
from typing import Any

from llm.candidates import Candidate, Service
from llm.chain import Chain
from llm.errors import CallFailed
from llm.events import Finished, Heard, Stopped, Text, Used, Working
from llm.failure import Failure
from llm.provider import ShowText
from llm.request import CallEnded, Completion, Message, ModelRequest, Usage

SERVICE = Service("compatible", "http://127.0.0.1:1")
HELLO = ModelRequest("Be kind.", (Message("user", "Hello"),), max_tokens=100)
USED = Used(Usage(10, 0, 0, 5))
OVERLOADED = Failure("overloaded", "HTTP 529")

type Step = Heard | Failure | float
"""What is heard, what is raised, or seconds of silence."""


def says(text: str, stop_reason: str = "end_turn") -> tuple[Step, ...]:
    """A whole answer."""
    return (USED, *(Text(word) for word in text.split(" ")), Stopped(stop_reason), Finished())


def silent(seconds: float) -> tuple[Step, ...]:
    """A model that accepts the request and then says nothing."""
    return (USED, seconds)


def thinking(seconds: int) -> tuple[Step, ...]:
    """One thought a second, and no text."""
    return tuple(step for _ in range(seconds) for step in (1.0, Working()))


@dataclass
class ScriptedProvider:
    """Plays one script per call; the last one for ever."""

    scripts: Sequence[Sequence[Step]]
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    prepared: int = 0
    closed: int = 0

    async def prepare(self) -> None:
        self.prepared += 1

    async def aclose(self) -> None:
        self.closed += 1

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Heard]:
        self.requests.append(request)
        for step in self.scripts[min(len(self.requests), len(self.scripts)) - 1]:
            match step:
                case Failure():
                    raise CallFailed(step)
                case float() | int():
                    await asyncio.sleep(step)
                case _:
                    yield step


@dataclass
class Asking:
    """A chain of models "a", "b", "c" with these scripts, and what came of asking it."""

    providers: list[ScriptedProvider]
    chance: float = 0.0
    recorded: list[CallEnded] = field(default_factory=list[CallEnded])
    on_text: ShowText | None = None
    took_s: float = -1.0

    def chain(self) -> Chain:
        ids = iter(range(1000))
        links = [
            (Candidate(SERVICE, model), provider)
            for model, provider in zip("abc", self.providers, strict=False)
        ]
        return Chain(links, chance=lambda: self.chance, new_id=lambda: f"call-{next(ids)}")

    async def ask(self, request: ModelRequest = HELLO, *, deadline_s: float = 120.0) -> Completion:
        now = asyncio.get_running_loop().time
        started = now()
        try:
            return await self.chain().complete(
                request, deadline_at=started + deadline_s, on_call=self.record, on_text=self.on_text
            )
        finally:
            self.took_s = now() - started

    async def record(self, ended: CallEnded) -> None:
        self.recorded.append(ended)

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(ended.model, ended.outcome) for ended in self.recorded]


def asking(*scripts: Sequence[Sequence[Step]], chance: float = 0.0) -> Asking:
    """One argument per model: its scripts, call by call."""
    return Asking([ScriptedProvider(each) for each in scripts], chance)


class JumpingLoop(asyncio.SelectorEventLoop):
    """When nothing is ready, the clock jumps to the next timer. For code without I/O."""

    _ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self._ahead_s

    def _run_once(self) -> None:
        inner: Any = self
        while (
            inner._scheduled and inner._scheduled[0].cancelled()
        ):  # or it would jump there and really wait the rest
            heappop(inner._scheduled)._scheduled = False
            inner._timer_cancelled_count -= 1
        if not inner._ready and inner._scheduled:
            self._ahead_s += max(0.0, inner._scheduled[0].when() - self.time())
        step: Callable[[], None] = super()._run_once  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
        step()


def jumping[T](main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a clock that jumps."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(main)
