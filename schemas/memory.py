"""What is remembered: entries of the ring, and the running conversation."""

from typing import ClassVar, Literal

from pydantic import Field

from schemas.wire import WireModel


class RingEntry(WireModel):
    """One exchange, as the next session may be told about it."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 2
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
    features: str = ""
    """What memory.features found in both texts when they were stored; "": to be found when read. Holds their words."""


class ToolCall(WireModel):
    """What a model asked a tool to do."""

    id: str
    name: str
    arguments: str = "{}"
    """A JSON object."""


class ToolRound(WireModel):
    """One step of an answer: what the model said, the calls it made, and what came back. Never parted."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """At least one."""
    results: tuple[str, ...] = ()
    """One per call, in the same order, as the model was given them."""


class Exchange(WireModel):
    """One question and its answer inside the running session."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 2
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
    note: str = ""
    """What went behind the message, as it was sent, with the line ends before it; "" for nothing."""
    rounds: tuple[ToolRound, ...] = ()
    """Between the message and the reply, oldest first."""
    tokens: int = 0
    """Estimate of all its texts, uncorrected (memory.window.exchange_tokens); 0: not counted yet."""


class Session(WireModel):
    """The conversation of one lane: one value, replaced whole at each commit."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 2
    id: str
    started_ms: int
    last_ms: int
    """End of the last exchange; `session.idle` after it the session is over."""
    exchanges: tuple[Exchange, ...] = ()
    seen: tuple[str, ...] = ()
    """Ids of the ring entries known when the last context was built: what is not among them is news."""
    total: int = 0
    """Exchanges since it began, dropped ones included; 0 in values of version 1: then as many as there are."""
    tier: Literal["", "light", "strong"] = ""
    """Which kind of model answers in the running segment; "": none has yet."""
    summary: str = ""
    """What dropped exchanges were folded into; "" for nothing."""
    summary_oldest_ms: int = 0
    """Stamp of the oldest exchange in `summary`: with it the summary expires."""
    leaving: tuple[Exchange, ...] = ()
    """Dropped from what the model sees, kept until they are folded into the summary (only if that is switched on)."""


class AnswerRecord(WireModel):
    """What the last answer of a lane was made of, for /why. Holds no text."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 2
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
    cost_microusd: int | None = None
    """Of all calls of the turn; None: at least one has no known price."""
    why: str = ""
    """Why this kind of model was chosen: a reason of llm.routing."""


class Fold(WireModel):
    """The running summary that the light model made of exchanges a conversation has dropped; the next turn takes it."""

    v: Literal[1] = 1
    session_id: str
    summary: str
    """ "": it could not be made; the exchanges leave without one, and the summary stays as it is."""
    covers: tuple[str, ...]
    """Ids of the exchanges folded in by this step."""
    oldest_ms: int
    """Stamp of the oldest exchange in the summary, those of earlier steps included."""


class FoldWanted(WireModel):
    """An item of a fold lane: what a conversation dropped is to be folded into its summary. Holds no text."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 1
    lane: str
    bot: str
    """Name of the bot whose light model does it."""
    of_its_own: bool = Field(default=False, exclude_if=lambda value: value is False)
    """Version 2. As InboundMessage.of_its_own: no other bot's model may."""
    user_id: str
    """Whose conversation it is: the call counts as theirs."""
    turn_id: str
    """The turn that dropped them."""
    session_id: str
    exchange_ids: tuple[str, ...]


class Parked(WireModel):
    """Conversations of the projects that a lane is not in now."""

    v: Literal[1] = 1
    sessions: dict[str, Session]
    """By project; "" is none."""
    answers: dict[str, AnswerRecord] = Field(default_factory=dict[str, AnswerRecord])
    """The last answer of each, by project: what it was given is told of the conversation it belongs to."""
