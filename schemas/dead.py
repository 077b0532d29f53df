"""A message or reply that could not be handled, kept until somebody decides."""

from typing import Literal

from schemas.wire import WireModel


class DeadLetter(WireModel):
    """What failed, why, and all that is needed to try again."""

    v: Literal[1] = 1
    id: str
    """The item's id: InboundMessage.id or Reply.id."""
    job_id: str
    """`in:LANE` or `out:LANE`: where it came from and where a retry puts it."""
    at_ms: int
    reason: str
    """One line for the owner; holds no text of the person."""
    body: str
    """The item as it was stored, JSON (or whatever could not be read as JSON)."""
    owner: str = ""
