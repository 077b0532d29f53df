"""What the fake Bot API server keeps: calls, faults, bots."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

type Json = dict[str, Any]


@dataclass(slots=True)
class Call:
    """One request as it came, and how it was answered."""

    at_ms: float
    bot_id: str
    method: str
    fields: Json
    status: int = 0
    """HTTP status; 0 while it runs, or if the connection was dropped."""
    delivered: bool = False
    """A sendMessage that the person sees, whatever the bot was told."""


@dataclass(slots=True)
class Fault:
    """Something that goes wrong `times` times (-1: always), with `chance`, for calls that match."""

    kind: Literal["drop_after", "drop_before", "flood", "error", "hang", "raw", "slow"]
    """drop_after: accepted, then the connection breaks. drop_before: not accepted. hang: accepted, never answered.
    raw: `description` is the body of the answer. slow: answered after delay_s.
    """
    method: str = "sendMessage"
    bot_id: str = ""
    chat_id: str = ""
    times: int = 1
    chance: float = 1.0
    retry_after: int = 1
    status: int = 400
    description: str = "Bad Request"
    delay_s: float = 0.0

    def matches(self, call: Call) -> bool:
        return (
            self.times != 0
            and self.method == call.method
            and self.bot_id in {"", call.bot_id}
            and self.chat_id in {"", str(call.fields.get("chat_id", ""))}
        )


@dataclass(slots=True)
class BotState:
    updates: deque[Json] = field(default_factory=deque[Json])
    next_update_id: int = 1000
    next_message_id: int = 1
    poller: asyncio.Future[None] | None = None
    """Set when something arrives; cancelled when another poller takes over."""
    webhook: Json = field(default_factory=dict[str, Any])
    spinning: set[str] = field(default_factory=set[str])
    """Taps that were not answered yet."""
    menus: dict[tuple[str, str], dict[str, str]] = field(
        default_factory=dict[tuple[str, str], dict[str, str]]
    )
    """(scope, language) → command → description; a scope is its type, of a chat "chat:ID"."""


class Refusal(Exception):
    def __init__(self, status: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.status, self.description, self.parameters = status, description, parameters


class RawAnswer(Exception):
    """The body to answer with, as it stands."""


def before(fault: Fault) -> None:
    """Faults that strike before the call is accepted."""
    match fault.kind:
        case "drop_before":
            raise ConnectionAbortedError
        case "flood":
            description = f"Too Many Requests: retry after {fault.retry_after}"
            raise Refusal(429, description, retry_after=fault.retry_after)
        case "error":
            raise Refusal(fault.status, fault.description)
        case "raw":
            raise RawAnswer(fault.description)
        case "drop_after" | "hang" | "slow":
            pass


async def after(fault: Fault) -> None:
    """Faults that strike when the call was accepted."""
    match fault.kind:
        case "drop_after":
            raise ConnectionAbortedError
        case "hang":
            await asyncio.Event().wait()
        case _:
            await asyncio.sleep(fault.delay_s)
