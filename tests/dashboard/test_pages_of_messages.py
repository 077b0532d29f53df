"""Now, Messages, Failed and the side panel, as a browser gets them."""

import html
import re
from dataclasses import replace
from typing import cast
from urllib.parse import quote

import httpx
import pytest
from arq.connections import ArqRedis
from starlette.applications import Starlette

from dashboard.actions import RetryDead, field_of, stamp_of
from dashboard.page import Page
from dashboard.pages import failed, messages, now
from dashboard.words import said_in
from infra import health, keys
from infra.dead import letter_effects
from infra.pause import EVERYTHING, pause
from infra.people import save_person
from infra.redis_port import RedisPort
from infra.turns import turn_effects
from lanes.claim import claim_due
from schemas.dead import DeadLetter
from schemas.person import Person
from schemas.turn import LeftOut, Part, TurnRecord
from schemas.wire import dump
from tests.dashboard.house import NOW_MS, OWN, Hands, browser, shared_by
from tests.dashboard.records import BEN, dead, fallback, message, remember, sent, turn, wait, write
from workers.life import counts_of, minute_of

PAGES = ("/", "/messages", "/failed")
DAY_MS = 86_400_000


async def page(redis: RedisPort, path: str, environ: dict[str, str] | None = None, **headers: str) -> str:
    """Its text without markup that says nothing."""
    async with browser(await shared_by(redis, environ or {})) as client:
        answer = await client.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def seen(text: str) -> str:
    """What a person reads of it."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


async def count(redis: RedisPort, *lives: object) -> None:
    """The counters that go with records."""
    for life in lives:
        for what, n in counts_of(life).items():  # pyright: ignore[reportArgumentType]
            key, minute = minute_of(life.committed_ms)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
            for field in (f"{minute}:{what}", f"total:{what}"):
                async with redis.pipeline(transaction=False) as pipe:
                    pipe.hincrby(key, field, n)
                    await pipe.execute()


async def bury(redis: RedisPort, nth: int = 1, *, reason: str = "overloaded", **changes: object) -> bytes:
    body = message(nth, f"Broken question {nth}")
    letter = DeadLetter(
        id=body.id, job_id=keys.inbox_job(body.lane), at_ms=NOW_MS + nth, reason=reason, body=dump(body).decode(),
        owner=body.owner, **changes,  # pyright: ignore[reportArgumentType]
    )  # fmt: skip
    raw = dump(letter)
    for effect in letter_effects(letter, raw):
        async with redis.pipeline(transaction=False) as pipe:
            pipe.execute_command(effect.command, effect.key, *effect.args)
            await pipe.execute()
    return raw


# ── empty states ─────────────────────────────────────────────────────────────────────────────────────────────────
async def test_without_a_worker_now_says_so_and_how_to_start_one(redis: RedisPort) -> None:
    await wait(redis, message(1))

    text = seen(await page(redis, "/"))

    assert (
        "No worker has checked in. 1 message waits and is kept. Start it: docker compose up -d worker" in text
    )


async def test_without_a_message_the_lists_say_what_to_do(redis: RedisPort) -> None:
    for path in ("/", "/messages"):
        assert "No message yet. Send /start to your bot" in seen(await page(redis, path))
    assert "Nothing failed." in seen(await page(redis, "/failed"))


async def test_without_a_price_no_cost_is_shown_as_nothing(redis: RedisPort) -> None:
    await write(redis, turn(1, cost_microusd=None))
    await redis.hset(keys.spent("1001", "2026-11-30"), "unpriced", 1)

    text = seen(await page(redis, "/"))

    assert "$0.00" not in text
    assert "cost not known" in text


@pytest.mark.parametrize("path", [*PAGES, "/panel/turn?id=host-1-ab:1"])
async def test_with_redis_away_no_page_breaks(redis: RedisPort, path: str) -> None:
    await write(redis, turn(1))
    shared = await shared_by(redis, {})
    away = cast("RedisPort", ArqRedis.from_url("unix:///nowhere/valkey.sock"))
    async with browser(shared) as client:
        before = await client.get(path)
        app = cast("Starlette", cast("httpx.ASGITransport", client._transport).app)  # pyright: ignore[reportPrivateUsage]
        app.state.shared = replace(shared, redis=away)
        after = await client.get(path)

    assert before.status_code == 200
    assert after.status_code in {200, 503}
    assert "Redis cannot be reached" in after.text
    if path in PAGES:
        assert after.status_code == 200
        assert "as of" in after.text


# ── Now ──────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_first_sentence_counts_today(redis: RedisPort) -> None:
    await health.beat(redis, "worker", "elsewhere-1", slots=4)
    lives = (turn(1), turn(2), dead(3, at_ms=NOW_MS - 1), turn(4, at_ms=NOW_MS - 2 * DAY_MS))
    await write(redis, *lives)
    await count(redis, *lives)
    await redis.hset(keys.spent("1001", "2026-11"), "microusd", 190_000)

    text = seen(await page(redis, "/"))

    assert "2 answered today, none lost, $0.19 this month." in text
    assert "of 4 slots" in text


async def test_while_another_model_answers_the_reason_is_told(redis: RedisPort) -> None:
    await health.beat(redis, "worker", "elsewhere-1", slots=4)
    await write(redis, turn(1, at_ms=NOW_MS - 2000), fallback(2, at_ms=NOW_MS - 1000))

    text = seen(await page(redis, "/"))

    assert "Degraded, still answering. sonnet does not answer (rate-limited). 1 of the last 2 answers" in text


async def test_a_pause_is_told_with_its_time_and_can_be_ended(redis: RedisPort) -> None:
    await health.beat(redis, "worker", "elsewhere-1", slots=4)
    await pause(redis, EVERYTHING, NOW_MS)
    await wait(redis, message(1))

    text = await page(redis, "/")

    assert re.search(r"Paused\. Since \d\d:\d\d nothing is begun\. 1 message waits and is kept\.", seen(text))
    assert f'name="target" value="{NOW_MS} *"' in text
    assert "Resume all" in text


async def test_each_number_has_its_definition_in_words(redis: RedisPort) -> None:
    text = await page(redis, "/")

    tiles = re.findall(
        r'<div class="tile" title="([^"]+)">.*?<span class="unseen">: ([^<]+)</span>', text, re.DOTALL
    )
    assert len(tiles) == 6
    assert all(title == unseen for title, unseen in tiles)


async def test_lanes_show_what_is_done_runs_and_waits_in_order(redis: RedisPort) -> None:
    await save_person(redis, Person(user_id="1001", name="Anna"))
    await write(redis, turn(1), fallback(2))
    await wait(redis, message(3))
    await claim_due(redis, keys.inbox_queue(), lease_ms=10_000, wanted=1, prefix="host-9-abc", per_turn=20)
    await wait(redis, message(4))

    text = await page(redis, "/")

    assert 'aria-label="answered, answered by fallback, running, waiting"' in text
    assert "Anna" in seen(text)


async def test_a_reader_sees_no_button(redis: RedisPort) -> None:
    await bury(redis)
    await wait(redis, message(2))
    environ = {"KOI_DASHBOARD_PASSWORD": "carp", "KOI_DASHBOARD_READER_PASSWORD": "roach"}
    async with browser(await shared_by(redis, environ), role="reader") as client:
        for path in PAGES:
            assert "/do/" not in (await client.get(path)).text


async def test_a_region_comes_alone_when_htmx_asks(redis: RedisPort) -> None:
    headers = {"HX-Request": "true", "HX-Target": "section#tiles"}
    async with browser(await shared_by(redis, {})) as client:
        answer = await client.get("/", headers=headers)

    assert "<html" not in answer.text
    assert answer.text.count('class="tile"') == 6


@pytest.mark.parametrize("shown", [now.PAGE, messages.PAGE, failed.PAGE], ids=lambda one: one.name)
async def test_every_live_region_can_be_made_by_itself(redis: RedisPort, shown: Page) -> None:
    await write(redis, turn(1), fallback(2))
    await wait(redis, message(3))
    await bury(redis, 4)
    async with browser(await shared_by(redis, {})) as client:
        for name in shown.live:
            headers = {"HX-Request": "true", "HX-Target": f"div#{name}"}
            answer = await client.get(shown.path, headers=headers)
            assert answer.status_code == 200, name
            assert "<html" not in answer.text


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_message_shows_its_text_as_long_as_it_is_remembered(redis: RedisPort) -> None:
    await write(redis, turn(1), turn(2, lane=BEN, owner="home:u:1002", user_id="1002"))
    await remember(redis, "home:u:1001", "host-1-ab:1", "Is the <kettle> on?")
    await remember(redis, "home:u:1002", "host-1-ab:2", "Too old", at_ms=NOW_MS - DAY_MS)

    text = await page(redis, "/messages")

    assert "Is the <kettle> on?" in text
    assert "Too old" not in text
    assert "text no longer kept" in text


async def test_texts_can_be_hidden_by_a_setting(redis: RedisPort) -> None:
    await write(redis, turn(1))
    await remember(redis, "home:u:1001", "host-1-ab:1", "Is the kettle on?")
    await wait(redis, message(2, "Waiting words"))
    await bury(redis, 3)
    environ = {"KOI_DASHBOARD__SHOW_TEXTS": "false"}

    for path in (*PAGES, "/panel/turn?id=host-1-ab:1", "/panel/waiting?job=in:7:1001:0&id=7:2", "/panel/dead?owner=home:u:1001&id=7:3"):  # fmt: skip
        text = await page(redis, path, environ)
        assert not any(words in text for words in ("kettle", "Waiting words", "Broken question"))
        assert "text hidden" in text
    shared = await shared_by(redis, environ)
    await shared.lives.read_on(redis)
    assert await said_in(shared, shared.lives.newest_first()) == {}  # not even read
    assert "Texts are hidden by a setting" in await page(redis, "/messages?q=kettle", environ)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("chat:anna", {"1", "3"}),
        ("state:failed", {"3"}),
        ("state:fallback", {"2"}),
        ("model:haiku", {"2"}),
        ('text:"kettle"', {"1"}),
        ("the whole answer", {"1"}),
        ("before:1h", set[str]()),
        ("-chat:anna", {"2"}),
        ("chat:anna state:answered", {"1"}),
        ("id:7:2", {"2"}),
    ],
)
async def test_a_query_in_the_address_finds_what_it_says(
    redis: RedisPort, said: str, found: set[str]
) -> None:
    await save_person(redis, Person(user_id="1001", name="Anna"))
    await write(redis, turn(1), fallback(2, lane=BEN, owner="home:u:1002", user_id="1002"), dead(3))
    await remember(redis, "home:u:1001", "host-1-ab:1", "Is the kettle on?")

    text = await page(redis, f"/messages?q={quote(said)}")

    assert set(re.findall(r'id="turn-\d+-host-1-ab-(\d)"', text)) == found
    assert f'value="{html.escape(said)}"' in text or f'value="{said}"' in text
    if not found:
        assert "Nothing fits." in text


async def test_a_query_that_is_not_understood_says_one_sentence(redis: RedisPort) -> None:
    await write(redis, turn(1))

    text = seen(await page(redis, "/messages?q=colour:red"))

    assert "There is nothing called colour: to search by. You can use chat:, person:" in text


async def test_waiting_messages_stand_first_and_can_be_deleted(redis: RedisPort) -> None:
    await write(redis, turn(1))
    await wait(redis, message(2, "Next question"))

    text = await page(redis, "/messages?q=state:waiting")

    assert "Next question" in text
    assert "/do/delete" in text
    assert 'id="turn-' not in text


async def test_a_list_is_cut_into_pages(redis: RedisPort) -> None:
    await write(redis, *(turn(nth, at_ms=NOW_MS + nth) for nth in range(1, 121)))

    first, last = await page(redis, "/messages"), await page(redis, "/messages?page=5")

    assert "1 to 25 of 120" in seen(first)
    assert 'href="/messages?page=2"' in first
    assert "101 to 120 of 120" in seen(last)
    assert "101 to 120 of 120" in seen(await page(redis, "/messages?page=99"))
    assert "1 to 25 of 120" in seen(await page(redis, "/messages?page=-1"))


# ── Failed ───────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_dead_letter_says_what_went_wrong_in_words(redis: RedisPort) -> None:
    await bury(redis)
    await bury(redis, 2, reason="the process died 6 times while it worked on this")
    await write(redis, dead(1))

    text = seen(await page(redis, "/failed"))

    assert "sonnet: overloaded, 3 times" in text
    assert "the process died 6 times while it worked on this" in text
    assert "Broken question 1" in text


async def test_a_dead_letter_is_tried_again_from_the_page(redis: RedisPort) -> None:
    raw = await bury(redis)
    field = field_of(RetryDead("home:u:1001", "7:1", stamp_of(raw)))
    async with browser(await shared_by(redis, {})) as client:
        assert f'value="{field}"' in html.unescape((await client.get("/failed")).text)
        answer = await client.post("/do/retry", data={"target": field}, headers=OWN)

    assert answer.status_code == 303
    assert await redis.zcard(keys.dead()) == 0
    assert await redis.llen(keys.items("in:7:1001:0")) == 1


async def test_all_that_match_are_asked_about_with_their_number(redis: RedisPort) -> None:
    await bury(redis, 1)
    await bury(redis, 2)
    async with browser(await shared_by(redis, {})) as client:
        answer = await client.post("/do/drop", data={"query": 'text:"question 2"'}, headers=OWN)

    assert "Drop 1 message for good?" in answer.text
    assert "home:u:1001|7:2" in answer.text
    assert "7:1\n" not in answer.text


async def test_a_lane_that_fails_now_is_told(redis: RedisPort) -> None:
    await wait(redis, message(1))
    await redis.hset(keys.state("in:7:1001:0"), "failures", 2)

    assert "Failing now" in seen(await page(redis, "/failed"))
    assert "2 attempts failed" in seen(await page(redis, "/failed"))


# ── side panel ───────────────────────────────────────────────────────────────────────────────────────────────────
async def test_one_turn_shows_its_steps_its_context_and_its_cost(redis: RedisPort) -> None:
    await write(redis, fallback(1), sent(1, resent=1))
    record = TurnRecord(
        id="host-1-ab:1", lane="7:1001:0", owner="home:u:1001", bot="home", user_id="1001", at_ms=NOW_MS - 2000,
        oldest_ms=NOW_MS - 2000, took_ms=2000, message_ids=("7:1",), asked="sonnet", model="haiku", tier="strong",
        why="demanding", budget_tokens=6000, estimated_tokens=1500, correction=1.0,
        parts=(Part(kind="system", tokens=1000), Part(kind="message", tokens=20, text="Is the kettle on?")),
        left_out=(LeftOut(kind="entry", tokens=90, why="no_room"), LeftOut(kind="entry", tokens=60, why="no_room")),
        ending="answered",
    )  # fmt: skip
    for effect in turn_effects(record, DAY_MS):
        async with redis.pipeline(transaction=False) as pipe:
            pipe.execute_command(effect.command, effect.key, *effect.args)
            await pipe.execute()

    text = seen(await page(redis, "/panel/turn?id=host-1-ab:1"))

    for words in ("Is the kettle on?", "answered by fallback", "rate-limited", "1,020 of 6,000 tokens", "2 × remembered entry",
                  "no room in the budget", "1 part was sent twice and marked.", "$0.0041", "the message says a lot"):  # fmt: skip
        assert words in text


async def test_the_panel_alone_comes_to_htmx(redis: RedisPort) -> None:
    await write(redis, turn(1))
    headers = {"HX-Request": "true", "HX-Target": "aside#panel"}
    async with browser(await shared_by(redis, {})) as client:
        answer = await client.get("/panel/turn?id=host-1-ab:1", headers=headers)

    assert "<html" not in answer.text
    assert "data-close" in answer.text
    assert "What the model was given is no longer kept." in answer.text


async def test_what_waits_says_what_is_before_it(redis: RedisPort) -> None:
    await wait(redis, message(1, "First"), message(2, "Second"))

    text = seen(await page(redis, "/panel/waiting?job=in:7:1001:0&id=7:2"))

    assert "Second" in text
    assert "1 message of this chat" in text


@pytest.mark.parametrize(
    "path",
    ["/panel/turn?id=no", "/panel/turn", "/panel/waiting?job=in:7:1:0&id=1", "/panel/dead?owner=o&id=1"],
)
async def test_what_is_gone_is_said_to_be_gone(redis: RedisPort, path: str) -> None:
    async with browser(await shared_by(redis, {})) as client:
        answer = await client.get(path)

    assert answer.status_code == 404
    assert "expired or was forgotten" in answer.text


async def test_what_a_record_quotes_is_gone_with_its_time(redis: RedisPort) -> None:
    await write(redis, turn(1))
    await remember(redis, "home:u:1001", "host-1-ab:1", "Is the kettle on?")
    hands = Hands(NOW_MS + DAY_MS)
    async with browser(await shared_by(redis, {}, hands)) as client:
        answer = await client.get("/panel/turn?id=host-1-ab:1")

    assert "kettle" not in answer.text
    assert "text no longer kept" in answer.text


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/", "heute beantwortet, keine verloren"),
        ("/messages", "Wo die Zeit blieb"),
        ("/failed", "Noch einmal versuchen"),
        ("/panel/turn?id=host-1-ab:1", "Gedächtnis und Kontext"),
    ],
)
async def test_german_is_spoken_where_it_is_chosen(redis: RedisPort, path: str, word: str) -> None:
    await write(redis, turn(1))
    await bury(redis)

    assert word.casefold() in seen(await page(redis, path, {"KOI_LANGUAGE": "de"})).casefold()
