"""What the chain needs of a service, and one call of it under the clock."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from typing import Protocol

from llm.draft import Draft
from llm.errors import CallFailed
from llm.events import Heard, Text
from llm.failure import Failure
from llm.halt import Halt
from llm.patience import Patience
from llm.request import ModelRequest

type ShowText = Callable[[str], Awaitable[None]]
"""Gets the whole text of the current attempt, whenever it grew. It may begin anew: show it as a draft only."""


class Provider(Protocol):
    """One service. Made once, shared by all turns of a process."""

    def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Heard]:
        """One call, without retry and without a time limit for the answer; closing the generator ends the call.

        Raises: CallFailed: anything went wrong.
        """
        ...

    async def prepare(self) -> None:
        """Load what the first call needs, off the event loop."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


async def listen(
    events: AsyncGenerator[Heard],
    draft: Draft,
    patience: Patience,
    on_text: ShowText | None,
    halt: Halt | None = None,
) -> Failure | None:
    """Hear one call to its end into `draft`, or until `halt` is set. None: it ended as it should, or was halted."""
    timer = asyncio.timeout_at(patience.first(asyncio.get_running_loop().time()))
    halted = halt.calling(lambda: _end_now(timer)) if halt else nullcontext()
    failure: Failure | None = None
    try:
        async with timer, aclosing(events):
            with halted:
                await _hear(events, draft, _Until(timer, patience), on_text, halt)
    except CallFailed as error:
        failure = error.failure
    except TimeoutError:
        if not timer.expired():
            raise  # on_text's own
        failure = _late(draft, patience, timer)
    if _is_set(halt):
        draft.halt()
    if draft.ended or draft.halted:
        return None
    return failure or Failure("broken", "the stream ended without a stop reason")


@dataclass(frozen=True, slots=True)
class _Until:
    """The clock of one call."""

    timer: asyncio.Timeout
    patience: Patience

    def after(self, draft: Draft) -> None:
        """An event came: wait for the next."""
        now = asyncio.get_running_loop().time()
        self.timer.reschedule(
            self.patience.until(now, speaking=draft.speaking, ended=draft.ended, searching=draft.searching)
        )


async def _hear(
    events: AsyncGenerator[Heard],
    draft: Draft,
    until: _Until,
    on_text: ShowText | None,
    halt: Halt | None,
) -> None:
    async for heard in events:
        draft.hear(heard)
        if _is_set(halt):
            return
        until.after(draft)
        if on_text is not None and isinstance(heard, Text):
            await on_text(draft.text)


def _is_set(halt: Halt | None) -> bool:
    return halt is not None and halt.is_set()


def _end_now(timer: asyncio.Timeout) -> None:
    if not timer.expired():
        timer.reschedule(0.0)


def _late(draft: Draft, patience: Patience, timer: asyncio.Timeout) -> Failure:
    if (timer.when() or 0.0) >= patience.deadline_at:
        return Failure("deadline", "the time for this turn was up")
    return Failure("timeout", "stalled after text had begun" if draft.speaking else "no text in time")
