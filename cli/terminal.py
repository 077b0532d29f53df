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


class PipedLines:
    """Lines of standard input, which is a file or a pipe. Read by a thread that nobody has to wait for."""

    def __init__(self) -> None:
        self._lines = asyncio.Queue[str | None]()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True).start()

    def end(self) -> None:
        """No more lines."""
        self._lines.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        """Unbuffered: a thread that waits within a buffered reader would hold its lock at the end of the process."""
        rest = b""
        with suppress(RuntimeError):  # the loop ended before its input did
            while data := os.read(sys.stdin.fileno(), READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._hand_over(line)
            self._hand_over(rest)
            self._loop.call_soon_threadsafe(self.end)

    def _hand_over(self, line: bytes) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line.decode("utf-8", "replace"))
