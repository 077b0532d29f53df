"""What is remembered: entries of the ring, and the running conversation."""

from typing import Literal

from schemas.wire import WireModel


class RingEntry(WireModel):
    """One exchange, as the next session may be told about it."""

    v: Literal[1] = 1
    id: str
    """The turn that made it."""
    at_ms: int
    user_message: str
    """At most memory.user_chars characters."""
    summary: str
    """At most memory.summary_chars characters, never empty: what people read."""
    reply: str = ""
    """At most memory.reply_chars characters: what the context is picked from."""
    session_name: str = ""
    """`telegram_<user id>` or `local_<name>`."""
    workdir: str = ""
    bot: str = ""
    lane: str = ""
    """The lane it was said in; "" if imported."""


class Exchange(WireModel):
    """One question and its answer inside the running session."""

    v: Literal[1] = 1
    id: str
    """The turn that made it; the ring entry of the same exchange has the same id."""
    at_ms: int
    user: str
    """What the person wrote (several waiting messages joined by blank lines)."""
    reply: str
    block: str = ""
    """The memory block that went before the message, as it was sent; "" for none."""
    block_oldest_ms: int = 0
    """Stamp of the oldest entry quoted in `block`: with it the block expires."""


class Session(WireModel):
    """The conversation of one lane: one value, replaced whole at each commit."""

    v: Literal[1] = 1
    id: str
    started_ms: int
    last_ms: int
    """End of the last exchange; `session.idle` after it the session is over."""
    exchanges: tuple[Exchange, ...] = ()
    seen: tuple[str, ...] = ()
    """Ids of the ring entries known when the last context was built: what is not among them is news."""


class AnswerRecord(WireModel):
    """What the last answer of a lane was made of, for /why. Holds no text."""

    v: Literal[1] = 1
    turn_id: str
    at_ms: int
    entry_ids: tuple[str, ...] = ()
    """Ring entries whose text was in the model's context."""
    model: str = ""
    asked: str = ""
    """The model that was asked first; differs from `model` after a fallback."""
    input_tokens: int | None = None
    """All input tokens, cached ones included; None: the provider did not say."""
    output_tokens: int | None = None
