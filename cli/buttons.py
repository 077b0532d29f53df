"""Buttons of a reply in the terminal: nothing to tap, so each shows the command that does the same. Pure."""

from rich.text import Text

from infra.clean import clean
from schemas.reply import Reply

BETWEEN = "   "


def button_lines(reply: Reply) -> list[Text]:
    """One dim line per row: `[Fresh start: /new]   [Strong model: /model strong]`."""
    rows = (
        BETWEEN.join(f"[{clean(button.text)}: {clean(button.command)}]" for button in row)
        for row in reply.buttons
    )
    return [Text(row, "dim") for row in rows if row]
