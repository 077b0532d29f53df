"""What the chain needs of a service, and one call of it under the clock."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

from llm.draft import Draft
from llm.errors import CallFailed
from llm.events import Heard, Text
from llm.failure import Failure
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
    events: AsyncGenerator[Heard], draft: Draft, patience: Patience, on_text: ShowText | None
) -> Failure | None:
    """Hear one call to its end into `draft`. None: it ended as it should."""
    now = asyncio.get_running_loop().time
    timer = asyncio.timeout_at(patience.first(now()))
    failure: Failure | None = None
    try:
        async with timer, aclosing(events):
            async for heard in events:
                draft.hear(heard)
                timer.reschedule(
                    patience.until(
                        now(), speaking=draft.speaking, ended=draft.ended, searching=draft.searching
                    )
                )
                if on_text is not None and isinstance(heard, Text):
                    await on_text(draft.text)
    except CallFailed as error:
        failure = error.failure
    except TimeoutError:
        if not timer.expired():
            raise  # on_text's own
        failure = _late(draft, patience, timer)
    if draft.ended:
        return None
    return failure or Failure("broken", "the stream ended without a stop reason")


def _late(draft: Draft, patience: Patience, timer: asyncio.Timeout) -> Failure:
    if (timer.when() or 0.0) >= patience.deadline_at:
        return Failure("deadline", "the time for this turn was up")
    return Failure("timeout", "stalled after text had begun" if draft.speaking else "no text in time")
