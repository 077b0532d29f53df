"""The life of messages, as workers and bots write it down for the dashboard: two kinds of entries in one capped stream.

They hold ids, numbers and names of models and tools, no text of anybody: texts live under their owners, where they expire
and are forgotten.
"""

from typing import Literal

from schemas.wire import WireModel

type TurnState = Literal["answered", "line", "stopped", "dead"]
"""answered: by a model. line: by koi itself (commands, notices). stopped: the person ended it. dead: given up, a dead letter."""


class Attempt(WireModel):
    """One call of a model."""

    model: str
    service: str = ""
    outcome: str
    """schemas.call.CallRecord.outcome."""
    detail: str = ""
    ended_ms: int
    took_ms: int


class ToolUse(WireModel):
    """One call of a tool."""

    name: str
    outcome: str
    """schemas.tools.CallOutcome."""
    ended_ms: int = 0
    """0: not known."""
    took_ms: int = 0


class TurnLife(WireModel):
    """One turn, written in the step that commits it: from the first message it answers to the commit. Times: koi's clock, ms."""

    v: Literal[1] = 1
    id: str
    lane: str
    owner: str
    bot: str
    user_id: str
    message_ids: tuple[str, ...]
    state: TurnState
    sent_ms: int
    """When the person sent the first of its messages, by Telegram's clock."""
    received_ms: int
    """When koi took it."""
    taken_ms: int
    """When this attempt began."""
    built_ms: int = 0
    """When its context was built; 0: none was."""
    committed_ms: int
    attempts: tuple[Attempt, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    failures: int = 0
    """Earlier attempts of the turn that failed, or whose worker died."""
    reason: str = ""
    """dead: why; one line without any text of the person."""
    asked: str = ""
    """The model that was to answer; another one in `model`: a fallback."""
    asked_service: str = ""
    """Whose it was to be: the same model elsewhere is a fallback too."""
    model: str = ""
    service: str = ""
    why: str = ""
    """llm.routing: why `asked`."""
    tier: str = ""
    input_tokens: int | None = None
    """Cached ones included; None: not known."""
    output_tokens: int | None = None
    cost_microusd: int | None = None
    """Of all calls; None: at least one has no known price."""
    session_id: str = ""
    """The conversation it belongs to; "" for none."""
    exchange: int = 0
    """The how manyth of that conversation, from 1; 0: none."""
    entry_ids: tuple[str, ...] = ()
    """Remembered entries that its context quoted."""
    reply_ids: tuple[str, ...] = ()
    """What it sent (schemas.reply.Reply.id)."""

    @property
    def fell_back(self) -> bool:
        """Another model answered than the one asked, or the same at another service."""
        if self.state != "answered" or not self.asked:
            return False
        elsewhere = bool(self.service and self.asked_service) and self.service != self.asked_service
        return elsewhere or self.model != self.asked


class SentLife(WireModel):
    """One reply, written in the step that takes it out of the outbox."""

    v: Literal[1] = 1
    reply_id: str
    lane: str
    bot_id: str
    taken_ms: int
    """When the bot first took it."""
    sent_ms: tuple[int, ...]
    """When each part was taken by Telegram."""
    ended_ms: int
    outcome: Literal["sent", "gone", "dead"] = "sent"
    """gone: the person has blocked the bot."""
    resent: int = 0
    """Parts sent twice, marked."""
    left: int = 0
    """Parts given up."""


class JobRun(WireModel):
    """The last run of something that koi does by itself, again and again."""

    v: Literal[1] = 1
    at_ms: int
    took_ms: int
    did: int = 0
    """How many things it did."""
    error: str = ""
    """Name of the exception; "" if it went well."""


class Action(WireModel):
    """What somebody did on the dashboard, for the audit log."""

    v: Literal[1] = 1
    at_ms: int
    who: str
    """ "admin" or "reader" and the address it came from."""
    action: str
    target: str = ""
    """Ids; no text."""
    count: int = 1
    outcome: Literal["done", "changed", "refused"] = "done"
    """changed: it had changed meanwhile (409)."""
