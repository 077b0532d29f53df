"""How whoever asks a model ends the answer before the model does."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Halt(asyncio.Event):
    """Set once, from the loop that asks. Who hears a model is called back at once, without a task that waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self._called: list[Callable[[], None]] = []

    def set(self) -> None:
        """From now on nothing is asked any more, and what is heard ends."""
        super().set()
        for call in self._called:
            call()

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Generator[None]:
        """`call` is called when it is set, as long as the block lasts; at once, if it was set before."""
        self._called.append(call)
        if self.is_set():
            call()
        try:
            yield
        finally:
            self._called.remove(call)

    async def pause(self, seconds: float) -> None:
        """Sleep, but not longer than until it is set."""
        try:
            async with asyncio.timeout(seconds):
                await self.wait()
        except TimeoutError:
            pass
