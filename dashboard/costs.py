"""What models cost and use: by day, model, bot and person."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dashboard.calls import TOKENS, Calls, ModelAt, Sums, calls_of
from dashboard.counts import Money, day_begins_ms, read_money
from dashboard.days import day_of, days_before, midnight_ms, month_of
from dashboard.house_now import CONVERSATION_DAYS
from dashboard.names import Names, read_names
from dashboard.numbers import Conversations, conversations_of
from dashboard.shared import Shared
from dashboard.spent import Use, day_totals, read_uses
from dashboard.standing import Strip, read_strips
from infra.clock import ms

RANGES = ("today", "month", "31d")
MOST_ROWS = 25
"""Of each table, the dearest first."""
MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """One model, bot or person."""

    name: str
    sums: Sums
    detail: str = ""
    """A second name: the service of a model, the id of a person."""


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Calls whose cost is not known."""

    model: str
    calls: int


@dataclass(frozen=True, slots=True)
class Costs:
    """What the page shows."""

    money: Money
    """Today and this month, by the counters of people."""
    days: Mapping[str, Sums]
    """The last 31, oldest first."""
    whole: Sums
    """Of the chosen range, by the records of calls."""
    models: Sequence[Line]
    bots: Sequence[Line]
    people: Sequence[Line]
    uses: Mapping[str, Use]
    """Counters of the people in `people`."""
    no_price: Sequence[Unpriced]
    untold: int
    """Calls for which the service named no tokens."""
    tokens: Mapping[str, int]
    conversations: Conversations
    strips: Sequence[Strip]
    since_ms: int = 0
    """The tables know of nothing before; 0: they know all of the range."""
    unreadable: int = 0
    names: Names = field(default_factory=Names)

    @property
    def thirty_one(self) -> Sums:
        """All days together."""
        return summed(self.days.values())


async def read_costs(shared: Shared, now_ms: int, asked_range: str) -> Costs:
    """A handful of round trips; the work does not grow with the number of calls.

    Raises what redis-py raises.
    """
    calls, names = await calls_of(shared), await read_names(shared)
    await shared.lives.read_on(shared.redis)
    today = day_of(now_ms, shared.zone)
    days = days_before(today)
    chosen = range_of(asked_range, days)
    found = calls.of_days(chosen)
    whole = summed(day.total for day in found)
    models = added(day.models for day in found)
    people = lines_of(added(day.people for day in found), lambda user_id: (user_id, ""))
    spenders = users_of(calls, names)
    return Costs(
        money=await read_money(shared.redis, spenders, now_ms, shared.zone),
        days=await day_totals(shared, calls, days, spenders),
        whole=whole,
        models=lines_of(models, lambda at: (at[1], at[0])),
        bots=lines_of(added(day.bots for day in found), lambda bot: (bot, "")),
        people=people,
        uses=await read_uses(shared, [line.name for line in people], now_ms),
        no_price=no_price(models),
        untold=whole.untold,
        tokens={kind: getattr(whole, kind) for kind in TOKENS},
        conversations=conversations_of(
            shared.lives.since(day_begins_ms(now_ms, shared.zone, CONVERSATION_DAYS)),
            day_begins_ms=day_begins_ms(now_ms, shared.zone), now_ms=now_ms, idle_ms=ms(shared.settings.session.idle),
        ),
        strips=await read_strips(shared, calls.slots, now_ms),
        since_ms=_since_ms(calls, midnight_ms(chosen[0], shared.zone)),
        unreadable=calls.unreadable,
        names=names,
    )  # fmt: skip


def range_of(asked: str, days: Sequence[str]) -> tuple[str, ...]:
    """The days of one of RANGES; of anything else those of the month."""
    if asked == "today":
        return (days[-1],)
    if asked == "31d":
        return tuple(days)
    return tuple(day for day in days if month_of(day) == month_of(days[-1]))


def users_of(calls: Calls, names: Names) -> tuple[str, ...]:
    """Everybody whose counters may hold something."""
    people = names.people
    callers = (user_id for day in calls.days.values() for user_id in day.people)
    return tuple(dict.fromkeys(filter(None, (*callers, *people.by_id, *people.allowed, people.owner_id))))


def added[K](days: Iterable[Mapping[K, Sums]]) -> Mapping[K, Sums]:
    """The sums of several days, by what they are of."""
    found: dict[K, Sums] = {}
    for day in days:
        for key, sums in day.items():
            found.setdefault(key, Sums()).add_sums(sums)
    return found


def lines_of[K](found: Mapping[K, Sums], named: Callable[[K], tuple[str, str]]) -> tuple[Line, ...]:
    """The dearest first, then those with the most calls. named: name and detail of a key."""
    order = sorted(found.items(), key=lambda one: (-one[1].microusd, -one[1].calls, str(one[0])))
    return tuple(Line(named(key)[0], sums, named(key)[1]) for key, sums in order[:MOST_ROWS])


def no_price(models: Mapping[ModelAt, Sums]) -> tuple[Unpriced, ...]:
    """Models of which a price would tell the cost: tokens are known, and it is not."""
    calls = Counter[str]()
    for (_, model), sums in models.items():
        calls[model] += sums.unpriced - sums.untold
    return tuple(Unpriced(model, n) for model, n in calls.most_common() if n > 0)


def summed(many: Iterable[Sums]) -> Sums:
    """All together."""
    total = Sums()
    for sums in many:
        total.add_sums(sums)
    return total


def chart_of(days: Mapping[str, Sums], shared: Shared, label: str) -> dict[str, object]:
    """Cost per day in the money of the house, as widgets.chart takes it; a day of which nothing is known is a gap."""
    rate = shared.settings.money.rate
    costs = [sums.cost_microusd for sums in days.values()]
    values = [None if cost is None else round(cost * rate / MICRO, 6) for cost in costs]
    return {
        "x": [midnight_ms(day, shared.zone) // 1000 for day in days],
        "series": [{"label": label, "tone": "running", "values": values, "fill": True}],
        "whole": False,
        "least": max(filter(None, values), default=0) or 1,
    }


def _since_ms(calls: Calls, begins_ms: int) -> int:
    """When the tables begin to know, if that is after the range begins."""
    first_ms = calls.first_ms
    return first_ms if calls.is_trimmed and first_ms is not None and first_ms > begins_ms else 0
