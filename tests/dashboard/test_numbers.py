"""The numbers on top of Now: what they count, from when on, and what they say of what is not known."""

from collections import Counter
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.counts import Counts, Money, day_begins_ms, read_counts, read_money, utc_days
from dashboard.lives import Row, row_of
from dashboard.numbers import Conversations, condition_of, conversations_of, numbers_of, percentile
from dashboard.queue import LaneNow, QueueNow
from dashboard.sentence import headline, reason, totals
from infra import keys
from infra.pause import EVERYTHING, Paused
from infra.redis_port import RedisPort
from infra.settings_sections import MoneySettings
from schemas.life import TurnLife
from tests.dashboard.house import NOW_MS
from tests.dashboard.records import BEN, dead, fallback, turn
from workers.life import MINUTE_MS, minute_of

BERLIN, KOLKATA, LA = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata"), ZoneInfo("America/Los_Angeles")
WORKS = QueueNow(workers=1, slots=4)
QUIET = Money()


def at(text: str, zone: ZoneInfo = BERLIN) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def rows(*lives: TurnLife) -> list[Row]:
    """Newest first."""
    return [row_of(life) for life in reversed(lives)]


async def count(redis: RedisPort, at_ms: int, what: str, n: int = 1) -> None:
    key, minute = minute_of(at_ms)
    async with redis.pipeline(transaction=False) as pipe:
        pipe.hincrby(key, f"{minute}:{what}", n)
        pipe.hincrby(key, f"total:{what}", n)
        await pipe.execute()


@pytest.mark.parametrize("zone", [BERLIN, KOLKATA, LA, ZoneInfo("UTC"), ZoneInfo("Asia/Kathmandu")], ids=str)
async def test_today_is_counted_from_midnight_of_the_house_to_the_minute(
    redis: RedisPort, zone: ZoneInfo
) -> None:
    now_ms = at("2026-11-30T15:10", zone)
    for moment, n in (("2026-11-29T23:59", 1), ("2026-11-30T00:00", 10), ("2026-11-30T15:10", 100), ("2026-11-23T23:59", 1000), ("2026-11-24T00:00", 10_000)):  # fmt: skip
        await count(redis, at(moment, zone), "answered", n)

    counts = await read_counts(redis, now_ms, zone)

    assert counts.today["answered"] == 110
    assert counts.week["answered"] == 10_111


@given(
    st.integers(NOW_MS - 400 * 86_400_000, NOW_MS),
    st.sampled_from([BERLIN, KOLKATA, LA, ZoneInfo("Australia/Lord_Howe")]),
)
def test_a_day_of_the_house_begins_at_its_midnight_also_when_clocks_change(
    now_ms: int, zone: ZoneInfo
) -> None:
    begins_ms = day_begins_ms(now_ms, zone)

    local = datetime.fromtimestamp(begins_ms / 1000, UTC).astimezone(zone)
    assert (local.hour, local.minute) == (0, 0)
    assert 0 <= now_ms - begins_ms < 25 * 3_600_000
    assert utc_days(begins_ms, now_ms)[-1] == f"{datetime.fromtimestamp(now_ms / 1000, UTC):%Y-%m-%d}"


async def test_the_last_hour_is_drawn_by_the_minute_across_midnight(redis: RedisPort) -> None:
    now_ms = at("2026-11-30T00:10", ZoneInfo("UTC"))
    await count(redis, now_ms, "answered", 3)
    await count(redis, now_ms - 59 * MINUTE_MS, "answered", 2)
    await count(redis, now_ms - 60 * MINUTE_MS, "answered", 7)
    await count(redis, now_ms - 15 * MINUTE_MS, "failed", 1)

    counts = await read_counts(redis, now_ms, BERLIN)

    answered = counts.minutes["answered"]
    assert (len(answered), answered[0], answered[-1], sum(answered)) == (60, 2, 3, 5)
    assert counts.minutes["failed"][44] == 1
    assert counts.first_minute_ms == now_ms - 59 * MINUTE_MS


async def test_money_is_that_of_all_people_with_what_has_no_price_apart(redis: RedisPort) -> None:
    now_ms = at("2026-11-30T00:30")
    await redis.hset(keys.spent("1", "2026-11-30"), mapping={"microusd": 5, "unpriced": 2})
    await redis.hset(keys.spent("2", "2026-11-30"), "microusd", 7)
    await redis.hset(keys.spent("2", "2026-11"), "microusd", 70)

    assert await read_money(redis, ["1", "2", "1", "3"], now_ms, BERLIN) == Money(
        12, 70, 2, has_unpriced=True
    )
    assert await read_money(redis, [], now_ms, BERLIN) == Money()


def test_a_conversation_is_counted_from_its_beginning_if_it_had_an_exchange_today() -> None:
    day_ms = NOW_MS - 3_600_000
    found = conversations_of(
        rows(
            turn(1, at_ms=day_ms - 9_000, session_id="old"),
            turn(2, at_ms=day_ms - 8_000, session_id="a"),
            turn(3, at_ms=day_ms + 1_000, session_id="a", exchange=4),
            turn(4, at_ms=NOW_MS - 1_000, session_id="b", exchange=1, lane=BEN, cost_microusd=None),
            turn(5, at_ms=NOW_MS, state="line", exchange=0, session_id=""),
        ),
        day_begins_ms=day_ms, now_ms=NOW_MS, idle_ms=1_800_000,
    )  # fmt: skip

    assert found == Conversations(
        count=2, exchanges=2.5, exchanges_p90=4, open=1, cost_microusd=8200, unpriced=1
    )


def test_of_a_chat_only_its_newest_conversation_is_open() -> None:
    found = conversations_of(
        rows(turn(1, at_ms=NOW_MS - 2, session_id="a"), turn(1, at_ms=NOW_MS - 1, session_id="b")),
        day_begins_ms=0, now_ms=NOW_MS, idle_ms=1_000,
    )  # fmt: skip

    assert found.open == 1


@pytest.mark.parametrize(
    ("ordered", "p90"), [([], None), ([3], 3), (list(range(1, 11)), 9), (list(range(1, 12)), 10)]
)
def test_nine_of_ten_have_at_most_as_many(ordered: list[int], p90: int | None) -> None:
    assert percentile(ordered, 0.9) == p90


def test_what_is_not_known_is_none_and_never_zero() -> None:
    numbers = numbers_of(Counts(), WORKS, Conversations(), Money(0, 0, 3, has_unpriced=True), dead=0, lost=0)

    assert (numbers.cost_today, numbers.cost_month, numbers.fallback_today) == (None, None, None)
    assert totals(numbers, MoneySettings(), "en") == "0 answered today, none lost, cost not known."


def test_the_fallback_rate_is_a_share_of_what_was_answered() -> None:
    counts = Counts(Counter(answered=10, fallback=1), Counter(answered=100, fallback=3))
    numbers = numbers_of(counts, WORKS, Conversations(), QUIET, dead=0, lost=0)

    assert (numbers.fallback_today, numbers.fallback_week) == (0.1, 0.03)


STUCK = (LaneNow("in:7:1:0", "stuck", ("a",), 1),)
BAD = fallback(2, at_ms=NOW_MS - 1_000)
CONDITIONS: list[tuple[str, QueueNow, list[TurnLife], int, str, str]] = [
    ("no_worker", QueueNow(waiting=3), [], 0, "No worker has checked in.", "3 messages wait and are kept. Start it"),
    ("paused", QueueNow(workers=1, paused=Paused({EVERYTHING: NOW_MS})), [], 0, "Paused.", "nothing is begun."),
    ("failing", WORKS, [dead(1), dead(2)], 0, "Messages are failing.", "could not be answered: overloaded"),
    ("stuck", QueueNow(workers=1, lanes=STUCK), [], 0, "1 chat is stuck.", "no worker takes them"),
    ("lost", WORKS, [], 2, "2 parts of answers were lost today.", "not sent a third time"),
    ("degraded", WORKS, [turn(1, at_ms=NOW_MS - 2_000), BAD], 0, "Degraded, still answering.",
     "sonnet does not answer (rate-limited). 1 of the last 2 answers came from another model, the newest from haiku."),
    ("degraded", WORKS, [fallback(1, attempts=())], 0, "Degraded", "(it failed just before)"),
    ("some_paused", QueueNow(workers=1, paused=Paused({"7": 1})), [], 0, "1 bot is paused.", "waits and is kept"),
    ("quiet", WORKS, [], 0, "", ""),
    ("quiet", WORKS, [BAD, turn(3)], 0, "", ""),
    ("quiet", WORKS, [dead(1, at_ms=NOW_MS - 3_600_000), dead(2, at_ms=NOW_MS - 3_600_000)], 0, "", ""),
    ("quiet", WORKS, [dead(1), turn(2)], 0, "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("health", "queue", "lives", "lost", "head", "why"), CONDITIONS)
def test_the_sentence_says_the_worst_that_is_true_now(
    health: str, queue: QueueNow, lives: list[TurnLife], lost: int, head: str, why: str
) -> None:
    numbers = numbers_of(Counts(), queue, Conversations(), QUIET, dead=0, lost=lost)

    found = condition_of(numbers, queue, rows(*lives), NOW_MS)

    assert found.health == health
    assert head in headline(found, "en")
    assert why in reason(found, "en", BERLIN)
    assert (found.tone == "failed") == (health in {"no_worker", "failing", "stuck", "lost"})


def test_all_is_well_once_something_was_answered() -> None:
    numbers = numbers_of(
        Counts(Counter(answered=38)), WORKS, Conversations(), Money(1, 190_000), dead=0, lost=0
    )

    assert condition_of(numbers, WORKS, rows(turn(1)), NOW_MS).health == "well"
    assert totals(numbers, MoneySettings(), "en") == "38 answered today, none lost, $0.19 this month."
    assert (
        totals(numbers, MoneySettings(), "de")
        == "38 heute beantwortet, keine verloren, 0,19\u00a0$ diesen Monat."
    )
