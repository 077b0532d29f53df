"""A line being typed in the terminal, as a value: what each key does to it, and how it looks. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import regex
from rich.cells import cell_len

GRAPHEME = regex.compile(r"\X")
WORD_BEFORE = re.compile(r"\S*\s*\Z")
SEEN_BEFORE, SEEN_AFTER = 2000, 500
"""Characters around the cursor that are looked at for drawing: more than any screen holds, little to compute."""


@dataclass(frozen=True, slots=True)
class Line:
    """Text and cursor (0…len(text)); always between graphemes."""

    text: str = ""
    cursor: int = 0

    def typed(self, text: str) -> "Line":
        """The same with `text` put in at the cursor."""
        return Line(self.text[: self.cursor] + text + self.text[self.cursor :], self.cursor + len(text))

    def pressed(self, key: str) -> "Line":
        """After an editing key (a name of KEYS); the same for any other."""
        change = KEYS.get(key)
        return change(self) if change else self


def _back(line: Line) -> Line:
    return replace(line, cursor=line.cursor - len(_last_grapheme(line.text[: line.cursor])))


def _forth(line: Line) -> Line:
    found = GRAPHEME.match(line.text, line.cursor)
    return replace(line, cursor=found.end()) if found else line


def _last_grapheme(text: str) -> str:
    graphemes = GRAPHEME.findall(text[-64:])  # no grapheme that people type is longer
    return graphemes[-1] if graphemes else ""


def _to_start(line: Line) -> Line:
    return replace(line, cursor=0)


def _to_end(line: Line) -> Line:
    return replace(line, cursor=len(line.text))


def _word_back(line: Line) -> Line:
    before = line.text[: line.cursor]
    return replace(line, cursor=len(WORD_BEFORE.sub("", before, count=1)))


def _cut(to: Callable[[Line], Line], line: Line) -> Line:
    """Without what lies between the cursor and where `to` would move it."""
    start, end = sorted((line.cursor, to(line).cursor))
    return Line(line.text[:start] + line.text[end:], start)


KEYS: Mapping[str, Callable[[Line], Line]] = {
    "left": _back,
    "right": _forth,
    "home": _to_start,
    "end": _to_end,
    "word_left": _word_back,
    "backspace": partial(_cut, _back),
    "delete": partial(_cut, _forth),
    "cut_word": partial(_cut, _word_back),
    "cut_to_start": partial(_cut, _to_start),
    "cut_to_end": partial(_cut, _to_end),
}


@dataclass(frozen=True, slots=True)
class View:
    """Rows of a terminal, and where the cursor stands in them (row, column)."""

    rows: tuple[str, ...]
    row: int
    column: int


def view(line: Line, *, prompt: str, width: int, height: int) -> View:
    """The line wrapped to `width` columns behind its prompt; of a longer one the `height` rows around the cursor."""
    start = max(0, line.cursor - SEEN_BEFORE)
    before = line.text[start : line.cursor]
    after = line.text[line.cursor : line.cursor + SEEN_AFTER]
    indent = " " * cell_len(prompt)
    rows, column = [prompt if start == 0 else indent], cell_len(prompt)
    place = (0, column)
    for text, is_before in ((before, True), (after, False)):
        for grapheme in GRAPHEME.findall(text):
            shown = _shown(grapheme)
            if grapheme in {"\n", "\r\n"} or column + cell_len(shown) >= width:
                rows.append(indent)
                column = len(indent)
            rows[-1] += shown
            column += cell_len(shown)
        if is_before:
            place = (len(rows) - 1, column)
    first = max(0, min(place[0] - height // 2, len(rows) - height))
    return View(tuple(rows[first : first + height]), place[0] - first, place[1])


def _shown(grapheme: str) -> str:
    """How it is drawn: what would move the cursor is not."""
    if grapheme in {"\n", "\r\n"}:
        return ""
    if grapheme == "\t":
        return "  "
    return grapheme if grapheme.isprintable() or len(grapheme) > 1 else "·"
