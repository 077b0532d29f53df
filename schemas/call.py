"""One call of a model, recorded when it ended. Holds no text."""

from typing import ClassVar, Literal

from schemas.wire import WireModel


class CallRecord(WireModel):
    """Which model was asked, why it, how it ended, what it used, and what that costs."""

    newest: ClassVar[int] = 3
    v: Literal[1, 2, 3] = 3
    id: str
    turn_id: str
    lane: str
    user_id: str
    at_ms: int
    model: str
    """The one that was called (and answered, if it did)."""
    outcome: str
    """ "answered", or the failure: "rate_limited", "overloaded", "timeout", "broken", "refused", ..."""
    took_ms: int
    input_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_read_tokens: int | None = None
    output_tokens: int | None = None
    web_searches: int = 0
    """Version 3. Searches that the service itself made for this call; they are billed apart."""
    service: str = ""
    """llm.candidates.ServiceName."""
    bot: str = ""
    asked: str = ""
    """The first choice of the turn; differs from `model` after a fallback."""
    why: str = ""
    """Why `asked` was the first choice: a reason of llm.routing."""
    effort: str = ""
    """ "": the model's own default."""
    detail: str = ""
    """What the service said beside the outcome: "HTTP 529 overloaded_error req_…"; no text of anybody."""
    cost_microusd: int | None = None
    """Rounded up; None: no price is known, or the service did not say how many tokens."""
