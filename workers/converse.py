"""Ask the model, and say what came of it."""

from dataclasses import dataclass

from lanes.outcome import Failed
from llm.errors import NoModelAnswered, RequestRejected
from llm.request import CallEnded, Completion, ModelRequest
from workers.alerts import FellBack, NobodyAnswered, tell_owner
from workers.outgoing import Place
from workers.plan import Given, Plan, plan_turn, smaller
from workers.presence import typing
from workers.services import Answers, Services

LONGEST_WAIT_S = 120.0
"""A service that asks to be left alone for longer (a daily limit): the person hears at once that there is no answer,
instead of a silent lane, and the message stays with the dead letters.
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose turn it is."""

    turn_id: str
    lane: str
    user_id: str
    place: Place
    deadline_at: float
    """Seconds of the running loop's time()."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was asked, and what came back."""

    plan: Plan
    completion: Completion


@dataclass(frozen=True, slots=True)
class TooLong:
    """The service takes less than it was given."""

    reason: str


async def converse(s: Services, chain: Answers, given: Given, caller: Caller) -> Answered | Failed:
    """One answer by the deadline, or how the attempt failed; the owner is told of fallbacks and failures."""
    plan = plan_turn(given)
    said = await _ask(s, chain, plan.request, caller)
    if isinstance(said, TooLong):
        plan = plan_turn(smaller(given))
        said = await _ask(s, chain, plan.request, caller)
    match said:
        case Completion():
            return Answered(plan, said)
        case TooLong(reason=reason):
            return Failed(reason, final=True)
        case Failed():
            return said


async def _ask(
    s: Services, chain: Answers, request: ModelRequest, caller: Caller
) -> Completion | TooLong | Failed:
    async def on_call(call: CallEnded) -> None:
        s.recorder.ended(call, turn_id=caller.turn_id, lane=caller.lane, user_id=caller.user_id)

    began_ms = s.clock()
    try:
        async with typing(s, caller.place):
            completion = await chain.complete(request, deadline_at=caller.deadline_at, on_call=on_call)
    except NoModelAnswered as error:
        await tell_owner(s, NobodyAnswered(error.reason), caller.place)
        wait_s = error.retry_after_s
        wait_ms = None if wait_s is None else round(wait_s * 1000)
        too_long = wait_s is not None and wait_s > LONGEST_WAIT_S
        return Failed(error.reason, retry_after_ms=wait_ms, final=too_long or not error.worth_retrying)
    except RequestRejected as error:
        return TooLong(error.reason) if error.too_long else Failed(error.reason, final=True)
    if completion.model != completion.asked:
        await tell_owner(s, _fallback(completion, began_ms), caller.place)
    return completion


def _fallback(completion: Completion, began_ms: int) -> FellBack:
    failures = [call.outcome for call in completion.calls if call.model == completion.asked]
    why = failures[-1] if failures else "skipped"
    return FellBack(completion.asked, why, began_ms, completion.model)
