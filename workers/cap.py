"""No turn costs more than `turn.max_usd`, however long its model would go on with tools. Pure but for what it is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from llm.call import BeforeCall
from llm.pricing import Price, affordable_tokens, worst_case_microusd
from llm.request import Allowed, CallPlanned, Denied, Permit
from schemas.call import CallRecord
from workers.purse import INPUT_MARGIN, LEAST_TOKENS

REASON = "turn.max_usd is reached"


@dataclass
class Cap:
    """Of one turn. A model whose price is not known is bounded by the rounds alone."""

    limit_microusd: int
    prices: Mapping[str, Price]
    spent_microusd: int = 0
    """Of the calls so far, as far as their prices are known."""
    denied: bool = False
    """A call was not made because of it."""
    worst: dict[str, int] = field(default_factory=dict[str, int])
    """The most that each call of this attempt could cost, by its id."""

    def cost_of(self, call: CallRecord) -> int:
        """What a call counts: its cost; if a service did not say what it used, the most that it can have been."""
        return self.worst.get(call.id, 0) if call.cost_microusd is None else call.cost_microusd

    def around(self, before_call: BeforeCall, estimate: Callable[[CallPlanned], int]) -> BeforeCall:
        """The hook of the chain: what `before_call` says, within what is left."""

        async def ask(planned: CallPlanned) -> Permit:
            tokens = self.tokens_for(planned, estimate(planned))
            if tokens is None:
                self.denied = True
                return Denied(REASON)
            permit = await before_call(replace(planned, request=replace(planned.request, max_tokens=tokens)))
            if isinstance(permit, Denied):
                return permit
            allowed = min(tokens, permit.max_tokens)
            self.worst[planned.id] = self._worst(planned, estimate(planned), allowed) or 0
            return Allowed(allowed)

        return ask

    def tokens_for(self, planned: CallPlanned, input_tokens: int) -> int | None:
        """How long the answer may be; None: not long enough to be worth asking for."""
        wanted = planned.request.max_tokens
        left = self.limit_microusd - self.spent_microusd
        most = self._worst(planned, input_tokens, wanted)
        if most is None or most <= left:
            return wanted
        service, model, prompt = planned.service, planned.model, _prompt(planned, input_tokens)
        tokens = affordable_tokens(service, model, prompt, left, self.prices, planned.searches) or 0
        return min(wanted, tokens) if tokens >= min(LEAST_TOKENS, wanted) else None

    def _worst(self, planned: CallPlanned, input_tokens: int, tokens: int) -> int | None:
        """None: no price is known."""
        prompt = _prompt(planned, input_tokens)
        return worst_case_microusd(
            planned.service, planned.model, prompt, tokens, self.prices, planned.searches
        )


def _prompt(planned: CallPlanned, input_tokens: int) -> int:
    return round(input_tokens * INPUT_MARGIN) + planned.web_tokens
