"""/usage: what a person used today and this month, what it cost, and what their plan leaves."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, cast

from babel.dates import format_date
from babel.numbers import format_currency, format_decimal

from infra import keys
from infra.redis_port import RedisPort
from infra.settings import MoneySettings
from infra.together import checked, together
from workers.periods import day_ends_ms, day_of, days_until, local_time, month_ends_ms, month_of
from workers.plans import Plan
from workers.purse import UsedUp
from workers.texts import say, say_n, spoken
from workers.times import moment

if TYPE_CHECKING:
    from workers.recall import Reader  # which tells costs itself

MICRO = 1_000_000
SIGNIFICANT_DIGITS = 2
"""Shown of amounts below one: most answers cost less than a cent."""


@dataclass(frozen=True, slots=True)
class Spent:
    """A day or a month."""

    messages: int = 0
    """Counted only against a plan that limits them."""
    answers: int = 0
    tokens: int = 0
    """In and out, cached ones included."""
    microusd: int = 0
    """Of a month with what is reserved for running calls."""
    unpriced: int = 0
    """Calls whose price is not known, and so not in `microusd`."""


@dataclass(frozen=True, slots=True)
class Usage:
    day: Spent
    month: Spent


NOTHING_USED = Usage(Spent(), Spent())


async def load_usage(redis: RedisPort, user_id: str, now_ms: int, zone: tzinfo) -> Usage:
    """One round trip."""
    day = day_of(now_ms, zone)
    periods = (month_of(day), *days_until(day))
    replies = checked(
        await together(redis).run(*(("HGETALL", keys.spent(user_id, period)) for period in periods))
    )
    money, *days = (_counts(cast("Mapping[bytes, bytes]", reply)) for reply in replies)
    month = Counter[str]()
    for counts in days:
        month.update(counts)
    return Usage(_spent(days[-1]), replace(_spent(month), microusd=money["microusd"]))


def _counts(found: Mapping[bytes, bytes]) -> Counter[str]:
    return Counter({name.decode(): int(n) for name, n in found.items()})


def _spent(counts: Counter[str]) -> Spent:
    tokens = sum(counts[name] for name in ("input", "cache_write", "cache_read", "output"))
    return Spent(counts["messages"], counts["answers"], tokens, counts["microusd"], counts["unpriced"])


def usage_text(
    usage: Usage, plan: Plan | None, money: MoneySettings, reader: "Reader", house: tzinfo | None = None
) -> str:
    """Today, this month, what has no price, what the plan leaves; a line each. house: the zone whose days are counted; None:
    the reader's.
    """
    language, local = reader.language, local_time(reader.now_ms, house or reader.zone)
    month = format_date(local, "LLLL", locale=spoken(language))
    lines = [
        say(language, "Today: {spent}", spent=_spent_text(usage.day, money, language)),
        f"{month}: {_spent_text(usage.month, money, language)}",
    ]
    if usage.month.unpriced:
        lines.append(
            say_n(
                language,
                "{n} call of this month has no known price and is not in the sum.",
                "{n} calls of this month have no known price and are not in the sum.",
                usage.month.unpriced,
            )
        )
    return "\n".join([*lines, *_plan_lines(usage, plan, money, reader, house or reader.zone)])


def cost_text(microusd: int | None, money: MoneySettings, language: str) -> str:
    """In the money of the settings: "€0.0031", "1,20 €"; None is "unknown"."""
    if microusd is None:
        return say(language, "unknown")
    amount = Decimal(microusd) * Decimal(str(money.rate)) / MICRO
    if amount < 1:
        digits = SIGNIFICANT_DIGITS - 1 - (amount.adjusted() if amount else 0)
        amount = amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
        return format_currency(amount, money.currency, locale=spoken(language), decimal_quantization=False)
    return format_currency(amount, money.currency, locale=spoken(language))


def used_up_line(language: str, used_up: UsedUp, zone: tzinfo) -> str:
    """For the person whose plan does not allow an answer."""
    when = moment(used_up.renews_at_ms, zone, language)
    match used_up.kind:
        case "messages" if used_up.left:
            return say_n(
                language,
                "Your plan has {n} message left for today, fewer than you just sent. From {when} on there are more.",
                "Your plan has {n} messages left for today, fewer than you just sent. From {when} on there are more.",
                used_up.left,
                when=when,
            )
        case "messages":
            return say_n(
                language,
                "Your plan allows {n} message a day, and today's is used up. From {when} on I answer again.",
                "Your plan allows {n} messages a day, and today's are used up. From {when} on I answer again.",
                used_up.limit,
                when=when,
            )
        case "money":
            return say(
                language,
                "What your plan allows for this month is used up. From {when} on I answer again.",
                when=when,
            )
        case "models":
            return say(
                language, "Your plan allows none of the models of this bot. Its owner can change that."
            )


def _spent_text(spent: Spent, money: MoneySettings, language: str) -> str:
    locale = spoken(language)
    return " · ".join([
        say_n(language, "{n} answer", "{n} answers", spent.answers),
        say(language, "{tokens} tokens", tokens=format_decimal(spent.tokens, locale=locale)),
        cost_text(None if spent.unpriced and not spent.microusd else spent.microusd, money, language),
    ])  # fmt: skip


def _plan_lines(
    usage: Usage, plan: Plan | None, money: MoneySettings, reader: "Reader", house: tzinfo
) -> list[str]:
    if plan is None:
        return []
    language, zone, lines = reader.language, reader.zone, list[str]()
    if plan.messages_per_day is not None:
        lines.append(
            say(
                language, "Plan {plan}: {used} of {most} messages today, new ones from {when} on",
                plan=plan.name, used=usage.day.messages, most=plan.messages_per_day,
                when=moment(day_ends_ms(reader.now_ms, house), zone, language),
            )
        )  # fmt: skip
    if plan.microusd_per_month is not None:
        left = max(0, plan.microusd_per_month - usage.month.microusd)
        lines.append(
            say(
                language, "Plan {plan}: {left} of {most} left this month, all of it again from {when} on",
                plan=plan.name, left=cost_text(left, money, language),
                most=cost_text(plan.microusd_per_month, money, language),
                when=moment(month_ends_ms(reader.now_ms, house), zone, language),
            )
        )  # fmt: skip
    if plan.models:
        lines.append(
            say(language, "Plan {plan}: only {models}", plan=plan.name, models=", ".join(sorted(plan.models)))
        )
    return lines
