"""Every model call is written down once, when it ended, and counted for its person."""

import asyncio
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from infra import keys
from infra.redis_port import RedisPort
from infra.settings import PriceSettings
from llm.request import UNKNOWN, CallEnded, Outcome, Usage
from schemas.call import CallRecord
from schemas.wire import load
from tests.workers.stage import House
from workers.records import FOLD, Recorder, cost_of

APRIL_5_23_59 = 1_775_426_340_000
"""In Berlin; in UTC it is 21:59."""
DAY, MONTH = keys.spent("42", "2026-04-05"), keys.spent("42", "2026-04")
USED = Usage(40, 30, 20, 10)
PRICES = {"sonnet": PriceSettings(input=2, output=10)}
COST = 80 + 75 + 4 + 100


def call(
    call_id: str = "c1", usage: Usage = USED, outcome: Outcome = "answered", detail: str = ""
) -> CallEnded:
    return CallEnded(call_id, "compatible", "sonnet", outcome, 12, usage, detail, effort="low")


@pytest.fixture
def recorder(redis: RedisPort) -> Recorder:
    return Recorder(redis, lambda: APRIL_5_23_59, zone=ZoneInfo("Europe/Berlin"), prices=PRICES)


async def records(recorder: Recorder) -> list[CallRecord]:
    found = await recorder.redis.xrange(keys.calls())
    return [load(CallRecord, fields[b"record"]) for _, fields in found]


async def counters(recorder: Recorder, key: str) -> dict[str, int]:
    return {name.decode(): int(n) for name, n in (await recorder.redis.hgetall(key)).items()}


def end(recorder: Recorder, *calls: CallEnded) -> None:
    for one in calls or (call(),):
        recorder.ended(one, turn_id="t", lane="7:42:0", user_id="42")


async def test_a_turn_records_its_calls_with_their_tokens(house: House) -> None:
    await house.say("Hallo")

    await house.services.recorder.flush()

    (record,) = await records(house.services.recorder)
    assert (record.model, record.outcome, record.took_ms, record.user_id) == ("sonnet", "answered", 12, "42")
    used = (record.input_tokens, record.cache_write_tokens, record.cache_read_tokens, record.output_tokens)
    assert used == (40, 30, 20, 10)


async def test_a_record_says_who_was_asked_why_and_what_it_cost(recorder: Recorder) -> None:
    given = recorder.ended(
        call(detail="HTTP 200"),
        turn_id="t",
        lane="7:42:0",
        user_id="42",
        bot="parcels",
        asked="opus",
        why="code",
    )
    await recorder.flush()

    (record,) = await records(recorder)
    assert record == given == CallRecord(
        id="c1", turn_id="t", lane="7:42:0", user_id="42", at_ms=APRIL_5_23_59, model="sonnet", outcome="answered",
        took_ms=12, input_tokens=40, cache_write_tokens=30, cache_read_tokens=20, output_tokens=10,
        service="compatible", bot="parcels", asked="opus", why="code", effort="low", detail="HTTP 200",
        cost_microusd=COST,
    )  # fmt: skip


async def test_a_call_is_recorded_and_counted_once_however_often_it_is_tried(recorder: Recorder) -> None:
    end(recorder)
    await recorder.flush()
    end(recorder)
    await recorder.flush()

    assert len(await records(recorder)) == 1
    assert (await counters(recorder, DAY))["microusd"] == COST


async def test_the_day_of_the_person_is_counted_in_koi_s_zone_and_the_money_of_the_month(
    recorder: Recorder,
) -> None:
    end(recorder, call("c1"), call("c2", outcome="truncated"), call("c3", Usage(5), "broken"))
    await recorder.flush()

    assert await counters(recorder, DAY) == {
        "answers": 2, "others": 1, "input": 85, "cache_write": 60, "cache_read": 40, "output": 20,
        "unpriced": 1, "microusd": 2 * COST,
    }  # fmt: skip
    assert await counters(recorder, MONTH) == {"microusd": 2 * COST}


async def test_the_offline_model_is_counted_without_money(recorder: Recorder) -> None:
    end(recorder, CallEnded("c1", "offline", "offline", "answered", 1, Usage(0, 0, 0, 0)))
    await recorder.flush()

    assert await counters(recorder, DAY) == {"answers": 1}
    assert await counters(recorder, MONTH) == {}


async def test_a_summary_is_paid_for_but_is_no_answer(recorder: Recorder) -> None:
    recorder.ended(call(), turn_id="t", lane="l", user_id="42", why=FOLD)
    await recorder.flush()

    counted = await counters(recorder, DAY)
    assert (counted.get("answers"), counted["others"], counted["microusd"]) == (None, 1, COST)


async def test_records_marks_and_counters_have_an_end(recorder: Recorder) -> None:
    end(recorder)
    await recorder.flush()

    day_ms, hours_48_ms = 24 * 3_600_000, 48 * 3_600_000
    ends_ms = [await recorder.redis.pttl(key) for key in (keys.call("c1"), keys.calls(), DAY, MONTH)]
    assert ends_ms == [
        pytest.approx(ms, abs=60_000) for ms in (hours_48_ms, 31 * day_ms, 62 * day_ms, 62 * day_ms)
    ]


async def test_what_could_not_be_written_waits_and_is_written_in_order(recorder: Recorder) -> None:
    redis = recorder.redis
    await redis.set(keys.calls(), "in the way")
    waited: list[float] = []

    async def make_way(seconds: float) -> None:
        waited.append(seconds)
        await redis.delete(keys.calls())

    recorder.sleep = make_way
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(recorder.serve())
        end(recorder, call("c1"), call("c2"))
        async with asyncio.timeout(5):
            while not waited or len(await records(recorder)) < 2:
                await asyncio.sleep(0.005)
        serving.cancel()

    assert waited == [1.0]
    assert [record.id for record in await records(recorder)] == ["c1", "c2"]


async def test_searches_of_the_service_are_recorded_and_paid_for(recorder: Recorder) -> None:
    end(recorder, call(usage=replace(USED, web_searches=2)))
    await recorder.flush()

    (record,) = await records(recorder)
    assert (record.web_searches, record.cost_microusd) == (2, COST + 2 * 10_000)


async def test_a_call_without_usage_is_recorded_as_unknown(recorder: Recorder) -> None:
    end(recorder, call(usage=UNKNOWN))
    await recorder.flush()

    (record,) = await records(recorder)
    assert (record.input_tokens, record.cost_microusd) == (None, None)


@pytest.mark.parametrize(
    ("outcome", "detail", "usage", "cost"),
    [
        ("rate_limited", "HTTP 429", UNKNOWN, 0),
        ("overloaded", "HTTP 529", UNKNOWN, 0),
        ("overloaded", "in mid-stream", Usage(100, 0, 0, 1), 210),
        ("broken", "ConnectError", UNKNOWN, 0),
        ("broken", "ReadError", UNKNOWN, None),
        ("timeout", "no text in time", UNKNOWN, None),
        ("abandoned", "", UNKNOWN, None),
    ],
)
def test_only_a_call_that_was_refused_at_once_costs_nothing(
    outcome: Outcome, detail: str, usage: Usage, cost: int | None
) -> None:
    assert cost_of(call(usage=usage, outcome=outcome, detail=detail), PRICES) == cost


def test_a_record_of_the_release_before_is_read() -> None:
    old = b'{"v":1,"id":"c","turn_id":"t","lane":"l","user_id":"4","at_ms":1,"model":"m","outcome":"answered","took_ms":1}'

    record = load(CallRecord, old)

    assert (record.v, record.cost_microusd, record.asked) == (1, None, "")
