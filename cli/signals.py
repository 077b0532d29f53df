"""SIGTERM and SIGINT ask to end, and a second SIGINT ends at once; so does SIGHUP, when it means that the terminal was
closed. To a process without a terminal it means by custom that its settings were changed.
"""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from cli.faults import INTERRUPTED


@contextmanager
def stop_on_signals(reload: Callable[[], None] | None = None) -> Generator[asyncio.Event]:
    """Gives the event that is set by the first signal. For the main thread of a running loop.

    reload: what SIGHUP does instead where there is no terminal; None: it always ends.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    hung_up = stop.set if reload is None or _has_terminal() else reload
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGHUP, hung_up)
    loop.add_signal_handler(signal.SIGINT, _interrupted, stop)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.remove_signal_handler(number)


def _has_terminal() -> bool:
    """Whether there is one to be closed, whatever our input and output are."""
    try:
        with Path("/dev/tty").open("rb"):
            return True
    except OSError:
        return False


def _interrupted(stop: asyncio.Event) -> None:
    if stop.is_set():
        raise SystemExit(INTERRUPTED)
    stop.set()


async def passed(stop: asyncio.Event, seconds: float) -> bool:
    """Wait, but not beyond stop; True if it was set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return False
    return True
