"""The buttons under a reply, as Telegram takes them. Pure."""

from collections.abc import Sequence

from bot.api import Json
from bot.split import visible
from schemas.reply import Button

DATA_BYTES = 64
"""Of a command, UTF-8 (Bot API, InlineKeyboardButton.callback_data)."""

type Keyboard = tuple[tuple[Json, ...], ...]


def keyboard(rows: Sequence[Sequence[Button]]) -> Keyboard:
    """Rows of InlineKeyboardButtons; what Telegram would refuse is left out."""
    fitting = (tuple(_telegram(button) for button in row if _fits(button)) for row in rows)
    return tuple(row for row in fitting if row)


def _fits(button: Button) -> bool:
    return visible(button.text) and 1 < len(button.command.encode()) <= DATA_BYTES


def _telegram(button: Button) -> Json:
    return {"text": button.text, "callback_data": button.command}
