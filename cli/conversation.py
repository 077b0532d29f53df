"""`koi chat` with a keyboard: write at the bottom, read above; answers come whenever they come."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Group
from rich.text import Text

from cli.buttons import button_lines
from cli.keyboard import Key, Pressed, Typed
from cli.line import Line
from cli.markdown import rendered
from cli.room import Room
from cli.screen import PROMPT, Screen, shortened, spoken
from cli.terminal import pressed_keys, raw_mode
from cli.texts import say
from schemas.inbound import InboundMessage
from schemas.reply import Reply

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_S = 0.1
EMPTY = Line()
LAST_SEND_S = 2.0
"""For what was typed just before the end, if the store is away."""


@dataclass
class Conversation:
    """One window. It sets `stop` when the person leaves."""

    room: Room
    screen: Screen
    stop: asyncio.Event
    line: Line = EMPTY
    waiting: dict[str, float] = field(default_factory=dict[str, float])
    """Ids of messages without an answer yet, oldest first → when they were sent, monotonic seconds."""
    sent: list[str] = field(default_factory=list[str])
    recalled: int = 0
    """Which earlier message the arrow keys show, counted from the newest; 0 for none."""
    leaving: bool = False
    """Ctrl-D was pressed: the answers on their way are waited for."""
    unsent: dict[str, InboundMessage] = field(default_factory=dict[str, InboundMessage])
    """Not in the store yet, oldest first."""
    typed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when something is unsent."""

    async def run(self, keyboard: TextIO) -> None:
        """Until `stop`."""
        with raw_mode(keyboard, self.screen.console.file):
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(part)
                    for part in (self._listen(), self._send(), self._animate(), self._type(keyboard))
                ]
                await self.stop.wait()
                for task in tasks:
                    task.cancel()
            self.screen.erase()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SEND_S):
                await self._send_all()

    # ── the four parts ───────────────────────────────────────────────────────────────────────────────────────────
    async def _type(self, keyboard: TextIO) -> None:
        self._draw()
        async for key in pressed_keys(keyboard):
            self.take(key)
            self._draw()
        self.stop.set()

    async def _send(self) -> None:
        while True:
            await self.typed.wait()
            self.typed.clear()
            await self._send_all()

    async def _send_all(self) -> None:
        """A message is sent again if it is not known to be stored: a repeat changes nothing."""
        while self.unsent:
            message = next(iter(self.unsent.values()))
            await self.room.send(message)
            del self.unsent[message.id]

    async def _listen(self) -> None:
        async for reply in self.room.replies:
            self.hear(reply)

    async def _animate(self) -> None:
        while True:
            await asyncio.sleep(FRAME_S)
            if self.waiting:
                self._draw()

    # ── what they do ─────────────────────────────────────────────────────────────────────────────────────────────
    def take(self, key: Key) -> None:
        """One key: it changes the line, sends it, or ends the conversation."""
        if key == Pressed("interrupt"):
            self.room.leave_now = bool(self.waiting)
            self.stop.set()
        elif not self.leaving:
            self._take(key)

    def _take(self, key: Key) -> None:
        match key:
            case Typed(text):
                self.line = self.line.typed(text)
            case Pressed("enter"):
                self._enter()
            case Pressed("up" | "down" as direction):
                self._recall(1 if direction == "up" else -1)
            case Pressed("end_of_input") if not self.line.text:
                self.leaving = True
                self._leave_if_answered()
            case Pressed("end_of_input"):
                self.line = self.line.pressed("delete")
            case Pressed(name):
                self.line = self.line.pressed(name)

    def hear(self, reply: Reply) -> None:
        """Show a reply. It also ends the wait for what was sent before: a lane answers in order."""
        asked = [message_id for message_id in self.waiting if message_id in reply.answers]
        self._show(reply, asked_here=bool(asked))
        while asked and asked[-1] in self.waiting:
            del self.waiting[next(iter(self.waiting))]
        self._leave_if_answered()
        self._draw()

    def _enter(self) -> None:
        text, self.line, self.recalled = self.line.text, EMPTY, 0
        if not text.strip():
            return
        self.sent.append(text)
        message = self.room.message(text)
        self.waiting[message.id] = time.monotonic()
        self.unsent[message.id] = message
        self.typed.set()
        self.screen.above(spoken(PROMPT.strip(), "bold", shortened(text)))

    def _recall(self, step: int) -> None:
        self.recalled = max(0, min(len(self.sent), self.recalled + step))
        text = self.sent[-self.recalled] if self.recalled else ""
        self.line = Line(text, len(text))

    def _show(self, reply: Reply, *, asked_here: bool) -> None:
        style = "bold yellow" if reply.failed else "bold cyan"
        notes = (
            ()
            if asked_here
            else (Text(say(self.room.seat.language, "(asked earlier, or elsewhere)"), "dim"),)
        )
        said = Group(rendered(reply), *button_lines(reply))
        self.screen.above(*notes, spoken(self.room.seat.bot, style, said), "")

    def _leave_if_answered(self) -> None:
        if self.leaving and not self.waiting:
            self.stop.set()

    def _draw(self) -> None:
        if not self.stop.is_set():
            self.screen.draw(self.line, self._status())

    def _status(self) -> str:
        if not self.waiting:
            return ""
        now, since = time.monotonic(), next(iter(self.waiting.values()))
        frame = FRAMES[int(now / FRAME_S) % len(FRAMES)]
        if self.leaving:
            return f"{frame} " + say(self.room.seat.language, "waiting for the answer; Ctrl-C leaves now")
        return f"{frame} " + say(self.room.seat.language, "thinking… {seconds} s", seconds=int(now - since))
