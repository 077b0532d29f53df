"""SIGTERM, SIGINT and SIGHUP (the terminal was closed) ask to end; a second SIGINT ends at once."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager

from cli.faults import INTERRUPTED


@contextmanager
def stop_on_signals() -> Generator[asyncio.Event]:
    """Gives the event that is set by the first signal. For the main thread of a running loop."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGHUP, stop.set)
    loop.add_signal_handler(signal.SIGINT, _interrupted, stop)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.remove_signal_handler(number)


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
