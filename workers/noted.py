"""What the attempts of a turn leave for the record of its life (workers.life). In this process only: a worker that dies takes
its own along, and what is billed stands with the calls (workers.records).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from schemas.call import CallRecord
from schemas.life import ToolUse, TurnState


@dataclass(frozen=True, slots=True)
class Answer:
    """By whom a turn was answered, and what from. Without anything: by koi itself."""

    state: TurnState = "line"
    asked: str = ""
    asked_service: str = ""
    model: str = ""
    service: str = ""
    why: str = ""
    tier: str = ""
    calls: tuple[CallRecord, ...] = ()
    """All of the turn, those of rounds that an earlier attempt kept too."""
    tools: tuple[ToolUse, ...] = ()
    entry_ids: tuple[str, ...] = ()


@dataclass(slots=True)
class Noted:
    """One turn. Times: koi's clock, ms."""

    began_ms: int = 0
    built_ms: int = 0
    """0: no context was built."""
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    """Of all attempts here."""
    tools: dict[tuple[int, str], ToolUse] = field(default_factory=dict[tuple[int, str], ToolUse])
    """The same, by round and id of the call."""
    answer: Answer = field(default_factory=Answer)
    exchange: tuple[str, int] = ("", 0)
    """Conversation, and the how manyth of its exchanges this is."""

    def begins(self, now_ms: int) -> None:
        """One more attempt."""
        self.began_ms, self.built_ms, self.answer, self.exchange = now_ms, 0, Answer(), ("", 0)

    def built(self, now_ms: int) -> None:
        """The first time counts: a service that takes less is given another context."""
        self.built_ms = self.built_ms or now_ms


def together(one: Sequence[CallRecord], other: Sequence[CallRecord]) -> tuple[CallRecord, ...]:
    """Each call once, in the order in which they ended."""
    return tuple(sorted({call.id: call for call in (*one, *other)}.values(), key=lambda call: call.at_ms))
