"""What a turn puts aside while a model uses tools, and what waits for a person's answer to it."""

from typing import Literal

from schemas.call import CallRecord
from schemas.memory import ToolCall
from schemas.wire import WireModel


class KeptRound(WireModel):
    """A model's answer that calls tools, stored before they run; lives with its turn only (lanes.keep, `round:N`)."""

    v: Literal[1] = 1
    text: str = ""
    calls: tuple[ToolCall, ...]
    """At least one."""
    verbatim: str = ""
    """The answer's content blocks as the service sent them, a JSON array: thoughts must go back unchanged within the
    turn, to the same model only. "" for none.
    """
    service: str = ""
    model: str
    asked: str
    """The first choice of the turn."""
    made: tuple[CallRecord, ...] = ()
    """All calls of models of this round, failed ones too."""


type CallOutcome = Literal["done", "refused", "failed", "unknown", "stopped", "waits"]
"""refused: the tool said what is wrong with the call. failed: an outside tool did not work. unknown: it may or may not
have run. stopped: the same call too often. waits: for the person to confirm."""


class KeptResult(WireModel):
    """What came of one call, stored in the same step as what it changed; lives with its turn only (`result:N:CALL_ID`)."""

    v: Literal[1] = 1
    text: str
    """As the model is given it."""
    outcome: CallOutcome
    changed: bool = False
    """It has changed something, or may have."""
    preview: str = ""
    """waits: what would be done, as the person reads it."""
    question: str = ""
    """The turn ends with it; "" for none."""
    options: tuple[str, ...] = ()
    ends: bool = False
    """The conversation is over after this answer."""


class ToolRan(WireModel):
    """What became of one tool call, for the record of the turn. Holds no text."""

    name: str
    round: int
    """Counted from 1."""
    outcome: CallOutcome


class Pending(WireModel):
    """What a lane waits for: the answer to a question, or a yes to what is to be made. One per lane, the newest; holds
    text, so it expires with `memory.max_age` and is forgotten with its owner's memory.
    """

    v: Literal[1] = 1
    id: str
    """Eight hexadecimal digits; stands in the buttons' commands."""
    kind: Literal["question", "preview"]
    at_ms: int
    turn_id: str
    owner: str
    """Whose things would be changed."""
    options: tuple[str, ...] = ()
    """question: what the buttons say."""
    calls: tuple[ToolCall, ...] = ()
    """preview: what is done when it is confirmed, in order."""
    text: str = ""
    """The question, or the preview as it was shown."""
