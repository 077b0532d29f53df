"""Ask the model, run the tools it calls, and say what came of it."""

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from lanes.outcome import Failed
from llm.errors import NoModelAnswered, NotAllowed, RequestRejected
from llm.halt import Halt
from llm.request import UNKNOWN, CallEnded, CallPlanned, Completion
from memory.ratio import Ratio, factor, start
from memory.tokens import estimate_tokens
from memory.window import MESSAGE_TOKENS
from schemas.call import CallRecord
from schemas.memory import ToolCall
from schemas.tools import KeptRound
from workers.alerts import back_again, tell_owner
from workers.cap import Cap
from workers.choose import Chosen
from workers.drafts import Drafts
from workers.hands import Hands
from workers.noted import Noted
from workers.outage import fallback_of, silence_of
from workers.outgoing import Place
from workers.plan import Given, Plan, anew, plan_turn, smaller
from workers.plans import Plan as Allowance
from workers.presence import typing
from workers.purse import UsedUp, Wallet
from workers.rounds import Rounds, Stop
from workers.services import Services

LONGEST_WAIT_S = 120.0
"""A service that asks to be left alone for longer (a daily limit): the person hears at once that there is no answer,
instead of a silent lane, and the message stays with the dead letters.
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose turn it is."""

    turn_id: str
    lane: str
    bot: str
    user_id: str
    place: Place
    began_ms: int
    deadline_at: float
    """Seconds of the running loop's time()."""
    allowance: Allowance | None = None
    """What the person may use; None: all."""
    outages: frozenset[str] = frozenset()
    """First choices of which the owner was told that they fail."""
    ratios: Mapping[str, Ratio] = field(default_factory=dict[str, Ratio])
    """How models count in this chat, by id."""
    answers: tuple[str, ...] = ()
    """Ids of the messages: a stop may name the turn by one of them."""
    noted: Noted = field(default_factory=Noted)


@dataclass(frozen=True, slots=True)
class Answered:
    """What was asked, and what came back."""

    plan: Plan
    completion: Completion
    calls: tuple[CallRecord, ...]
    """All of the turn, as they are recorded; those of earlier attempts whose rounds were kept too."""
    rounds: Rounds = field(default_factory=Rounds)
    stop: Stop | None = None
    """Why koi ended it, if the model would have gone on."""
    used_up: UsedUp | None = None
    """stop "plan": what."""


@dataclass(frozen=True, slots=True)
class NotAsked:
    """The person's plan lets nobody be asked."""

    used_up: UsedUp
    reason: str
    """For the log: the first model's."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """The service takes less than it was given."""

    reason: str
    limit_tokens: int | None


async def converse(
    s: Services, chosen: Chosen, given: Given, caller: Caller, hands: Hands | None = None
) -> Answered | NotAsked | Failed:
    """One answer by the deadline, or how the attempt failed; the owner is told of fallbacks, failures and their end.

    hands: what runs the tools that the model calls; None: it is offered none.

    Raises: lanes.keep.LeaseLost, RedisError, NewerVersion: only with tools.
    """
    names = frozenset((caller.turn_id, *caller.answers))
    watched = s.stops.watching(caller.lane, names) if s.stops else nullcontext(Halt())
    drafts = Drafts(s.redis.publish, caller.place, caller.turn_id)
    with watched as halt:
        asking = _Asking(s, chosen, caller, drafts, halt)
        answered = await _conversed(given, _Loop(asking, hands))
    if isinstance(answered, Failed):
        s.lost_microusd[caller.turn_id] += sum(record.cost_microusd or 0 for record in asking.records)
    else:
        del s.lost_microusd[caller.turn_id]
        await drafts.over()
    return answered


async def _conversed(given: Given, loop: "_Loop") -> Answered | NotAsked | Failed:
    plan = plan_turn(given)
    loop.asking.caller.noted.built(loop.asking.s.clock())
    said = await loop.run(plan)
    if isinstance(said, TooLong):
        sent_tokens = plan.estimated_tokens + loop.rounds.tokens
        given = smaller(given, round(sent_tokens * factor(given.ratio)), said.limit_tokens)
        loop.rounds = loop.rounds.with_small_results()
        plan = plan_turn(given)
        said = await loop.run(plan)
    if isinstance(said, TooLong) and given.session:
        plan = plan_turn(anew(given))
        said = await loop.run(plan)
    match said:
        case Completion():
            return Answered(plan, said, loop.calls, loop.rounds, loop.stop, loop.used_up)
        case TooLong(reason=reason):
            return Failed(reason, final=True)
        case NotAsked() | Failed():
            return said


@dataclass
class _Loop:
    """The model is asked, its tools are run, and it is asked again, until it answers or is stopped."""

    asking: "_Asking"
    hands: Hands | None
    rounds: Rounds = field(default_factory=Rounds)
    stop: Stop | None = None
    used_up: UsedUp | None = None

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """All of the turn, also of earlier attempts."""
        return (*(call for one in self.rounds.done for call in one.kept.made), *self.asking.records)

    async def run(self, plan: Plan) -> Completion | TooLong | NotAsked | Failed:
        """On from the rounds that are done."""
        while True:
            if (end := self._ended()) is not None:
                return end
            nth = len(self.rounds.done) + 1
            kept = self.hands.kept_round(nth) if self.hands else None
            if kept is None:
                said = await self.asking.ask(plan, self.rounds)
                if isinstance(said, NotAsked) and (self.asking.cap.denied or self.rounds.done):
                    self.stop = "cost" if self.asking.cap.denied else "plan"
                    self.used_up = said.used_up
                    return self._end()
                if self.asking.halt.is_set():
                    return self._stopped(said)
                if not isinstance(said, Completion) or said.ending != "tools" or self.hands is None:
                    return said
                kept = self._keep(said)
                await self.hands.keep_round(nth, kept)
            if await self._runs_out(self.hands, nth, kept):
                return self._end()

    async def _runs_out(self, hands: Hands | None, nth: int, kept: KeptRound) -> bool:
        """The tools of a round; whether the turn ends with it."""
        assert hands is not None  # noqa: S101 — else there is no round
        done = await hands.run(nth, kept, self.rounds, self.asking.left_s())
        self.rounds = Rounds((*self.rounds.done, done))
        self.asking.cap.spent_microusd = sum(map(self.asking.cap.cost_of, self.calls))
        return bool(done.asks or done.waiting or (self.rounds.ends and kept.text.strip()))

    def _ended(self) -> Completion | None:
        """Before each round: nobody is to be asked any more."""
        if self.asking.halt.is_set():
            self._take_finished()
            return self._stopped()
        self.stop = self._stop()
        return self._end() if self.stop else None

    def _take_finished(self) -> None:
        """What an earlier attempt did stands, so the conversation has to know of it."""
        while self.hands:
            nth = len(self.rounds.done) + 1
            kept = self.hands.kept_round(nth)
            done = self.hands.finished(nth, kept) if kept else None
            if done is None:
                return
            self.rounds = Rounds((*self.rounds.done, done))

    def _stop(self) -> Stop | None:
        if len(self.rounds.done) >= self.asking.s.max_tool_rounds:
            return "rounds"
        return "repeats" if self.rounds.stuck else None

    def _keep(self, said: Completion) -> KeptRound:
        made, self.asking.records = tuple(self.asking.records), []
        return KeptRound(
            text=said.text,
            calls=tuple(ToolCall(id=use.id, name=use.name, arguments=use.arguments) for use in said.uses),
            verbatim=said.verbatim.content if said.verbatim else "",
            service=said.verbatim.service if said.verbatim else "",
            model=said.model,
            asked=self.rounds.done[0].kept.asked if self.rounds.done else said.asked,
            made=made,
        )

    def _end(self) -> Completion:
        """The turn ends with what was said so far."""
        model = self.rounds.model or self.asking.chosen.model
        asked = self.rounds.done[-1].kept.asked if self.rounds.done else model
        return Completion(self.rounds.text, model, asked, "complete", UNKNOWN, ())

    def _stopped(self, said: Completion | TooLong | NotAsked | Failed | None = None) -> Completion:
        """The person wants no more: what was written stays, and a failure needs no second try. An answer that was whole is
        whole; tools that it calls are not run.
        """
        if not isinstance(said, Completion):
            return replace(self._end(), ending="stopped")
        return replace(said, ending="stopped", uses=(), verbatim=None) if said.ending == "tools" else said


@dataclass
class _Asking:
    """The calls of one turn."""

    s: Services
    chosen: Chosen
    caller: Caller
    drafts: Drafts
    halt: Halt
    """Set: the person wants no more."""
    records: list[CallRecord] = field(default_factory=list[CallRecord])
    """Those that no kept round has yet."""

    def __post_init__(self) -> None:
        left = self.s.max_turn_microusd - self.s.lost_microusd[self.caller.turn_id]
        self.cap = Cap(max(0, left), self.s.recorder.prices)

    def left_s(self) -> float:
        return self.caller.deadline_at - asyncio.get_running_loop().time()

    async def ask(self, plan: Plan, rounds: Rounds) -> Completion | TooLong | NotAsked | Failed:
        s, caller = self.s, self.caller
        request = replace(plan.request, messages=(*plan.request.messages, *rounds.messages))
        base_tokens = plan.estimated_tokens + rounds.tokens

        def estimate(call: CallPlanned) -> int:
            return self._input_tokens(base_tokens, len(request.messages), call)

        wallet = Wallet(s.purse, caller.allowance, caller.user_id, estimate)
        self.cap.denied = False
        try:
            async with typing(s, caller.place):
                completion = await self.chosen.chain.complete(
                    request,
                    deadline_at=caller.deadline_at,
                    on_call=self._ended,
                    on_text=self.drafts.show,
                    before_call=self.cap.around(wallet.before_call, estimate),
                    first=rounds.model,
                    halt=self.halt,
                )
        except NoModelAnswered as error:
            return await self._nobody(error)
        except RequestRejected as error:
            if error.too_long:
                return TooLong(error.reason, error.limit_tokens)
            return Failed(error.reason, final=True)
        except NotAllowed as error:
            return NotAsked(wallet.used_up, error.reason)
        if completion.ending != "stopped":  # or a model that was not asked would count as a fallback
            await self._tell(completion)
        return completion

    def _input_tokens(self, base_tokens: int, messages: int, call: CallPlanned) -> int:
        """Of one call, as its model counts, and with what that said before it paused."""
        said = call.request.messages[messages:]
        tokens = base_tokens + sum(estimate_tokens(one.text) + MESSAGE_TOKENS for one in said)
        return round(tokens * factor(self.caller.ratios.get(call.model, start())))

    async def _ended(self, call: CallEnded) -> None:
        caller = self.caller
        record = self.s.recorder.ended(
            call, turn_id=caller.turn_id, lane=caller.lane, user_id=caller.user_id, bot=caller.bot,
            asked=self.chosen.model, why=self.chosen.choice.why,
        )  # fmt: skip
        self.records.append(record)
        caller.noted.calls.append(record)
        self.cap.spent_microusd += self.cap.cost_of(record)

    async def _tell(self, completion: Completion) -> None:
        """The owner hears of a fallback, and of its end."""
        fallback = fallback_of(completion, self.caller.began_ms, self.s.ahead_ms)
        if fallback is not None:
            await tell_owner(self.s, fallback, self.caller.place)
        if completion.model in self.caller.outages:
            await back_again(self.s, completion.model, self.caller.place)

    async def _nobody(self, error: NoModelAnswered) -> Failed:
        silence = silence_of(self.chosen.model, error, self.caller.began_ms, self.s.ahead_ms)
        await tell_owner(self.s, silence, self.caller.place)
        wait_s = error.retry_after_s
        wait_ms = None if wait_s is None else round(wait_s * 1000)
        too_long = wait_s is not None and wait_s > LONGEST_WAIT_S
        return Failed(error.reason, retry_after_ms=wait_ms, final=too_long or not error.worth_retrying)
