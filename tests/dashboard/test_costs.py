"""Costs: equal to what the calls themselves were billed, and to the counters of people; unknown is never 0."""

from collections import Counter
from zoneinfo import ZoneInfo

import pytest

from dashboard import calls as calls_module
from dashboard.calls import SLOT_MS, Slot, Standing, Sums, calls_of, standing_of
from dashboard.costs import RANGES, chart_of, range_of, read_costs
from dashboard.days import day_of, days_before, midnight_ms
from dashboard.shared import Shared
from dashboard.spent import day_totals, read_uses
from dashboard.standing import SHOWN_SLOTS, breaker_of, marks_of, strip_of
from infra import keys
from infra.redis_port import RedisPort
from llm.request import UNKNOWN
from tests.dashboard.furnish import DAY_MS, HOUR_MS, Caller, life, live
from tests.dashboard.house import NOW_MS, PASSWORDS, Hands, browser, shared_by

SONNET, HAIKU = 12_150, 4_050
"""What USED costs, micro-dollars: 1,000 read, 200 written to the cache, 3,000 read from it, 500 written."""


@pytest.fixture
async def shared(redis: RedisPort) -> Shared:
    return await shared_by(redis, PASSWORDS)


# ── days ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_days_are_those_of_the_house() -> None:
    berlin, half_past_eleven_utc = ZoneInfo("Europe/Berlin"), 1_796_081_400_000

    assert day_of(half_past_eleven_utc, ZoneInfo("UTC")) == "2026-11-30"
    assert day_of(half_past_eleven_utc, berlin) == "2026-12-01"
    assert midnight_ms("2026-12-01", berlin) == half_past_eleven_utc - HOUR_MS // 2
    assert days_before("2026-03-01", 3) == ("2026-02-27", "2026-02-28", "2026-03-01")


@pytest.mark.parametrize(
    ("asked", "first", "n"),
    [
        ("today", "2026-12-05", 1),
        ("month", "2026-12-01", 5),
        ("31d", "2026-11-05", 31),
        ("?", "2026-12-01", 5),
    ],
)
def test_a_range_ends_today(asked: str, first: str, n: int) -> None:
    found = range_of(asked, days_before("2026-12-05"))

    assert (found[0], found[-1], len(found)) == (first, "2026-12-05", n)
    assert set(RANGES) == {"today", "month", "31d"}


# ── sums ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_every_sum_is_what_the_calls_were_billed(redis: RedisPort, shared: Shared) -> None:
    caller = Caller(redis)
    await caller.calls("sonnet", times=3)
    await caller.calls("haiku", times=2, user_id="43", bot="home")
    await caller.calls("sonnet", "overloaded", usage=UNKNOWN)
    caller.now_ms = NOW_MS - 2 * DAY_MS
    await caller.calls("haiku", times=4)

    month = await read_costs(shared, NOW_MS, "month")
    today = await read_costs(shared, NOW_MS, "today")

    assert month.whole.microusd == sum(one.cost_microusd for one in caller.made) == 3 * SONNET + 6 * HAIKU
    assert today.whole.microusd == today.money.today == 3 * SONNET + 2 * HAIKU
    assert month.money.month == month.whole.microusd
    assert [(line.name, line.sums.microusd, line.sums.calls) for line in month.models] == [
        ("sonnet", 3 * SONNET, 4),
        ("haiku", 6 * HAIKU, 6),
    ]
    assert {line.name: line.sums.microusd for line in month.bots} == {
        "parcels": 3 * SONNET + 4 * HAIKU,
        "home": 2 * HAIKU,
    }
    assert {line.name: line.sums.microusd for line in today.people} == {"42": 3 * SONNET, "43": 2 * HAIKU}
    assert today.whole.failed == 1
    assert month.tokens == {"input": 9_000, "cache_write": 1_800, "cache_read": 27_000, "output": 4_500}
    assert month.whole.cache_share == pytest.approx(27_000 / 37_800)


async def test_the_sums_of_a_person_are_their_counters(redis: RedisPort, shared: Shared) -> None:
    caller = Caller(redis)
    await caller.calls("sonnet", times=2)
    await caller.calls("mystery", times=1)

    costs = await read_costs(shared, NOW_MS, "today")

    (line,), use = costs.people, costs.uses["42"]
    assert (use.microusd, use.month_microusd, use.answers, use.unpriced) == (2 * SONNET, 2 * SONNET, 3, 1)
    assert use.tokens == line.sums.tokens
    assert costs.whole.unpriced == costs.money.unpriced == 1


async def test_what_is_read_on_is_counted_once(redis: RedisPort, shared: Shared) -> None:
    caller = Caller(redis)
    seen: list[int] = []
    for _ in range(3):
        await caller.calls("sonnet")
        seen.append((await read_costs(shared, NOW_MS, "today")).whole.calls)

    assert (await calls_of(shared)) is (await calls_of(shared))
    assert seen == [1, 2, 3]


async def test_calls_older_than_the_range_are_let_go(redis: RedisPort, shared: Shared) -> None:
    caller = Caller(redis, now_ms=NOW_MS - 40 * DAY_MS)
    await caller.calls("sonnet")

    costs = await read_costs(shared, NOW_MS, "31d")

    assert (costs.thirty_one.calls, costs.whole.calls) == (0, 0)
    assert not (await calls_of(shared)).days


async def test_days_whose_calls_were_trimmed_are_told_by_the_counters(
    redis: RedisPort, shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller(redis, now_ms=NOW_MS - 5 * DAY_MS)
    await caller.calls("sonnet", times=4)
    caller.now_ms = NOW_MS - 3 * DAY_MS
    await caller.calls("sonnet", times=2)
    caller.now_ms = NOW_MS
    await caller.calls("haiku")
    monkeypatch.setattr(calls_module, "STREAM_KEPT", 2)
    async with redis.pipeline() as pipe:
        pipe.xtrim(keys.calls(), maxlen=2, approximate=False)
        await pipe.execute()

    costs = await read_costs(shared, NOW_MS, "31d")

    assert costs.whole.microusd == SONNET + HAIKU
    assert costs.thirty_one.microusd == 6 * SONNET + HAIKU
    assert costs.since_ms == NOW_MS - 3 * DAY_MS
    again = await day_totals(shared, await calls_of(shared), days_before(day_of(NOW_MS, shared.zone)), ["42"])
    assert sum(sums.microusd for sums in again.values()) == 6 * SONNET + HAIKU


async def test_a_stranger_record_is_counted_as_unreadable_and_stops_nothing(
    redis: RedisPort, shared: Shared
) -> None:
    await redis.xadd(keys.calls(), {"record": b'{"v": 99}'})
    await redis.xadd(keys.calls(), {"other": b"x"})
    await Caller(redis).calls("sonnet")

    costs = await read_costs(shared, NOW_MS, "today")

    assert (costs.unreadable, costs.whole.calls) == (2, 1)


# ── unknown ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_model_without_a_price_is_named_and_its_cost_is_unknown_not_zero(
    redis: RedisPort, shared: Shared
) -> None:
    await Caller(redis).calls("mystery", times=2)

    costs = await read_costs(shared, NOW_MS, "today")

    assert [(one.model, one.calls) for one in costs.no_price] == [("mystery", 2)]
    assert costs.models[0].sums.cost_microusd is None
    assert costs.untold == 0


async def test_a_call_without_tokens_is_not_blamed_on_a_price(redis: RedisPort, shared: Shared) -> None:
    await Caller(redis).calls("sonnet", "timeout", usage=UNKNOWN)

    costs = await read_costs(shared, NOW_MS, "today")

    assert (costs.untold, tuple(costs.no_price)) == (1, ())


def test_the_share_of_the_cache_is_unknown_of_nothing() -> None:
    assert Sums().cache_share is None
    assert Sums(input=10, cache_read=30).cache_share == 0.75
    assert (
        Sums().cost_microusd,
        Sums(calls=2, unpriced=2).cost_microusd,
        Sums(calls=2, unpriced=1, microusd=5).cost_microusd,
    ) == (0, None, 5)


async def test_the_chart_is_in_the_money_of_the_house(redis: RedisPort) -> None:
    shared = await shared_by(redis, {"KOI_MONEY__CURRENCY": "EUR", "KOI_MONEY__RATE": "0.5"})
    days = {"2026-11-29": Sums(calls=1, unpriced=1), "2026-11-30": Sums(calls=1, microusd=3_000_000)}

    chart = chart_of(days, shared, "Cost")

    assert chart["x"] == [1_795_910_400, 1_795_996_800]
    assert chart["series"] == [{"label": "Cost", "tone": "running", "values": [None, 1.5], "fill": True}]


async def test_nobody_asked_for_costs_no_round_trip(shared: Shared) -> None:
    assert await read_uses(shared, [], NOW_MS) == {}


# ── how models stand ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("outcome", "standing"),
    [
        ("answered", "up"),
        ("tools", "up"),
        ("refused", "up"),
        ("rate_limited", "throttled"),
        ("overloaded", "throttled"),
        ("timeout", "down"),
        ("unauthorized", "down"),
        ("too_long", None),
        ("abandoned", None),
        ("deadline", None),
        ("of a later release", None),
    ],
)
def test_what_an_outcome_says_of_its_model(outcome: str, standing: str | None) -> None:
    assert standing_of(outcome) == standing


def test_quarters_that_went_well_are_one_mark_and_each_failure_has_its_own() -> None:
    def slot(up: int = 0, throttled: int = 0, down: int = 0, turn: str = "") -> Slot:
        return Slot(
            Counter[Standing]({"up": up, "throttled": throttled, "down": down}),
            turn,
            "overloaded" if turn else "",
            "",
        )

    marks = marks_of(
        [(4, slot(2)), (5, slot(1)), (6, slot(1, 2, turn="a")), (7, slot(0, 1, 1, turn="b")), (9, slot(3))], 0
    )

    assert [(mark.standing, mark.worked, mark.failed, mark.turn_id) for mark in marks] == [
        ("up", 3, 0, ""), ("throttled", 1, 2, "a"), ("down", 0, 2, "b"), ("up", 3, 0, ""),
    ]  # fmt: skip
    assert [(mark.from_ms // SLOT_MS, mark.to_ms // SLOT_MS) for mark in marks] == [
        (4, 6),
        (6, 7),
        (7, 8),
        (9, 10),
    ]
    assert marks[0].left == pytest.approx(100 * 4 / SHOWN_SLOTS, abs=0.001)
    assert marks[0].width == pytest.approx(100 * 2 / SHOWN_SLOTS, abs=0.001)


async def test_the_strip_tells_the_reason_and_the_message(redis: RedisPort, shared: Shared) -> None:
    caller = Caller(redis, now_ms=NOW_MS - HOUR_MS)
    await caller.calls("sonnet", times=2)
    caller.now_ms = NOW_MS
    await caller.calls("sonnet", "rate_limited", usage=UNKNOWN, turn_id="t9", detail="HTTP 429")
    await caller.calls("haiku")
    caller.now_ms = NOW_MS - 30 * HOUR_MS
    await caller.calls("old")

    strips = (await read_costs(shared, NOW_MS, "today")).strips

    assert [(strip.model, strip.counts["up"], strip.counts["throttled"]) for strip in strips] == [
        ("sonnet", 2, 1),
        ("haiku", 1, 0),
    ]
    last = strips[0].marks[-1]
    assert (last.tone, last.turn_id, last.outcome, last.detail) == (
        "fallback",
        "t9",
        "rate_limited",
        "HTTP 429",
    )


async def test_an_open_breaker_is_told_with_its_wait(redis: RedisPort, shared: Shared) -> None:
    await Caller(redis).calls("sonnet", "overloaded", usage=UNKNOWN)
    seconds, _ = await redis.time()
    await redis.hset(
        keys.breaker_open("anthropic", "sonnet"),
        mapping={
            "since": seconds * 1000,
            "until": (seconds + 60) * 1000,
            "wait": 60_000,
            "why": "overloaded",
            "asked": 1,
        },
    )

    (strip,) = (await read_costs(shared, NOW_MS, "today")).strips

    assert strip.breaker.since_ms == seconds * 1000
    assert 0 < strip.breaker.until_ms - strip.redis_ms <= 60_000
    assert (strip.breaker.why, strip.breaker.asked) == ("overloaded", True)


def test_a_breaker_that_is_closed_or_odd_is_no_error() -> None:
    assert breaker_of({}, b"2").failures == 2
    assert breaker_of({b"until": b"x"}, None).until_ms == 0
    assert strip_of(("a", "m"), {}, 0, breaker_of({}, None), 0).marks == ()


# ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_page_names_the_price_that_is_missing_and_shows_no_zero(
    redis: RedisPort, shared: Shared
) -> None:
    await Caller(redis).calls("mystery")

    async with browser(shared, role="reader") as client:
        answer = await client.get("/costs?range=today")

    assert answer.status_code == 200
    assert "No price for model mystery; tokens only." in answer.text
    assert "Set it in [prices] in koi.toml." in answer.text
    assert "$0.00" not in answer.text.partition('id="cost-tiles"')[2].partition("</b>")[0]


async def test_the_page_shows_dollars_beside_the_money_of_the_house(redis: RedisPort) -> None:
    await Caller(redis).calls("sonnet", times=100)
    shared = await shared_by(
        redis, {**PASSWORDS, "KOI_MONEY__CURRENCY": "EUR", "KOI_MONEY__RATE": "0.5", "KOI_LANGUAGE": "de"}
    )

    async with browser(shared, role="admin") as client:
        answer = await client.get("/costs")

    assert "0,61\xa0€" in answer.text
    assert "1,22\xa0$" in answer.text or "1,21\xa0$" in answer.text
    assert "Kosten pro Tag" in answer.text


async def test_cost_per_conversation_is_that_of_now(redis: RedisPort, shared: Shared) -> None:
    await live(
        redis,
        [life(cost_microusd=4_000), life(cost_microusd=2_000, exchange=2, committed_ms=NOW_MS - 60_000)],
    )

    costs = await read_costs(shared, NOW_MS, "today")

    assert (costs.conversations.count, costs.conversations.cost_microusd) == (1, 6_000)


async def test_a_clock_that_goes_on_moves_the_day(redis: RedisPort) -> None:
    hands = Hands()
    shared = await shared_by(redis, {}, hands)
    await Caller(redis).calls("sonnet")
    hands.now_ms += DAY_MS

    costs = await read_costs(shared, hands.now_ms, "today")

    assert (costs.whole.calls, costs.thirty_one.calls) == (0, 1)
