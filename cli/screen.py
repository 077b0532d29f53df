"""The screen side of the terminal: what was said scrolls up, the line being typed stays at the bottom."""

from contextlib import suppress

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from cli.line import Line, view

PROMPT = "› "
INPUT_ROWS = 8
LABEL_COLUMNS = 16
SAID_CHARS = 2_000
"""Of what the person sent, shown again above."""


class Screen:
    """Draws with plain ANSI sequences; knows how many rows it has drawn."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._rows_above_cursor: int | None = None

    def draw(self, line: Line, status: str) -> None:
        """The line with its cursor, and one dim row above it if there is a status."""
        width, height = self.console.size
        seen = view(line, prompt=PROMPT, width=width, height=max(1, min(INPUT_ROWS, height - 2)))
        head = [f"\x1b[2m{status[: width - 1]}\x1b[0m"] if status else []
        rows = [*head, *seen.rows]
        row = len(head) + seen.row
        up = len(rows) - 1 - row
        move = (f"\x1b[{up}A" if up else "") + "\r" + (f"\x1b[{seen.column}C" if seen.column else "")
        self._write(self._erasure() + "\r\n".join(rows) + move)
        self._rows_above_cursor = row

    def above(self, *things: RenderableType) -> None:
        """Print where the conversation is; the next `draw` puts the line below it again."""
        self.erase()
        with suppress(OSError):
            for thing in things:
                self.console.print(thing)

    def erase(self) -> None:
        """Take the line away."""
        self._write(self._erasure())
        self._rows_above_cursor = None

    def _erasure(self) -> str:
        if self._rows_above_cursor is None:
            return ""
        up = f"\x1b[{self._rows_above_cursor}A" if self._rows_above_cursor else ""
        return f"{up}\r\x1b[J"

    def _write(self, text: str) -> None:
        with suppress(OSError):  # the window may be closed
            self.console.file.write(text)
            self.console.file.flush()


def spoken(label: str, style: str, content: RenderableType) -> RenderableType:
    """A label in the margin, what was said beside it."""
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(no_wrap=True, max_width=LABEL_COLUMNS, style=style)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(label, content)
    return grid


def shortened(text: str) -> Text:
    """What the person sent, as it came; of a very long one the beginning."""
    if len(text) <= SAID_CHARS:
        return Text(text)
    return Text.assemble(text[:SAID_CHARS], (f"… ({len(text):,})", "dim"))
