"""Buttons of a reply in the terminal: nothing to tap, so each shows the command that does the same. Pure."""

from rich.text import Text

from infra.clean import clean
from schemas.reply import Reply

BETWEEN = "   "
PICK, ANSWERS = "pick", frozenset({"pick", "confirm", "change"})
"""Commands of the buttons that answer an open question (workers.pending)."""


def button_lines(reply: Reply) -> list[Text]:
    """One dim line per row: `[Fresh start: /new]   [Strong model: /model strong]`."""
    rows = (
        BETWEEN.join(f"[{clean(button.text)}: {clean(button.command)}]" for button in row)
        for row in reply.buttons
    )
    return [Text(row, "dim") for row in rows if row]


def choice_lines(reply: Reply) -> list[str]:
    """How an open question is answered by typing, a line per button: "1) Bread", "Confirm: /confirm 1a2b3c4d". Other buttons
    have none: they only spare typing.
    """
    buttons = [button for row in reply.buttons for button in row if _name(button.command) in ANSWERS]
    return [
        f"{number}) {clean(button.text)}"
        if _name(button.command) == PICK
        else f"{clean(button.text)}: {clean(button.command)}"
        for number, button in enumerate(buttons, 1)
    ]


def _name(command: str) -> str:
    return command.removeprefix("/").partition(" ")[0]
