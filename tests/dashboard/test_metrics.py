"""/metrics: who may read it, and whether its numbers are those that were written."""

import base64

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dashboard.login import TRIES
from dashboard.measured import DAY_MS, Tally
from dashboard.metrics import password_in
from infra import health, keys
from infra.pause import PARKED_MS, pause
from infra.redis_port import RedisPort
from schemas.call import CallRecord
from schemas.wire import dump
from tests.dashboard.house import NOW_MS, PASSWORDS, Hands, browser, shared_by

TODAY_MS = NOW_MS // DAY_MS * DAY_MS
DAY = "2026-11-30"


def basic(password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"prometheus:{password}".encode()).decode()}


async def scraped(redis: RedisPort, clock: Hands | None = None) -> dict[str, float]:
    """Name and labels → value."""
    async with browser(await shared_by(redis, {}, clock)) as client:
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=1.0.0")
    return {
        " ".join((sample.name, *(f"{value}" for _, value in sorted(sample.labels.items())))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def call(number: int, **more: object) -> CallRecord:
    known = {
        "id": f"c{number}",
        "turn_id": "t",
        "lane": "7:1:0",
        "user_id": "1",
        "at_ms": NOW_MS,
        "took_ms": 5,
    }
    return CallRecord.model_validate(
        known | {"model": "m", "service": "anthropic", "outcome": "answered"} | more
    )


async def record(redis: RedisPort, one: CallRecord) -> None:
    await redis.xadd(keys.calls(), {"record": dump(one)})


# ── who may read it ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="nobody"),
        pytest.param(basic("pike"), 401, id="wrong"),
        pytest.param(basic(""), 401, id="empty"),
        pytest.param(basic("roach"), 200, id="reader"),
        pytest.param(basic("carp"), 200, id="admin"),
        pytest.param({"Authorization": "Bearer roach"}, 200, id="token"),
        pytest.param({"Authorization": "Bearer pike"}, 401, id="wrong token"),
        pytest.param({"Authorization": "Digest roach"}, 401, id="other scheme"),
        pytest.param({"Authorization": "Basic ???"}, 401, id="not readable"),
    ],
)
async def test_with_a_password_a_scraper_shows_it(
    redis: RedisPort, headers: dict[str, str], status: int
) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        answer = await client.get("/metrics", headers=headers)

    assert answer.status_code == status
    assert ("koi_" in answer.text) == (status == 200)
    assert ("www-authenticate" in answer.headers) == (status == 401)


async def test_who_is_logged_in_may_look(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS), role="reader") as client:
        assert (await client.get("/metrics")).status_code == 200


async def test_without_a_password_it_is_open_on_this_machine_only(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, {})) as client:
        assert (await client.get("/metrics")).status_code == 200
        assert (await client.get("/metrics", headers={"Host": "evil.example"})).status_code == 403


async def test_passwords_are_not_tried_here_without_end(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        for _ in range(TRIES):
            await client.get("/metrics", headers=basic("pike"))
        answer = await client.get("/metrics", headers=basic("roach"))

    assert answer.status_code == 429


async def test_a_scraper_that_comes_often_is_never_too_often(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        statuses = {(await client.get("/metrics", headers=basic("roach"))).status_code for _ in range(70)}

    assert statuses == {200}


@pytest.mark.parametrize(
    ("header", "password"),
    [("bearer  x ", "x"), ("BASIC YTpiOmM=", "b:c"), ("Basic /w==", ""), ("", ""), ("Basic", "")],
)
def test_a_password_is_read_from_its_header(header: str, password: str) -> None:
    assert password_in(header) == password


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_an_empty_house_counts_nothing(redis: RedisPort) -> None:
    found = await scraped(redis)

    assert found["koi_messages_total"] == 0
    assert found["koi_lanes waiting"] == 0
    assert found["koi_processes worker"] == 0
    assert found["koi_swept_lanes_total"] == 0


async def test_what_the_workers_counted_today_is_told(redis: RedisPort) -> None:
    await redis.hset(keys.minutes(DAY), mapping={"total:messages": 7, "1203:messages": 7, "total:failed": 2})
    await redis.hset(keys.minutes("2026-11-29"), mapping={"total:messages": 100})

    found = await scraped(redis)

    assert (found["koi_messages_total"], found["koi_failed_total"], found["koi_fallback_total"]) == (7, 2, 0)


async def test_the_queue_is_told_as_it_is(redis: RedisPort) -> None:
    seconds, _ = await redis.time()
    due, lane = seconds * 1000 - 6000, keys.inbox_queue()
    await redis.zadd(lane, {"in:a": due, "in:b": due + 3000, "in:c": due + 60_000, "in:d": PARKED_MS + due})
    await redis.zadd(keys.dead(), {"o|1": 1})
    await pause(redis, "7", NOW_MS)
    await redis.incr(keys.count("swept"))
    await health.beat(redis, "worker", "elsewhere-1")

    found = await scraped(redis)

    assert [found[f"koi_lanes {state}"] for state in ("waiting", "busy", "parked")] == [2, 1, 1]
    assert 6 <= found["koi_oldest_wait_seconds"] < 8
    assert (found["koi_dead_letters"], found["koi_paused"], found["koi_swept_lanes_total"]) == (1, 1, 1)
    assert found["koi_processes worker"] == 1


async def test_calls_of_models_are_added_up(redis: RedisPort) -> None:
    await record(redis, call(1, input_tokens=10, output_tokens=4, cost_microusd=1500))
    await record(redis, call(2, input_tokens=5, cache_read_tokens=90, cost_microusd=500))
    await record(redis, call(3, outcome="rate_limited", cost_microusd=None))
    await record(redis, call(4, model='a"b', at_ms=TODAY_MS - 1))

    found = await scraped(redis)

    assert found["koi_model_calls_total m answered anthropic"] == 2
    assert found["koi_model_calls_total m rate_limited anthropic"] == 1
    assert found["koi_model_tokens_total input m"] == 15
    assert found["koi_model_tokens_total cache_read m"] == 90
    assert found["koi_cost_usd_total m"] == 0.002
    assert found["koi_unpriced_calls_total m"] == 1
    assert not any('a"b' in name for name in found)


async def test_a_call_is_added_once_and_a_new_day_begins_with_none(redis: RedisPort) -> None:
    clock = Hands()
    shared, tally = await shared_by(redis, {}, clock), Tally()
    redis_ms = (await redis.time())[0] * 1000
    await record(redis, call(1, cost_microusd=7))
    assert (await tally.read_on(shared, redis_ms)).microusd["m"] == 7
    await record(redis, call(2, cost_microusd=8, at_ms=NOW_MS + 1))
    assert (await tally.read_on(shared, redis_ms)).microusd["m"] == 15
    assert (await tally.read_on(shared, redis_ms)).microusd["m"] == 15

    clock.now_ms += DAY_MS

    assert (await tally.read_on(shared, redis_ms)).microusd["m"] == 0


async def test_a_record_of_a_newer_koi_is_left_out(redis: RedisPort) -> None:
    await redis.xadd(keys.calls(), {"record": b'{"v": 99}'})
    await redis.xadd(keys.calls(), {"other": b"x"})

    assert not any(name.startswith("koi_model_calls") for name in await scraped(redis))
