"""Nobody's use passes their plan: messages are counted at admission, money is reserved before each call.

The most a call can cost is added to the person's month before it is made, in the same step that checks the plan; when
the call is recorded (record.lua), the difference to its real cost is given back. A call that was killed before its
answer stays counted as reserved. So what a plan allows is never passed, however many calls run at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Literal

from infra import keys
from infra.clock import Clock
from infra.redis_port import RedisPort
from infra.scripts import Script
from llm.pricing import Price, affordable_tokens, worst_case_microusd
from llm.request import Allowed, CallPlanned, Denied, Permit
from workers.periods import DAY_TTL_MS, MONTH_TTL_MS, day_ends_ms, day_of, month_ends_ms, month_of
from workers.plans import Plan

LEAST_TOKENS = 256
"""An answer that may not have so many is not worth asking for."""
INPUT_MARGIN = 1.25
"""Of the estimated input. Output cannot pass max_tokens and rates cannot pass the dearest, so only a prompt that has
more tokens than this could cost more than was reserved; the estimate is under by more than a tenth in 0.5 % of turns
(CONTEXT.md). It is recorded as it is, with a warning (workers.records).
"""
RESERVE_TRIES = 3
"""With fewer tokens each, when others reserve at the same moment."""
KEPT_MS = 48 * 3_600_000
"""Marks of messages and reservations: longer than any turn is retried."""

COUNT = Script(Path(__file__).with_name("count.lua"))
RESERVE = Script(Path(__file__).with_name("reserve.lua"))


@dataclass(frozen=True, slots=True)
class UsedUp:
    """The plan does not allow it now."""

    kind: Literal["messages", "money", "models"]
    """models: none of those that were asked for is allowed, or has a known price; it will be the same tomorrow."""
    renews_at_ms: int = 0
    limit: int = 0
    """Messages a day."""
    left: int = 0
    """Messages: too few for the turn."""


@dataclass(frozen=True, slots=True)
class Purse:
    """Made once per process. Who has no plan costs no call of Redis."""

    redis: RedisPort
    clock: Clock
    zone: tzinfo
    prices: Mapping[str, Price]
    """Those of the settings."""

    async def admit(self, plan: Plan | None, user_id: str, message_ids: Sequence[str]) -> UsedUp | None:
        """None: go on. Counts each message once, however often and in whatever turns it is tried; all of a turn or none.

        Money is looked at when a model is asked: a free one may still answer.
        """
        if plan is None or plan.messages_per_day is None:
            return None
        now_ms = self.clock()
        left = await COUNT(
            self.redis,
            [keys.spent(user_id, day_of(now_ms, self.zone)), *map(keys.counted, message_ids)],
            [plan.messages_per_day, KEPT_MS, DAY_TTL_MS],
        )
        if left < 0:
            return None
        return UsedUp("messages", day_ends_ms(now_ms, self.zone), plan.messages_per_day, left)

    async def before_call(
        self, plan: Plan | None, user_id: str, planned: CallPlanned, input_tokens: int
    ) -> Permit | UsedUp:
        """input_tokens: of the request, by estimate. With less money than it could cost, the answer may be shorter."""
        wanted = planned.request.max_tokens
        if plan is None:
            return Allowed(wanted)
        if not plan.allows(planned.model):
            return Denied(f"plan {plan.name} does not allow {planned.model}")
        if plan.microusd_per_month is None:
            return Allowed(wanted)
        return await self._reserve(plan.name, plan.microusd_per_month, user_id, planned, input_tokens)

    async def _reserve(
        self, name: str, limit: int, user_id: str, planned: CallPlanned, input_tokens: int
    ) -> Permit | UsedUp:
        service, model, tokens = planned.service, planned.model, planned.request.max_tokens
        least, prompt = min(LEAST_TOKENS, tokens), round(input_tokens * INPUT_MARGIN) + planned.web_tokens
        now_ms = self.clock()
        month = month_of(day_of(now_ms, self.zone))
        for _ in range(RESERVE_TRIES):
            amount = worst_case_microusd(service, model, prompt, tokens, self.prices, planned.searches)
            if amount is None:
                return Denied(
                    f'the price of {model} is unknown, and plan {name} has a limit in money; set [prices."{model}"]'
                )
            if amount == 0:
                return Allowed(tokens)
            fits, left = await RESERVE(
                self.redis,
                [keys.spent(user_id, month), keys.reserved(planned.id)],
                [amount, limit, month, MONTH_TTL_MS, KEPT_MS],
            )
            if fits:
                return Allowed(tokens)
            fitting = affordable_tokens(service, model, prompt, left, self.prices, planned.searches)
            tokens = min(tokens, fitting or 0)
            if tokens < least:
                break
        return UsedUp("money", month_ends_ms(now_ms, self.zone))


class Wallet:
    """What one turn pays from: `before_call` is the chain's hook; `used_up` says why no model might be asked."""

    def __init__(
        self, purse: Purse, plan: Plan | None, user_id: str, estimate: Callable[[CallPlanned], int]
    ) -> None:
        """estimate: input tokens of a planned call."""
        self.purse = purse
        self.plan = plan
        self.user_id = user_id
        self.estimate = estimate
        self.used_up = UsedUp("models")
        """Of the denials so far, the one that passes by itself, if there is one."""

    async def before_call(self, planned: CallPlanned) -> Permit:
        """See llm.chain."""
        if self.plan is None:
            return Allowed(planned.request.max_tokens)
        permit = await self.purse.before_call(self.plan, self.user_id, planned, self.estimate(planned))
        if isinstance(permit, UsedUp):
            self.used_up = permit
            return Denied(f"plan {self.plan.name} is used up for this month")
        return permit
