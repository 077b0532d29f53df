"""/status: what the owner reads of koi's health."""

import time
from dataclasses import replace
from typing import Any

import pytest

from infra import health, keys
from infra.pause import PARKED_MS
from infra.redis_port import RedisPort
from infra.settings import MoneySettings
from schemas.call import CallRecord
from schemas.wire import dump
from tests.workers.stage import APRIL_5_14_23, BERLIN, HOUR_MS
from workers.status import LOOKED_AT, Status, load_status, status_text

FINE = Status(bots=1, workers=2, lanes=3, waiting=0, oldest_ms=0, dead=0, answers=5, microusd=12_000)
DOLLARS = MoneySettings()


def record(number: int, *, at_ms: int = APRIL_5_14_23, **more: Any) -> CallRecord:
    values: dict[str, Any] = {
        "model": "sonnet",
        "asked": "sonnet",
        "outcome": "answered",
        "cost_microusd": 100,
    } | more
    return CallRecord(
        id=f"c{number}", turn_id="t", lane="777:1:0", user_id="1", at_ms=at_ms, took_ms=1, **values
    )


async def test_an_idle_koi(redis: RedisPort) -> None:
    assert await load_status(redis, APRIL_5_14_23, BERLIN) == Status(0, 0, 0, 0, 0, 0)


async def test_processes_lanes_and_dead_letters_are_counted(redis: RedisPort) -> None:
    now_ms = int(time.time() * 1000)
    for kind, name in (("bot", "a-1"), ("worker", "a-2"), ("worker", "b-3")):
        await health.beat(redis, kind, name)
    await redis.zadd(keys.alive("worker"), {"gone-4": now_ms - health.ALIVE_MS - 1000})
    await redis.zadd(
        keys.inbox_queue(), {"in:a": now_ms - 90_000, "in:b": now_ms - 5, "in:c": now_ms + 10_000}
    )
    await redis.zadd(keys.dead(), {"o|1": 1})

    status = await load_status(redis, APRIL_5_14_23, BERLIN)

    assert (status.bots, status.workers, status.lanes, status.waiting, status.dead) == (1, 2, 3, 2, 1)
    assert 90_000 <= status.oldest_ms < 120_000


async def test_what_waits_for_the_end_of_a_pause_is_neither_in_work_nor_late(redis: RedisPort) -> None:
    now_ms = int(time.time() * 1000)
    await redis.zadd(keys.inbox_queue(), {"in:a": now_ms - 5, "in:b": now_ms - 90_000 + PARKED_MS})

    status = await load_status(redis, APRIL_5_14_23, BERLIN)

    assert (status.lanes, status.waiting, status.parked) == (1, 1, 1)
    assert "⚠ 1 Gespräch wartet: sein Bot ist angehalten" in status_text(status, DOLLARS, "de").splitlines()


async def test_only_calls_of_today_are_counted(redis: RedisPort) -> None:
    calls = [
        record(1, at_ms=APRIL_5_14_23 - 15 * HOUR_MS),
        record(2),
        record(3, model="haiku"),
        record(4, outcome="overloaded", cost_microusd=0),
        record(5, why="fold"),
        record(6, cost_microusd=None),
    ]
    for call in calls:
        await redis.xadd(keys.calls(), {"record": dump(call)})
    await redis.xadd(keys.calls(), {"record": b'{"v":99}'})

    status = await load_status(redis, APRIL_5_14_23, BERLIN)

    assert (status.answers, status.microusd, status.unpriced, status.fallbacks) == (3, 300, 1, 1)
    assert status.is_all


def test_all_is_well_in_a_few_lines() -> None:
    assert status_text(FINE, DOLLARS, "en").splitlines() == [
        "1 bot process",
        "2 workers",
        "3 conversations in work",
        "0 dead letters",
        "Today: 5 answers, $0.012",
        "0 of them by another model than the first choice",
    ]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"bots": 0}, "⚠ 0 Bot-Prozesse"),
        ({"workers": 0}, "⚠ 0 Worker"),
        ({"waiting": 2, "oldest_ms": 120_000}, "⚠ 1 Gespräch in Arbeit, 2 warten, das älteste seit 2 Min."),
        ({"waiting": 1, "oldest_ms": 900}, "2 Gespräche in Arbeit, 1 wartet, das älteste seit 0 Min."),
        ({"dead": 1}, "⚠ 1 unzustellbare Nachricht"),
        ({"unpriced": 1}, "1 Aufruf von heute hat keinen bekannten Preis und ist nicht in der Summe."),
        ({"is_all": False}, f"Nur die neuesten {LOOKED_AT} Aufrufe wurden angesehen; heute waren es mehr."),
    ],
)
def test_what_is_wrong_is_marked(change: dict[str, int], line: str) -> None:
    assert line in status_text(replace(FINE, **change), DOLLARS, "de").splitlines()
