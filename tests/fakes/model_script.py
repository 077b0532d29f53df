"""What the fake model server can be told to do with a request: a closed set of values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

USAGE: Mapping[str, int] = {
    "input_tokens": 40,
    "cache_creation_input_tokens": 30,
    "cache_read_input_tokens": 20,
    "output_tokens": 10,
}


@dataclass(frozen=True, slots=True)
class Use:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    """A string is streamed as it is, whatever it holds."""
    id: str | None = None
    """None: one that this server never used before."""
    whole: bool = False
    """The arguments come in the first event, as some servers send them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A stream that ends well, or with the stop reason given."""

    text: str | None = None
    """None: echo, derived from the last message of the person; nothing, if there are calls."""
    uses: tuple[Use, ...] = ()
    """Sent behind the text."""
    stop_reason: str | None = "end_turn"
    """None: no `message_delta` is sent. With calls "tool_use" stands for "end_turn"."""
    message_stop: bool = True
    thinking: str = ""
    """Sent before all else, with a signature."""
    blocks: tuple[Mapping[str, Any], ...] = ()
    """Sent whole before the text: what tools of the service found."""
    usage: Mapping[str, Any] | None = field(default_factory=lambda: USAGE)
    """None: `"usage": null`, as sloppy servers send."""
    to_the_last: bool = False
    """The usage says that all was written that the request allowed: the dearest answer there can be."""
    delay_s: float = 0.0
    """Before the status line."""
    chunk_delay_s: float = 0.0
    """Before each piece of the text."""
    hang_s: float = 0.0
    """The connection stays open this long after the last event."""


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error with Anthropic's error body."""

    status: int
    type: str = "api_error"
    message: str = "as scripted"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A stream that goes wrong after some pieces of its text."""

    how: Literal["disconnect", "truncate", "stall", "pings", "malformed", "odd", "overloaded"]
    """truncate: an orderly end without a stop reason. stall: silence until the client goes. pings: the same, with
    a ping now and then. malformed: half a JSON value. odd: valid JSON of no known shape. overloaded: the API's
    error event, in a response of status 200."""
    after_chunks: int = 3
    text: str = "word " * 200
    error_type: str = "overloaded_error"


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection is closed before any answer."""


type Decides = Callable[[dict[str, Any]], Answer | Status]
"""A model that decides by what it sees: gets the body of the request."""
type Behaviour = Answer | Status | Broken | Dropped | Decides

OVERLOADED = Status(529, "overloaded_error")


def rate_limited(retry_after_s: float) -> Status:
    """429 that asks to wait."""
    return Status(429, "rate_limit_error", headers={"retry-after": f"{retry_after_s:g}"})
