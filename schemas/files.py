"""A file that a turn asks the bot for, and what the bot hands back."""

from typing import Literal

from schemas.wire import WireModel


class FileRequest(WireModel):
    """Pushed by the turn, again and again until it is answered. Holds ids only."""

    v: Literal[1] = 1
    turn_id: str
    file_id: str
    """As Telegram gave it to this bot."""
    unique_id: str
    """What the answer is filed under, with the turn."""
    max_bytes: int
    """More than that is not handed over."""


class FileAnswer(WireModel):
    """Stands before the bytes, with a line end between them. All fields at their defaults: here they are."""

    v: Literal[1] = 1
    mime: str = ""
    """As the bot guesses it from the name that Telegram gave the file; "": no idea."""
    too_big_bytes: int = 0
    """It has so many, or at least so many."""
    not_there: str = ""
    """Why Telegram does not hand it out, for the log."""
