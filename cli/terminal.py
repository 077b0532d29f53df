"""The keyboard side of the terminal: keys as they are pressed, or lines of a file or pipe."""

import asyncio
import os
import sys
import termios
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from typing import IO, TextIO

from cli.keyboard import Key, Keyboard, Pressed

READ_BYTES = 65_536
PASTE_ON, PASTE_OFF = b"\x1b[?2004h", b"\x1b[?2004l"
END = Pressed("end_of_input")


@contextmanager
def raw_mode(keyboard: TextIO, screen: IO[str]) -> Generator[None]:
    """Keys come one by one, unechoed (a line may be longer than the 4,096 bytes that a terminal edits by itself)."""
    before = termios.tcgetattr(keyboard)
    mode = termios.tcgetattr(keyboard)
    mode[0] &= ~termios.IXON
    mode[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
    mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
    termios.tcsetattr(keyboard, termios.TCSADRAIN, mode)
    os.write(screen.fileno(), PASTE_ON)
    try:
        yield
    finally:
        with suppress(OSError, termios.error):  # the window may be closed
            os.write(screen.fileno(), PASTE_OFF)
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


async def pressed_keys(keyboard: TextIO) -> AsyncIterator[Key]:
    """Every key, in raw mode; ends with END when the terminal is gone."""
    loop, chunks = asyncio.get_running_loop(), asyncio.Queue[bytes]()
    fd, keys = keyboard.fileno(), Keyboard()
    loop.add_reader(fd, lambda: chunks.put_nowait(_read(fd)))
    try:
        while data := await chunks.get():
            for key in keys.feed(data):
                yield key
        yield END
    finally:
        loop.remove_reader(fd)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ_BYTES)
    except OSError:  # the other side of the terminal was closed
        return b""


async def piped_lines() -> AsyncIterator[str]:
    """Lines of standard input, which is a file or a pipe. Read by a thread that nobody has to wait for."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def read() -> None:
        for raw in sys.stdin.buffer:
            loop.call_soon_threadsafe(lines.put_nowait, raw.decode("utf-8", "replace"))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line
