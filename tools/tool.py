"""What a tool is, what it is given, and what comes of a call. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from infra.effect import Effect
from schemas.things import Fact, Thing


class Refused(Exception):
    """The call cannot be done as it is: one sentence for the model, that says what is wrong and what to do."""


class Arguments(BaseModel):
    """Base of every tool's arguments; what the model leaves out has a default. Descriptions go to the model: a few words."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


@dataclass(frozen=True, slots=True)
class Here:
    """For whom, where and when a tool is called."""

    owner: str
    """Whose things: InboundMessage.owner."""
    lane: str
    language: str
    zone: ZoneInfo
    """The person's."""
    now_ms: int
    """By koi's clock."""
    project: str = ""
    private: bool = True
    """False: in a group."""


@dataclass(frozen=True, slots=True)
class Things:
    """Everything an owner has, as it was read at one moment."""

    version: int = 0
    """Counts changes; the next new thing is numbered `version + 1`."""
    by_id: Mapping[str, Thing] = field(default_factory=dict[str, Thing])
    """In the order they were made."""
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    """In the order they were learned."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a call comes to. What it changes is applied together with its result, or not at all."""

    text: str
    """For the model: compact JSON, or a sentence."""
    put: tuple[Thing | Fact, ...] = ()
    """Stored under their ids, replacing what is there; a new one has an id made by `new_id`."""
    drop: tuple[str, ...] = ()
    """Ids that are deleted."""
    effects: tuple[Effect, ...] = ()
    """What else changes in the same step (when a reminder fires)."""
    then: Literal["go_on", "ask", "end"] = "go_on"
    """ask: the turn ends with `question`. end: the conversation is over after this answer."""
    question: str = ""
    options: tuple[str, ...] = ()


type Run[A: Arguments] = Callable[[A, Here, Things], Ran]
"""Raises: Refused."""


@dataclass(frozen=True, slots=True)
class Tool[A: Arguments]:
    """One tool of koi's own."""

    name: str
    description: str
    """For the model: when to use it, in a sentence or two; every word is paid in every turn."""
    arguments: type[A]
    run: Run[A]
    changes: bool = True
    """It makes or changes something: with `tools.confirm` the person is shown it first."""
    preview: Callable[[A, Here, Things], str] | None = None
    """What would be done, as a person reads it, in one or a few lines of their language (only if `changes`).
    Raises: Refused, as `run` would: what cannot be done is not shown.
    """


def new_id(letter: str, things: Things, *, nth: int = 1) -> str:
    """ "t17". nth: of the new things of one call, counted from 1."""
    return f"{letter}{things.version + nth}"
