"""What one answer was made of, as it is kept for `koi explain` and the dashboard. No I/O."""

from collections.abc import Sequence

from llm.request import Completion, Usage
from memory.ratio import factor, start
from memory.window import round_tokens
from schemas.call import CallRecord
from schemas.turn import Part, TurnRecord
from workers.choose import Chosen
from workers.converse import Answered
from workers.known import Known
from workers.messages import Turn
from workers.plan import Plan
from workers.rounds import steps_of
from workers.services import Services


def turn_record(turn: Turn, answered: Answered, known: Known, chosen: Chosen, s: Services) -> TurnRecord:
    """The correction is the one that the turn was planned with."""
    plan, completion = answered.plan, answered.completion
    correction = factor(known.ratios.get(chosen.model, start()))
    return TurnRecord(
        id=turn.id,
        lane=turn.first.lane,
        owner=turn.first.owner,
        bot=turn.first.bot,
        user_id=turn.first.user_id,
        at_ms=turn.began_ms,
        oldest_ms=_oldest_ms(turn.began_ms, plan),
        took_ms=s.clock() - turn.began_ms,
        message_ids=turn.answers,
        asked=asked_of(completion),
        model=completion.model,
        tier=chosen.choice.tier,
        why=chosen.choice.why,
        effort=chosen.choice.effort or "",
        budget_tokens=s.session.budget_tokens,
        estimated_tokens=round((plan.estimated_tokens + answered.rounds.tokens) * correction),
        correction=round(correction, 4),
        parts=(*plan.parts, *_round_parts(answered)),
        left_out=plan.left_out,
        calls=answered.calls,
        tools=answered.rounds.ran,
        ending=completion.ending,
        cost_microusd=cost_of(answered.calls),
    )


def _round_parts(answered: Answered) -> tuple[Part, ...]:
    """What the tool rounds added, each as the model was given it at last."""
    steps = enumerate(steps_of(answered.rounds), 1)
    return tuple(Part(kind="round", id=str(nth), tokens=round_tokens(step)) for nth, step in steps)


def asked_of(completion: Completion) -> str:
    """The first choice; or, if the person's plan kept that from being asked, whoever was asked first in its place."""
    denied = {skip.model for skip in completion.skipped if skip.by == "permit"}
    if completion.asked in denied and completion.calls:
        return completion.calls[0].model
    return completion.asked


def cost_of(calls: Sequence[CallRecord]) -> int | None:
    """Of all together; None: one has no known price."""
    costs = [call.cost_microusd for call in calls]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def read_tokens(calls: Sequence[CallRecord]) -> int | None:
    """Of all calls together, cached ones included; None: no service said."""
    counts = [
        count
        for call in calls
        for count in (call.input_tokens, call.cache_write_tokens, call.cache_read_tokens)
        if count is not None
    ]
    return sum(counts) if counts else None


def written_tokens(calls: Sequence[CallRecord]) -> int | None:
    """The same of what was answered."""
    counts = [call.output_tokens for call in calls if call.output_tokens is not None]
    return sum(counts) if counts else None


def all_input(usage: Usage) -> int | None:
    """Input tokens, cached ones included; None: the service did not say."""
    counts = (usage.input_tokens, usage.cache_write_tokens, usage.cache_read_tokens)
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _oldest_ms(began_ms: int, plan: Plan) -> int:
    """Of the texts that the record quotes: the message, the block, the running summary."""
    stamps = [began_ms]
    if plan.block:
        stamps.append(plan.block.oldest_ms)
    if plan.session and plan.session.summary:
        stamps.append(plan.session.summary_oldest_ms)
    return min(stamps)
