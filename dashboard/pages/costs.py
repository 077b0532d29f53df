"""Costs: what models cost and use, what has no price, how models stand."""

from functools import partial

from dashboard.asked import Asked
from dashboard.costs import RANGES, chart_of, read_costs
from dashboard.figures import money_text
from dashboard.page import Page, Values
from infra.settings_sections import MoneySettings
from infra.texts import later

RANGE_WORDS = {"today": later("Today"), "month": later("This month"), "31d": later("31 days")}
TOKEN_WORDS = {
    "input": later("read, not cached"),
    "cache_read": later("read from the cache"),
    "cache_write": later("written to the cache"),
    "output": later("written"),
}
IN_DOLLARS = MoneySettings()


async def values(asked: Asked) -> Values:
    """Of the range that `?range=` names."""
    chosen = asked.query.get("range", "month")
    chosen = chosen if chosen in RANGES else "month"
    costs = await read_costs(asked.shared, asked.now_ms, chosen)
    return {
        "costs": costs,
        "chosen": chosen,
        "ranges": [(name, asked.say(words)) for name, words in RANGE_WORDS.items()],
        "token_words": {kind: asked.say(words) for kind, words in TOKEN_WORDS.items()},
        "daily": chart_of(costs.days, asked.shared, asked.say(later("Cost per day"))),
        "dollars": partial(dollars, asked),
    }


def dollars(asked: Asked, microusd: float | None) -> str:
    """The same in US dollars, where the house counts in something else; else ""."""
    if microusd is None or asked.shared.settings.money.currency == "USD":
        return ""
    return money_text(microusd, IN_DOLLARS, asked.language)


PAGE = Page("costs", "/costs", later("Costs"), values, live=("cost_tiles", "cost_notes", "strips"))
