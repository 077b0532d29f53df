"""A model that failed and was not back yet, as the owner was told. Holds no text of anybody."""

from typing import Literal

from schemas.wire import WireModel


class Outage(WireModel):
    """Stored with its first alert, taken by its all-clear."""

    v: Literal[1] = 1
    since_ms: int
    why: str
    """llm.request.Outcome of the call that failed."""
    model: str = ""
    """Who answers instead; "": nobody did."""
