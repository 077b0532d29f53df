"""What one turn was made of: what the model was given, what was left out and why, who was asked, what it cost.

`koi explain` prints it and the dashboard shows it. Holds text, so it lives under its owner, expires with
`memory.max_age`, and is forgotten with the owner's memory.
"""

from typing import ClassVar, Literal

from schemas.call import CallRecord
from schemas.tools import ToolRan
from schemas.wire import WireModel

type PartKind = Literal[
    "system", "offer", "person", "summary", "exchange", "tools", "files", "block", "message", "note", "round"
]


class Part(WireModel):
    """One part of the payload, in the order it was sent."""

    kind: PartKind
    id: str = ""
    """Of the exchange; "" for the others."""
    tokens: int
    """By plain estimate: times `TurnRecord.correction`."""
    text: str = ""
    """As it was sent; "" for exchanges and tools, whose texts the running conversation holds, and the system prompt."""
    entry_ids: tuple[str, ...] = ()
    """Ring entries that a block quotes."""


class LeftOut(WireModel):
    """Something the model was not given."""

    kind: Literal["entry", "exchange", "tools", "text", "offer"]
    """offer: a tool that might be called."""
    id: str = ""
    tokens: int
    """By plain estimate."""
    why: Literal["no_room", "summarised", "older", "folded", "too_long"]
    """no_room: the budget was full, and other things helped more. summarised, older: by the strategy "last", which quotes
    the summaries of the newest. folded: it goes into the running summary. too_long: it was cut."""


class TurnRecord(WireModel):
    """Everything about one answer."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 2
    id: str
    lane: str
    owner: str
    bot: str
    user_id: str
    at_ms: int
    """When the turn began."""
    oldest_ms: int
    """Stamp of the oldest text quoted in here: with it the record expires."""
    took_ms: int
    message_ids: tuple[str, ...]
    asked: str
    model: str
    tier: Literal["light", "strong"]
    why: str
    """llm.routing: why this tier."""
    effort: str = ""
    budget_tokens: int
    """`session.budget_tokens`."""
    estimated_tokens: int
    """Of the whole payload, corrected for model and chat."""
    correction: float
    """What the plain estimate was multiplied by."""
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    tools: tuple[ToolRan, ...] = ()
    """In the order they were called."""
    ending: str
    """llm.request.Ending."""
    cost_microusd: int | None = None
    """Of all calls; None: at least one has no known price."""
