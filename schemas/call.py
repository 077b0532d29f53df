"""One call of a model, recorded when it ended. Holds no text."""

from typing import Literal

from schemas.wire import WireModel


class CallRecord(WireModel):
    """Which model was asked, how it ended, and what it used."""

    v: Literal[1] = 1
    id: str
    turn_id: str
    lane: str
    user_id: str
    at_ms: int
    model: str
    outcome: str
    """ "answered", or the failure: "rate_limited", "overloaded", "timeout", "broken", "refused", ..."""
    took_ms: int
    input_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_read_tokens: int | None = None
    output_tokens: int | None = None
