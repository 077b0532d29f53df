"""What goes back to a chat, as a worker hands it to the sender."""

from operator import not_
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from schemas.wire import WireModel


class Button(WireModel):
    """A button under a reply: whoever taps it sends the command, as if they had typed it."""

    text: str
    command: str
    """"/new", "/model strong": at most 64 bytes of UTF-8 (Bot API, callback_data)."""


class Reply(WireModel):
    """One answer. The sender splits it into parts that fit."""

    newest: ClassVar[int] = 3
    v: Literal[1, 2, 3] = 2
    """Written as 3 if it is rich."""
    id: str
    """`{turn_id}` plus what the reply is, e.g. "9f…:answer"; unique."""
    bot_id: str
    chat_id: str
    topic_id: int = 0
    text: str
    """Markdown as models write it, or plain text if `plain`."""
    plain: bool = False
    answers: tuple[str, ...] = ()
    """Ids of the InboundMessages that this answers."""
    owner: str = ""
    """The memory owner the text belongs to (InboundMessage.owner)."""
    language: str = "en"
    failed: bool = False
    """The text says that no answer could be given."""
    buttons: tuple[tuple[Button, ...], ...] = ()
    """Rows of buttons under the last part."""
    rich: bool = Field(default=False, exclude_if=not_)
    """Version 3. Its chat wants rich messages where they show more (bot.rich)."""

    @model_validator(mode="after")
    def _named_by_its_version(self) -> Self:
        """Raises: ValueError: rich in a version that a process of the release before takes for its own."""
        if self.rich and self.v < 3:
            raise ValueError("a rich reply is written in version 3")
        return self

    @property
    def lane(self) -> str:
        """`bot:chat:topic`; parts of a lane leave in order."""
        return f"{self.bot_id}:{self.chat_id}:{self.topic_id}"
