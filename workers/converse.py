"""Ask the model, and say what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lanes.outcome import Failed
from llm.errors import NoModelAnswered, NotAllowed, RequestRejected
from llm.request import CallEnded, CallPlanned, Completion
from memory.ratio import Ratio, factor, start
from memory.tokens import estimate_tokens
from memory.window import MESSAGE_TOKENS
from schemas.call import CallRecord
from workers.alerts import back_again, tell_owner
from workers.choose import Chosen
from workers.outage import fallback_of, silence_of
from workers.outgoing import Place
from workers.plan import Given, Plan, anew, plan_turn, smaller
from workers.plans import Plan as Allowance
from workers.presence import typing
from workers.purse import UsedUp, Wallet
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


@dataclass(frozen=True, slots=True)
class Answered:
    """What was asked, and what came back."""

    plan: Plan
    completion: Completion
    calls: tuple[CallRecord, ...]
    """All of the turn, as they are recorded."""


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


async def converse(s: Services, chosen: Chosen, given: Given, caller: Caller) -> Answered | NotAsked | Failed:
    """One answer by the deadline, or how the attempt failed; the owner is told of fallbacks, failures and their end."""
    asking = _Asking(s, chosen, caller)
    plan = plan_turn(given)
    said = await asking.ask(plan)
    if isinstance(said, TooLong):
        given = smaller(given, round(plan.estimated_tokens * factor(given.ratio)), said.limit_tokens)
        plan = plan_turn(given)
        said = await asking.ask(plan)
    if isinstance(said, TooLong) and given.session:
        plan = plan_turn(anew(given))
        said = await asking.ask(plan)
    match said:
        case Completion():
            return Answered(plan, said, tuple(asking.records))
        case TooLong(reason=reason):
            return Failed(reason, final=True)
        case NotAsked() | Failed():
            return said


@dataclass
class _Asking:
    """The calls of one turn."""

    s: Services
    chosen: Chosen
    caller: Caller
    records: list[CallRecord] = field(default_factory=list[CallRecord])

    async def ask(self, plan: Plan) -> Completion | TooLong | NotAsked | Failed:
        s, caller = self.s, self.caller
        wallet = Wallet(
            s.purse, caller.allowance, caller.user_id, lambda call: self._input_tokens(plan, call)
        )
        try:
            async with typing(s, caller.place):
                completion = await self.chosen.chain.complete(
                    plan.request,
                    deadline_at=caller.deadline_at,
                    on_call=self._ended,
                    before_call=wallet.before_call,
                )
        except NoModelAnswered as error:
            return await self._nobody(error)
        except RequestRejected as error:
            if error.too_long:
                return TooLong(error.reason, error.limit_tokens)
            return Failed(error.reason, final=True)
        except NotAllowed as error:
            return NotAsked(wallet.used_up, error.reason)
        await self._tell(completion)
        return completion

    def _input_tokens(self, plan: Plan, call: CallPlanned) -> int:
        """Of one call, as its model counts, and with what that said before it paused."""
        said = call.request.messages[len(plan.request.messages) :]
        tokens = plan.estimated_tokens + sum(estimate_tokens(one.text) + MESSAGE_TOKENS for one in said)
        return round(tokens * factor(self.caller.ratios.get(call.model, start())))

    async def _ended(self, call: CallEnded) -> None:
        caller = self.caller
        record = self.s.recorder.ended(
            call, turn_id=caller.turn_id, lane=caller.lane, user_id=caller.user_id, bot=caller.bot,
            asked=self.chosen.model, why=self.chosen.choice.why,
        )  # fmt: skip
        self.records.append(record)

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
