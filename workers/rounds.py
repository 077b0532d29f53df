"""The tool rounds of one turn as values: what was called, what came back, and what that means for the next step. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import orjson

from llm.request import Message, ToolResult, ToolUse, Verbatim
from memory.neutralise import neutralise
from memory.tables import as_table
from memory.trim import cut_middle
from memory.window import round_tokens
from schemas.memory import ToolCall, ToolRound
from schemas.tools import KeptResult, KeptRound, ToolRan

RESULT_TOKENS = 2_000
"""Of one result, by plain estimate; a list of fifty tasks has about a thousand."""
SMALLER_RESULT_TOKENS = 150
"""The same when the service takes less than it was given."""
TWICE = 2
"""So often the same call is made in earlier rounds before it is stopped: once, and once more after something changed."""
REPEATS = 2
"""So many rounds in a row of nothing but stopped calls, and the turn ends."""

type Stop = Literal["rounds", "cost", "plan", "repeats"]
"""Why koi ended a loop that the model would have gone on with; plan: the person's is used up."""


@dataclass(frozen=True, slots=True)
class RoundDone:
    """A round whose tools have run."""

    kept: KeptRound
    results: tuple[KeptResult, ...]
    """One per call."""

    @property
    def asks(self) -> KeptResult | None:
        """A question to the person: the turn ends with it."""
        return next((one for one in self.results if one.question), None)

    @property
    def waiting(self) -> tuple[tuple[ToolCall, str], ...]:
        """Calls that wait for the person's yes, with their previews: the turn ends with them."""
        pairs = zip(self.kept.calls, self.results, strict=True)
        return tuple((call, one.preview) for call, one in pairs if one.outcome == "waits")

    @property
    def ends(self) -> bool:
        """The conversation is over after this answer."""
        return any(one.ends for one in self.results)

    @property
    def only_repeats(self) -> bool:
        return all(one.outcome == "stopped" for one in self.results)


@dataclass(frozen=True, slots=True)
class Rounds:
    """All rounds of a turn so far."""

    done: tuple[RoundDone, ...] = field(default_factory=tuple[RoundDone, ...])

    @property
    def messages(self) -> tuple[Message, ...]:
        """As they go back to the model, behind its request."""
        return tuple(message for one in self.done for message in _messages(one))

    @property
    def tokens(self) -> int:
        """Of the messages, by plain estimate."""
        return sum(map(round_tokens, steps_of(self)))

    @property
    def model(self) -> str:
        """Who began, and so goes on; "": nobody yet."""
        return self.done[-1].kept.model if self.done else ""

    @property
    def ran(self) -> tuple[ToolRan, ...]:
        return tuple(
            ToolRan(name=call.name, round=nth, outcome=result.outcome)
            for nth, one in enumerate(self.done, 1)
            for call, result in zip(one.kept.calls, one.results, strict=True)
        )

    @property
    def text(self) -> str:
        """What the model said last beside a call; "" for nothing."""
        return next((one.kept.text for one in reversed(self.done) if one.kept.text.strip()), "")

    @property
    def ends(self) -> bool:
        return any(one.ends for one in self.done)

    @property
    def stuck(self) -> bool:
        """Nothing but repeated calls lately."""
        return len(self.done) >= REPEATS and all(one.only_repeats for one in self.done[-REPEATS:])

    def with_small_results(self) -> "Rounds":
        """For a service that takes less: the same with results cut short."""
        return Rounds(tuple(RoundDone(one.kept, tuple(map(_smaller, one.results))) for one in self.done))


def as_step(done: RoundDone) -> ToolRound:
    """As the running conversation keeps it: without what may go back within the turn only."""
    return ToolRound(
        text=done.kept.text, calls=done.kept.calls, results=tuple(one.text for one in done.results)
    )


def steps_of(rounds: Rounds) -> tuple[ToolRound, ...]:
    """All of a turn. Ids of calls are unique among those the model was shown (llm.blocks)."""
    return tuple(map(as_step, rounds.done))


def stopped_calls(rounds: Rounds, calls: Sequence[ToolCall]) -> frozenset[str]:
    """Ids of those among the calls of a new round that were made TWICE in earlier rounds. Equal calls within one round
    are meant: two honest equal calls stay two.
    """
    made = Counter(
        _same(call) for one in rounds.done for call in {_same(c): c for c in one.kept.calls}.values()
    )
    return frozenset(call.id for call in calls if made[_same(call)] >= TWICE)


def for_model(text: str) -> str:
    """A result as the model is given it: JSON in fewer tokens, not too long, and none of koi's tags in it."""
    return neutralise(cut_middle(as_table(text), RESULT_TOKENS))


def _smaller(result: KeptResult) -> KeptResult:
    return result.model_copy(update={"text": cut_middle(result.text, SMALLER_RESULT_TOKENS)})


def _messages(done: RoundDone) -> Iterable[Message]:
    kept = done.kept
    uses = tuple(ToolUse(call.id, call.name, call.arguments) for call in kept.calls)
    verbatim = Verbatim(kept.service, kept.model, kept.verbatim) if kept.verbatim else None
    yield Message("assistant", neutralise(kept.text), uses, verbatim=verbatim)
    pairs = zip(kept.calls, done.results, strict=True)
    yield Message("user", results=tuple(ToolResult(call.id, one.text) for call, one in pairs))


def _same(call: ToolCall) -> tuple[str, bytes]:
    """Equal for calls that ask for the same, however their JSON is written."""
    try:
        return call.name, orjson.dumps(orjson.loads(call.arguments), option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # no JSON, or nested too deeply
        return call.name, call.arguments.encode()
