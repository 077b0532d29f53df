"""What a turn has written so far, on its way to whoever shows it. May be lost."""

from typing import Literal

from schemas.wire import WireModel


class TurnDraft(WireModel):
    """The newest replaces those before it."""

    v: Literal[1] = 1
    turn_id: str
    chat_id: str
    topic_id: int = 0
    text: str = ""
    """Of the answer, from its beginning; at most 4,000 UTF-16 units."""
    over: bool = False
    """Nothing more comes of this turn."""
