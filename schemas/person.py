"""Who was let in, and who asks to be."""

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from schemas.wire import WireModel


class Person(WireModel):
    """One person with a role."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 1
    """Written as 2 if the role is one that version 1 does not know."""
    user_id: str
    name: str = ""
    role: Literal["owner", "member", "guest", "blocked"] = "member"
    """Version 2: "guest"."""
    since_ms: int = 0
    language: str = ""
    chat_bot_id: str = ""
    """The bot through which this person was last known: where alerts to the owner go."""

    @model_validator(mode="after")
    def _named_by_its_version(self) -> Self:
        """Raises: ValueError: a guest in version 1, whom a process of the release before could not read."""
        if self.role == "guest" and self.v == 1:
            raise ValueError("a guest is written in version 2")
        return self


class Group(WireModel):
    """A group in which everybody may talk to the bots, or none whom the owner has not let in."""

    v: Literal[1] = 1
    chat_id: str
    title: str = ""
    role: Literal["approved", "blocked"] = "approved"
    """blocked: the owner does not want to be asked about it again."""
    since_ms: int = 0


class Knock(WireModel):
    """Somebody unknown asks to be let in, or wrote in a group that was never approved."""

    v: Literal[1] = 1
    code: str
    """By which the owner approves it."""
    kind: Literal["person", "group"] = "person"
    who: str
    """The person's id; of a group the chat's."""
    name: str = ""
    """Of the person, or the group's title."""
    bot_id: str
    """Which bot was written to; it tells them that they were let in."""
    language: str = ""
    until_ms: int
    """When the code is over, by koi's clock."""
