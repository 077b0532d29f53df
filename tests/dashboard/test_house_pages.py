"""Chats, Memory, Costs, Schedules, People, System: each says what is missing and what to do, in both languages, and none
fails; a reader sees no buttons.
"""

import re
from dataclasses import replace
from typing import cast

import pytest
from arq.connections import ArqRedis
from redis.exceptions import ConnectionError as RedisConnectionError

from infra import keys
from infra.people import save_person
from infra.redis_port import RedisPort
from schemas.memory import Exchange, Session
from schemas.person import Person
from tests.dashboard.furnish import HOUR_MS, Caller, converse, entry, life, live, remember
from tests.dashboard.house import NOW_MS, PASSWORDS, browser, shared_by
from tests.dashboard.test_people import knock
from tests.dashboard.test_schedules import plan, reminder

OWNER = "home:u:42"
PAGES = (
    "/chats", "/chats?lane=7:42:0", "/chats?page=zzz", "/memory", f"/memory?owner={OWNER}", "/memory?page=0", "/costs", "/costs?range=31d",
    "/schedules", "/people", "/people?page=99999999", "/system",
)  # fmt: skip
EMPTY = {
    "/chats": ("Nobody has written yet.", "Noch hat niemand geschrieben."),
    "/memory": ("Nothing is remembered yet.", "Noch ist nichts gemerkt."),
    "/costs": (
        "No model was asked in the last 31 days.",
        "In den letzten 31 Tagen wurde kein Modell gefragt.",
    ),
    "/schedules": ("No reminder waits.", "Keine Erinnerung wartet."),
    "/people": ("Nobody was let in yet.", "Noch wurde niemand hereingelassen."),
    "/system": ("No worker has checked in", "Kein Worker hat sich gemeldet"),
}


async def furnish(redis: RedisPort) -> None:
    """Something on every page."""
    await live(
        redis, [life("t1"), life("t2", model="haiku"), life("t3", state="dead", model="", cost_microusd=None)]
    )
    await Caller(redis).calls("sonnet", times=2)
    await Caller(redis).calls("mystery", "timeout")
    await remember(redis, [entry()])
    exchange = Exchange(v=2, id="e", at_ms=NOW_MS, user="Wo?", reply="Da.", tokens=0)
    await converse(
        redis, Session(v=2, id="s", started_ms=NOW_MS, last_ms=NOW_MS, exchanges=(exchange,), total=1)
    )
    await save_person(redis, Person(user_id="42", name="Anna"))
    await save_person(redis, Person(user_id="44", role="blocked"))
    await plan(redis, reminder())
    await knock(redis)


@pytest.mark.parametrize("path", EMPTY)
@pytest.mark.parametrize(("language", "nth"), [("en", 0), ("de", 1)])
async def test_an_empty_house_is_told_what_to_do(
    redis: RedisPort, path: str, language: str, nth: int
) -> None:
    async with browser(
        await shared_by(redis, PASSWORDS | {"KOI_LANGUAGE": language}), role="admin"
    ) as client:
        answer = await client.get(path)

    assert answer.status_code == 200
    assert EMPTY[path][nth] in answer.text


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("role", ["admin", "reader"])
async def test_only_an_admin_sees_buttons_that_change_something(
    redis: RedisPort, path: str, role: str
) -> None:
    await furnish(redis)

    async with browser(await shared_by(redis, PASSWORDS), role=role) as client:
        answer = await client.get(path)

    assert answer.status_code == 200
    actions = set(
        re.findall(r'action="(/do/[^"]*|/memory/[^"]*|/people/[^"]*|/schedules/[^"]*)"', answer.text)
    )
    has_buttons = (role == "admin" and path.partition("?")[0] in {"/schedules", "/people", "/system"}) or (
        role,
        path,
    ) == ("admin", PAGES[4])
    assert bool(actions) is has_buttons


@pytest.mark.parametrize("path", PAGES)
async def test_with_redis_away_no_page_fails(redis: RedisPort, path: str) -> None:
    shared = await shared_by(redis, PASSWORDS)
    nowhere = cast("RedisPort", ArqRedis.from_url("unix:///nowhere/at/all.sock"))

    async with browser(replace(shared, redis=nowhere), role="admin") as client:
        answer = await client.get(path)

    assert answer.status_code == 503
    assert "Redis cannot be reached." in answer.text


@pytest.mark.parametrize("path", PAGES)
async def test_what_was_seen_stays_greyed_without_texts(
    redis: RedisPort, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await furnish(redis)

    async def away(*_: object, **__: object) -> None:
        raise RedisConnectionError("away")

    async with browser(await shared_by(redis, PASSWORDS), role="admin") as client:
        before = await client.get(path)
        monkeypatch.setattr(redis.connection_pool, "get_connection", away)
        after = await client.get(path)

    assert (before.status_code, after.status_code) == (200, 200)
    assert "What stands here is as of 12:00." in after.text
    assert "Wo ist das Paket?" not in after.text
    assert "Heizung" not in after.text


@pytest.mark.parametrize("path", PAGES)
async def test_broken_values_make_no_page_fail(redis: RedisPort, path: str) -> None:
    for key in (keys.ring(OWNER), keys.turns(OWNER)):
        await redis.rpush(key, b"{", b'{"v": 99}', b"[]")
    await redis.set(keys.session("7:42:0"), b"[1]")
    await redis.hset(keys.people(), "42", b"{")
    await redis.hset(keys.spent("42", "2026-11-30"), "microusd", "x")
    await redis.zadd(keys.due(), {"odd": 1, f"{OWNER}|r1": NOW_MS})
    await redis.zadd(keys.expiry(), {keys.ring(OWNER): NOW_MS + HOUR_MS, "odd": 1})
    await redis.xadd(keys.audit(), {"action": b"{"})
    await redis.xadd(keys.life(), {"turn": b"{"})
    await redis.set(keys.ran("sweep"), b"{")

    async with browser(await shared_by(redis, PASSWORDS), role="admin") as client:
        answer = await client.get(path)

    assert answer.status_code == 200


@pytest.mark.parametrize("path", PAGES)
async def test_every_live_region_stands_in_an_element_of_its_name(redis: RedisPort, path: str) -> None:
    from dashboard import pages  # noqa: PLC0415 — all modules of pages at once

    await furnish(redis)
    (page,) = [page for page in pages.pages() if page.path == path.partition("?")[0]]

    async with browser(await shared_by(redis, PASSWORDS), role="admin") as client:
        whole = (await client.get(path)).text
        for name in page.live:
            region = await client.get(
                path, headers={"HX-Request": "true", "HX-Target": f"div#{name.replace('_', '-')}"}
            )

            assert whole.count(f'id="{name.replace("_", "-")}"') == 1
            assert region.status_code == 200
            assert "<html" not in region.text
