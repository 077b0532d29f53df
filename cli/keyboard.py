"""Bytes of a terminal → keys. Pure: feed it what arrives, also half a character or half a sequence."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[A-Za-z]|[^\[O])")
UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*|O)?\Z")

NAMES = {
    "\r": "enter", "\n": "enter", "\x03": "interrupt", "\x04": "end_of_input",
    "\x7f": "backspace", "\x08": "backspace", "\x01": "home", "\x05": "end", "\x02": "left", "\x06": "right",
    "\x0b": "cut_to_end", "\x15": "cut_to_start", "\x17": "cut_word", "\x10": "up", "\x0e": "down", "\x0c": "redraw",
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left",
    "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left",
    "\x1b[H": "home", "\x1b[F": "end", "\x1bOH": "home", "\x1bOF": "end", "\x1b[1~": "home", "\x1b[4~": "end",
    "\x1b[3~": "delete", "\x1b[1;5D": "word_left", "\x1bb": "word_left", "\x1b\x7f": "cut_word",
}  # fmt: skip
TYPED = {"\x1b\r": "\n", "\x1b\n": "\n", "\t": "\t"}
"""Alt-Enter begins a new line within the message."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Text for the line."""

    text: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """A key with a name."""

    name: str


type Key = Typed | Pressed


@dataclass
class Keyboard:
    """Remembers what is not complete yet."""

    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    _rest: str = ""

    def feed(self, data: bytes) -> list[Key]:
        """The keys that are complete now, in order; what is pasted is one piece of text."""
        self._rest += self._decoder.decode(data)
        return list(self._keys())

    def _keys(self) -> Iterator[Key]:
        while self._rest:
            if self._rest.startswith(PASTE_BEGINS):
                pasted, end, rest = self._rest[len(PASTE_BEGINS) :].partition(PASTE_ENDS)
                if not end:
                    return
                self._rest = rest
                yield Typed(pasted.replace("\r\n", "\n").replace("\r", "\n"))
            elif self._rest[0] == "\x1b":
                found = SEQUENCE.match(self._rest)
                if found is None or PASTE_BEGINS.startswith(self._rest):
                    if UNFINISHED.match(self._rest) is None:
                        self._rest = self._rest[1:]
                        continue
                    return
                self._rest = self._rest[found.end() :]
                yield from _key(found[0])
            else:
                yield from self._plain()

    def _plain(self) -> Iterator[Key]:
        """Everything up to the next control character, or that character."""
        length = next(
            (i for i, char in enumerate(self._rest) if char < " " or char == "\x7f"), len(self._rest)
        )
        if length:
            yield Typed(self._rest[:length])
        else:
            length = 1
            yield from _key(self._rest[0])
        self._rest = self._rest[length:]


def _key(code: str) -> Iterator[Key]:
    """Nothing for a key that means nothing here."""
    if code in TYPED:
        yield Typed(TYPED[code])
    elif code in NAMES:
        yield Pressed(NAMES[code])
