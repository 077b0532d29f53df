"""Probes, and what the pages do while Redis is away."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import httpx
import pytest
from arq.connections import ArqRedis

from dashboard import texts
from dashboard.asked import Asked
from dashboard.main import LAST_ANSWERS_S, serve
from dashboard.outage import Away
from dashboard.page import Page, Values
from dashboard.show import KEPT, KEPT_MS, LastValues, Seen, values_now
from infra import health, keys
from infra.redis_port import RedisPort
from infra.settings_sources import BadSetting
from infra.texts import later
from tests.dashboard.house import NOW_MS, PASSWORDS, Hands, browser, settings_of, shared_by


@asynccontextmanager
async def no_redis(tmp_path: Path) -> AsyncGenerator[RedisPort]:
    """A client of a server that is not there."""
    client = cast("RedisPort", ArqRedis.from_url(f"unix://{tmp_path}/none.sock"))
    yield client
    await client.aclose(close_connection_pool=True)


# ── probes ───────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_it_is_alive_as_soon_as_it_answers(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        answer = await client.get("/healthz")

    assert (answer.status_code, answer.text) == (200, "alive\n")


async def test_it_is_ready_when_a_worker_was_seen(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        before = await client.get("/readyz")
        await health.beat(redis, "worker", "elsewhere-1")
        after = await client.get("/readyz")

    assert (before.status_code, before.text) == (503, "no worker has been seen for 15 s\n")
    assert after.status_code == 200


async def test_it_is_alive_but_not_ready_while_redis_is_away(redis: RedisPort, tmp_path: Path) -> None:
    shared = await shared_by(redis, PASSWORDS)
    async with no_redis(tmp_path) as away, browser(replace(shared, redis=away)) as client:
        alive, ready = await client.get("/healthz"), await client.get("/readyz")

    assert alive.status_code == 200
    assert (ready.status_code, ready.text) == (503, "Redis cannot be reached\n")


# ── Redis away ───────────────────────────────────────────────────────────────────────────────────────────────────
async def test_without_redis_a_page_says_so_in_words(redis: RedisPort, tmp_path: Path) -> None:
    shared = await shared_by(redis, {})
    async with no_redis(tmp_path) as away, browser(replace(shared, redis=away)) as client:
        answer = await client.get("/system")

    assert answer.status_code == 503
    assert "Redis cannot be reached." in answer.text
    assert "Traceback" not in answer.text


async def test_nobody_gets_in_while_nobody_counts_the_tries(redis: RedisPort, tmp_path: Path) -> None:
    shared = await shared_by(redis, PASSWORDS)
    async with no_redis(tmp_path) as away, browser(replace(shared, redis=away)) as client:
        answer = await client.post(
            "/login", data={"password": "carp"}, headers={"Origin": "http://127.0.0.1:8420"}
        )

    assert answer.status_code == 503
    assert "set-cookie" not in answer.headers


async def test_what_was_seen_last_is_shown_with_its_time_and_without_texts(
    redis: RedisPort, tmp_path: Path
) -> None:
    clock = Hands()
    shared = await shared_by(redis, {}, clock)

    async def values(asked: Asked) -> Values:
        await asked.shared.redis.ping()
        return {"text": "boiler"}

    page, last = Page("system", "/system", later("System"), values), LastValues()
    asked = Asked(shared, "admin", "en", NOW_MS)
    assert await values_now(page, asked, last) == {"text": "boiler"}
    async with no_redis(tmp_path) as away:
        gone = Asked(replace(shared, redis=away), "admin", "en", NOW_MS + 60_000)
        shown = await values_now(page, gone, last)
        with pytest.raises(Away):
            await values_now(page, Asked(gone.shared, "reader", "en", NOW_MS), last)
        with pytest.raises(Away):
            await values_now(page, Asked(gone.shared, "admin", "en", NOW_MS + KEPT_MS + 1), last)

    assert shown == {"text": "boiler", "stale": "12:00", "shows_texts": False}


def test_only_the_newest_views_are_kept() -> None:
    last = LastValues()
    for view in range(KEPT + 1):
        last.put(view, Seen(NOW_MS, {}))

    assert last.get(0, NOW_MS) is None
    assert last.get(1, NOW_MS)


# ── the process ──────────────────────────────────────────────────────────────────────────────────────────────────
@asynccontextmanager
async def served(redis: RedisPort, environ: dict[str, str]) -> AsyncGenerator[tuple[str, asyncio.Event]]:
    """The address of a dashboard that really runs, and what ends it."""
    stop, told = asyncio.Event(), asyncio.Queue[str]()
    settings = settings_of({"KOI_DASHBOARD_BIND": "127.0.0.1:0"} | environ)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(settings, redis, clock=Hands(), stop=stop, say=told.put_nowait))
        try:
            async with asyncio.timeout(10):
                url = (await told.get()).removeprefix("Dashboard: ")
            yield url, stop
        finally:
            stop.set()


async def test_it_serves_on_a_free_port_and_ends_with_its_streams(redis: RedisPort) -> None:
    async with served(redis, {}) as (url, stop), httpx.AsyncClient(base_url=url) as client:
        port = httpx.URL(url).port
        page = await client.get("/system")
        async with client.stream("GET", "/live/system") as stream:
            lines = stream.aiter_lines()
            first = await anext(lines)
            assert await health.is_alive(redis, "dashboard")
            stop.set()
            async with asyncio.timeout(LAST_ANSWERS_S - 1):
                assert "" in [line async for line in lines]

    assert port
    assert page.status_code == 200
    assert "server" not in page.headers
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert first.startswith("id: ")
    assert texts.say("de", "System") == "System"


async def test_it_does_not_start_where_others_could_come_in(redis: RedisPort) -> None:
    settings = settings_of({"KOI_DASHBOARD_BIND": "0.0.0.0:0"})

    with pytest.raises(BadSetting, match="KOI_DASHBOARD_PASSWORD is not set"):
        await serve(settings, redis, clock=Hands(), stop=asyncio.Event(), say=print)
    assert await redis.get(keys.dashboard_secret()) is None


async def test_an_address_that_is_taken_is_named(redis: RedisPort) -> None:
    async with served(redis, {}) as (url, _stop):
        bind = url.removeprefix("http://")
        with pytest.raises(OSError, match=f"KOI_DASHBOARD_BIND {bind}"):
            await serve(
                settings_of({"KOI_DASHBOARD_BIND": bind}),
                redis,
                clock=Hands(),
                stop=asyncio.Event(),
                say=print,
            )
