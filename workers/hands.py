"""What a turn does for the model: runs the calls of a round, each once, however often the turn is tried."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import structlog

from lanes.claim import Claim
from lanes.keep import keep
from lanes.step import Changed, Forgotten, Known, Step, Stepped, step
from llm.blocks import as_object
from schemas.life import ToolUse
from schemas.memory import ToolCall
from schemas.tools import CallOutcome, KeptResult, KeptRound
from schemas.wire import dump, load
from tools.catalog import Catalog, read
from tools.mcp import Hub, Offered
from tools.store import change_effects, expects, load_things
from tools.tool import Here, Ran, Refused, Things, Tool
from workers.noted import Noted
from workers.rounds import RoundDone, Rounds, for_model, stopped_calls
from workers.services import Services

KEPT_MS = 7 * 24 * 3_600_000
"""How long rounds and results wait for the retry of their turn, beside its message; its commit removes them."""
COMMAND = "command"
"""Under which the answer of a command that changes things is kept."""
TRIES = 20
"""So often somebody else may change the same things in between."""
OUTSIDE_S = 60.0
"""The most that one call of an outside tool may take, whatever its settings say."""
MOST_CALLS = 32
"""Of one answer."""


def _not_done(text: str, outcome: CallOutcome = "refused") -> KeptResult:
    return KeptResult(text=text, outcome=outcome)


FORGOTTEN = _not_done("Not done: meanwhile the person had everything forgotten.")
BUSY = _not_done("Not done: others change the same things all the time. Try again later.", "failed")
CRASHED = _not_done(
    "Not done: this tool has a fault with such a call. Tell the person that it did not work.", "failed"
)
REPEATED = _not_done(
    "Not done again: you made this very call before, and nothing is different now. Answer with what you know.",
    "stopped",
)
TOO_MANY = _not_done(f"Not done: at most {MOST_CALLS} calls at once. Go on with the rest in the next step.")
UNKNOWN_TOOL = _not_done("There is no tool of that name now.")
NO_OBJECT = _not_done("The arguments must be a JSON object.")
MAYBE = KeptResult(
    text="It is not known whether this was done: the connection was lost while it ran. Do not repeat it without asking the "
    "person.",
    outcome="unknown",
    changed=True,
)
WAITS = "Not done yet: the person is shown this and asked to confirm. Do not call it again."

log = structlog.get_logger()


@dataclass(slots=True)
class Hands:
    """For one turn."""

    s: Services
    claim: Claim
    here: Here
    catalog: Catalog | None
    """None: koi's own tools are switched off."""
    outside: dict[str, Offered]
    """Tools of MCP servers, by name."""
    hub: Hub | None
    bot: str
    user_id: str
    confirm: bool = False
    acted: bool = False
    """A tool has changed something in this attempt, or may have."""
    noted: Noted = field(default_factory=Noted)

    def kept_round(self, nth: int) -> KeptRound | None:
        """What an earlier attempt of the turn was answered. Raises: NewerVersion."""
        value = self.claim.kept.get(f"round:{nth}")
        return None if value is None else load(KeptRound, value)

    def finished(self, nth: int, kept: KeptRound) -> RoundDone | None:
        """A kept round all of whose calls had ended in an earlier attempt; None: some had not."""
        results = tuple(result for call in kept.calls if (result := self._known(nth, call)))
        return RoundDone(kept, results) if len(results) == len(kept.calls) else None

    async def keep_round(self, nth: int, kept: KeptRound) -> None:
        """The model's answer, before its tools run. Raises: LeaseLost."""
        await keep(self.s.redis, self.claim, {f"round:{nth}": dump(kept)}, KEPT_MS)

    async def run(self, nth: int, kept: KeptRound, before: Rounds, left_s: float) -> RoundDone:
        """The calls of the nth round (counted from 1): koi's own in their order, those of others together with them.

        left_s: until the turn's deadline. Raises: LeaseLost, RedisError, NewerVersion: when all that ran has ended.
        """
        known = {call.id: result for call in kept.calls if (result := self._known(nth, call))}
        known |= {call.id: TOO_MANY for call in kept.calls[MOST_CALLS:] if call.id not in known}
        stopped = stopped_calls(before, kept.calls)
        known |= {call.id: REPEATED for call in kept.calls if call.id in stopped and call.id not in known}
        fresh = [call for call in kept.calls if call.id not in known]
        outside = [call for call in fresh if call.name in self.outside or self._has_begun(nth, call)]
        unsure, forgotten = await self._begin(nth, outside)
        known |= {call.id: MAYBE for call in outside if call.id in unsure}
        known |= {call.id: FORGOTTEN for call in outside if forgotten}
        run = [call for call in outside if call.id not in known]
        own = [call for call in fresh if call not in outside]
        found = await asyncio.gather(
            self._own_in_order(nth, own),
            *(self._of_others(nth, call, left_s) for call in run),
            return_exceptions=True,
        )
        for one in found:
            if isinstance(one, BaseException):
                raise one
            known |= one
        results = tuple(known[call.id] for call in kept.calls)
        self.acted = self.acted or any(one.changed for one in results)
        log.info("tools_called", round=nth, tools=[call.name for call in kept.calls[:MOST_CALLS]],
                 outcomes=[one.outcome for one in results[:MOST_CALLS]])  # fmt: skip
        return RoundDone(kept, results)

    async def edit(self, decide: Callable[[Things], tuple[Ran, bytes]]) -> bytes | None:
        """One change of the person's own, by a command; gives what `decide` said of it, or had said the first time. None:
        meanwhile the owner forgot, so nothing was changed.

        Raises: LeaseLost, RedisError, NewerVersion.
        """
        for _ in range(TRIES):
            things = await load_things(self.s.redis, self.here.owner)
            ran, said = decide(things)
            done = await self._step(COMMAND, said, things, ran)
            match done:
                case Stepped():
                    return said
                case Forgotten():
                    return None
                case Known(value=value):
                    return value
                case Changed():
                    continue
        raise TimeoutError("others change the same things all the time")

    async def _own_in_order(self, nth: int, calls: Sequence[ToolCall]) -> dict[str, KeptResult]:
        return {call.id: await self._timed(nth, call, self._own(nth, call)) for call in calls}

    async def _of_others(self, nth: int, call: ToolCall, left_s: float) -> dict[str, KeptResult]:
        return {call.id: await self._timed(nth, call, self._outside(nth, call, left_s))}

    async def _timed(self, nth: int, call: ToolCall, running: Awaitable[KeptResult]) -> KeptResult:
        began_ms = self.s.clock()
        result = await running
        ended_ms = self.s.clock()
        self.noted.tools[nth, call.id] = ToolUse(
            name=self.name_of(call), outcome=result.outcome, ended_ms=ended_ms, took_ms=ended_ms - began_ms
        )
        return result

    def name_of(self, call: ToolCall) -> str:
        """For records without any text: "?" for a tool that there is not."""
        is_own = self.catalog is not None and call.name in self.catalog.by_name
        return call.name if is_own or call.name in self.outside else "?"

    async def _own(self, nth: int, call: ToolCall) -> KeptResult:
        """A tool of koi's, or none that is known."""
        tool = self.catalog.by_name.get(call.name) if self.catalog else None
        if tool is None:
            return UNKNOWN_TOOL
        for _ in range(TRIES):
            things = await load_things(self.s.redis, self.here.owner)
            result, ran = self._decide(call, tool, things)
            done = await self._step(_name(nth, call), dump(result), things, ran)
            match done:
                case Stepped():
                    return result
                case Known(value=value):
                    return load(KeptResult, value)
                case Forgotten():
                    return FORGOTTEN
                case Changed():
                    continue
                case _:
                    assert_never(done)
        return BUSY

    def _decide(self, call: ToolCall, tool: Tool[Any], things: Things) -> tuple[KeptResult, Ran]:
        """What the call comes to, and what it changes."""
        nothing = Ran("")
        try:
            arguments = read(tool, call.arguments)
            if self.confirm and tool.changes and tool.preview is not None:
                preview = tool.preview(arguments, self.here, things)
                return KeptResult(text=WAITS, outcome="waits", preview=preview), nothing
            ran = tool.run(arguments, self.here, things)
        except Refused as error:
            return KeptResult(text=str(error), outcome="refused"), nothing
        except Exception as error:  # noqa: BLE001 — a tool's fault costs the tool, never the turn
            log.warning("tool_crashed", tool=tool.name, error=type(error).__name__)
            return CRASHED, nothing
        changed = bool(ran.put or ran.drop or ran.effects)
        return (
            KeptResult(
                text=for_model(ran.text), outcome="done", changed=changed, question=ran.question,
                options=ran.options, ends=ran.then == "end",
            ),
            ran,
        )  # fmt: skip

    async def _step(self, name: str, value: bytes, things: Things, ran: Ran) -> Step:
        owner = self.here.owner
        changes = change_effects(owner, things, ran)
        return await step(
            self.s.redis, self.claim, name, value, ttl_ms=KEPT_MS,
            expects=expects(owner, things) if changes else (), effects=changes,
        )  # fmt: skip

    def _known(self, nth: int, call: ToolCall) -> KeptResult | None:
        """What an earlier attempt of the turn has kept."""
        value = self.claim.kept.get(_name(nth, call))
        return None if value is None else load(KeptResult, value)

    def _has_begun(self, nth: int, call: ToolCall) -> bool:
        return _begun(nth, call) in self.claim.kept

    async def _begin(self, nth: int, calls: Sequence[ToolCall]) -> tuple[frozenset[str], bool]:
        """Note that these begin now. Gives those that had begun before, and of which nobody knows how they ended; and whether
        the owner forgot meanwhile: then nothing can be noted, so nothing may run.
        """
        fresh = {_begun(nth, call): b"1" for call in calls if not self._has_begun(nth, call)}
        noted = not fresh or await keep(self.s.redis, self.claim, fresh, KEPT_MS)
        unsure = (call.id for call in calls if self._has_begun(nth, call) and not self._only_reads(call.name))
        return frozenset(unsure), not noted

    def _only_reads(self, name: str) -> bool:
        return name in self.outside and self.outside[name].reads_only

    async def _outside(self, nth: int, call: ToolCall, left_s: float) -> KeptResult:
        """A tool of an MCP server."""
        arguments = as_object(call.arguments)
        if arguments is None or self.hub is None:
            return NO_OBJECT
        try:
            called = await self.hub.call(
                call.name,
                arguments,
                timeout_s=max(0.1, min(OUTSIDE_S, left_s)),
                bot=self.bot,
                user_id=self.user_id,
            )
        except Exception as error:  # noqa: BLE001 — as in _decide; whether it was done, nobody knows
            log.warning("tool_crashed", tool=call.name, error=type(error).__name__)
            return MAYBE
        changed = called.outcome != "failed" and not self._only_reads(call.name)
        result = KeptResult(text=for_model(called.text), outcome=called.outcome, changed=changed)
        await keep(self.s.redis, self.claim, {_name(nth, call): dump(result)}, KEPT_MS)
        return result


def _name(nth: int, call: ToolCall) -> str:
    return f"result:{nth}:{call.id}"


def _begun(nth: int, call: ToolCall) -> str:
    return f"begun:{nth}:{call.id}"
