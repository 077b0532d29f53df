"""No turn costs more than `turn.max_usd`, however long its model would go on with tools. Pure but for what it is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from llm.call import BeforeCall
from llm.pricing import Price, affordable_tokens, worst_case_microusd
from llm.request import Allowed, CallPlanned, Denied, Permit
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

    def around(self, before_call: BeforeCall, estimate: Callable[[CallPlanned], int]) -> BeforeCall:
        """The hook of the chain: what `before_call` says, within what is left."""

        async def ask(planned: CallPlanned) -> Permit:
            tokens = self.tokens_for(planned, estimate(planned))
            if tokens is None:
                self.denied = True
                return Denied(REASON)
            permit = await before_call(replace(planned, request=replace(planned.request, max_tokens=tokens)))
            return Allowed(min(tokens, permit.max_tokens)) if isinstance(permit, Allowed) else permit

        return ask

    def tokens_for(self, planned: CallPlanned, input_tokens: int) -> int | None:
        """How long the answer may be; None: not long enough to be worth asking for."""
        wanted, prompt = planned.request.max_tokens, round(input_tokens * INPUT_MARGIN) + planned.web_tokens
        left = self.limit_microusd - self.spent_microusd
        service, model, searches = planned.service, planned.model, planned.searches
        most = worst_case_microusd(service, model, prompt, wanted, self.prices, searches)
        if most is None or most <= left:
            return wanted
        tokens = affordable_tokens(service, model, prompt, left, self.prices, searches) or 0
        return min(wanted, tokens) if tokens >= min(LEAST_TOKENS, wanted) else None
