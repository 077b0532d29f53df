"""Who was let in."""

from typing import Literal

from schemas.wire import WireModel


class Person(WireModel):
    """One person with a role."""

    v: Literal[1] = 1
    user_id: str
    name: str = ""
    role: Literal["owner", "member", "blocked"] = "member"
    since_ms: int = 0
    language: str = ""
    chat_bot_id: str = ""
    """The bot through which this person was last known: where alerts to the owner go."""
