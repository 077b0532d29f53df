"""The memory browser: what is kept, how long still, where it was used; and how it is forgotten."""

import pytest

from dashboard import audit
from dashboard.memories import kept_of, page_of, read_memory, read_owners, running_of, used_in
from dashboard.shared import Shared
from infra import keys
from infra.redis_port import RedisPort
from infra.turns import turn_effects
from schemas.memory import Exchange, Session
from schemas.turn import Part, TurnRecord
from schemas.wire import dump
from tests.dashboard.furnish import DAY_MS, HOUR_MS, MINUTE_MS, converse, entry, life, live, remember
from tests.dashboard.house import NOW_MS, OWN, PASSWORDS, browser, shared_by

OWNER = "home:u:42"
FIRST, SECOND = "0123456789abcdef:1", "0123456789abcdef:2"
HTMX = {**OWN, "HX-Request": "true"}


@pytest.fixture
async def shared(redis: RedisPort) -> Shared:
    return await shared_by(redis, PASSWORDS)


def record(turn_id: str, *entry_ids: str) -> TurnRecord:
    parts = (
        Part(kind="block", tokens=9, entry_ids=entry_ids),
        Part(kind="block", tokens=9, entry_ids=entry_ids),
    )
    return TurnRecord(
        id=turn_id, lane="7:42:0", owner=OWNER, bot="parcels", user_id="42", at_ms=NOW_MS, oldest_ms=NOW_MS - HOUR_MS,
        took_ms=5, message_ids=("7:1",), asked="sonnet", model="sonnet", tier="strong", why="asked_for", budget_tokens=6000,
        estimated_tokens=100, correction=1.0, parts=parts, ending="complete",
    )  # fmt: skip


async def keep_record(redis: RedisPort, one: TurnRecord) -> None:
    async with redis.pipeline() as pipe:
        for effect in turn_effects(one, DAY_MS):
            pipe.execute_command(effect.command, effect.key, *effect.args)
        await pipe.execute()


def session(**changes: object) -> Session:
    exchanges = tuple(
        Exchange(
            v=2,
            id=f"e{nth}",
            at_ms=NOW_MS - MINUTE_MS,
            user=f"Frage {nth}",
            reply="Antwort",
            tokens=100 * nth,
        )
        for nth in (1, 2)
    )
    values = {
        "v": 2, "id": "s1", "started_ms": NOW_MS - HOUR_MS, "last_ms": NOW_MS - MINUTE_MS, "exchanges": exchanges,
        "total": 7, "summary": "Es ging um Pakete.",
    }  # fmt: skip
    return Session.model_validate({**values, **changes})


# ── entries ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_entries_stand_newest_first_with_the_time_that_is_left(
    redis: RedisPort, shared: Shared
) -> None:
    await remember(redis, [entry(FIRST, at_ms=NOW_MS - 20 * HOUR_MS), entry(SECOND)])

    memory = await read_memory(shared, OWNER, NOW_MS)

    assert [(one.entry.id, one.left_ms) for one in memory.kept] == [
        (SECOND, 23 * HOUR_MS),
        (FIRST, 4 * HOUR_MS),
    ]
    assert memory.kept[0].field == f"- {OWNER}|{SECOND}"


async def test_what_is_too_old_is_gone_though_nobody_removed_it_yet(redis: RedisPort, shared: Shared) -> None:
    await remember(redis, [entry(FIRST, at_ms=NOW_MS - DAY_MS), entry(SECOND)])

    memory = await read_memory(shared, OWNER, NOW_MS)

    assert [one.entry.id for one in memory.kept] == [SECOND]


def test_entries_of_a_newer_release_are_counted_not_shown() -> None:
    kept, unreadable = kept_of(
        [b'{"v": 99}', b"{", dump(entry())], OWNER, {}, now_ms=NOW_MS, max_age_ms=DAY_MS
    )

    assert (len(kept), unreadable) == (1, 2)


async def test_an_entry_names_the_answers_it_was_used_in_each_once(redis: RedisPort, shared: Shared) -> None:
    await remember(redis, [entry(FIRST), entry(SECOND)])
    await live(
        redis,
        [
            life("t1", entry_ids=(FIRST,)),
            life("t2", entry_ids=(FIRST, SECOND)),
            life("t3", owner="home:u:43", entry_ids=(FIRST,)),
        ],
    )
    for one in (record("t2", FIRST), record("t0", FIRST)):
        await keep_record(redis, one)

    memory = await read_memory(shared, OWNER, NOW_MS)

    assert [one.used_in for one in memory.kept] == [("t2",), ("t2", "t1", "t0")]
    assert used_in([], []) == {}


# ── conversations ────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_running_conversation_is_shown_with_its_tokens(redis: RedisPort, shared: Shared) -> None:
    await converse(redis, session())

    (running,) = (await read_memory(shared, OWNER, NOW_MS)).running

    assert (running.lane, running.tokens, running.talk.exchanges) == ("7:42:0", 300, 7)
    assert running.talk.left_ms == 29 * MINUTE_MS
    assert running_of("7:42:0", dump(session()), "", now_ms=NOW_MS + HOUR_MS, idle_ms=30 * MINUTE_MS) is None


# ── owners ───────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_owners_are_those_of_whom_something_is_kept(redis: RedisPort, shared: Shared) -> None:
    await remember(redis, [entry(FIRST), entry(SECOND)])
    await remember(redis, [entry(FIRST)], "home:g:-100200:5")
    await converse(redis, session())

    found = await read_owners(shared, "", 1)
    searched = await read_owners(shared, "100200", 1)

    assert {(owner.id, owner.entries, owner.next_ms) for owner in found.shown} == {
        (OWNER, 2, NOW_MS + 23 * HOUR_MS), ("home:g:-100200:5", 1, NOW_MS + 23 * HOUR_MS),
    }  # fmt: skip
    assert [owner.name for owner in searched.shown] == ["-100200 · 5"]
    assert page_of([], 7).page == 1


# ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_hidden_texts_are_nowhere_on_the_page(redis: RedisPort) -> None:
    await remember(redis, [entry(FIRST)])
    await converse(redis, session())
    hidden = await shared_by(redis, {**PASSWORDS, "KOI_DASHBOARD__SHOW_TEXTS": "false"})
    shown = await shared_by(redis, PASSWORDS)
    texts = ("Wo ist das Paket?", "Kommt Mittwoch.", "UPS sagt", "Frage 1", "Es ging um Pakete.")

    async with browser(hidden, role="admin") as client:
        without = (await client.get(f"/memory?owner={OWNER}")).text
    async with browser(shown, role="admin") as client:
        with_them = (await client.get(f"/memory?owner={OWNER}")).text

    assert [text in with_them for text in texts] == [True] * 5
    assert [text in without for text in texts] == [False] * 5
    assert "text hidden" in without


async def test_one_entry_is_forgotten_by_its_button(redis: RedisPort, shared: Shared) -> None:
    await remember(redis, [entry(FIRST), entry(SECOND)])
    field = (await read_memory(shared, OWNER, NOW_MS)).kept[1].field

    async with browser(shared, role="admin") as client:
        page = await client.get(f"/memory?owner={OWNER}")
        asked = await client.post("/do/forget", data={"target": field}, headers=HTMX)
        done = await client.post("/do/forget", data={"target": field, "sure": "1"}, headers=HTMX)
        again = await client.post("/do/forget", data={"target": field, "sure": "1"}, headers=HTMX)

    assert field in page.text
    assert [asked.status_code, done.status_code, again.status_code] == [200, 200, 409]
    assert [one.entry.id for one in (await read_memory(shared, OWNER, NOW_MS)).kept] == [SECOND]


async def test_everything_is_forgotten_once_it_was_asked_and_written_down(
    redis: RedisPort, shared: Shared
) -> None:
    await remember(redis, [entry(FIRST), entry(SECOND)])
    await converse(redis, session())
    form = {"owner": OWNER, "seen": "0", "back": "/memory"}

    async with browser(shared, role="admin") as client:
        asked = await client.post("/memory/forget", data=form, headers=HTMX)
        before = await redis.llen(keys.ring(OWNER))
        done = await client.post("/memory/forget", data={**form, "sure": "1"}, headers=OWN)

    assert "Forget all of this memory?" in asked.text
    assert (asked.status_code, before) == (200, 2)
    assert (done.status_code, done.headers["location"]) == (303, "/memory")
    memory = await read_memory(shared, OWNER, NOW_MS)
    assert (memory.kept, memory.running, memory.epoch) == ((), (), "1")
    (action,) = await audit.newest(redis, 5)
    assert (action.action, action.target, action.count, action.outcome) == ("forget_all", OWNER, 2, "done")
    assert action.who == "admin 10.0.0.7"


async def test_nothing_is_forgotten_if_somebody_forgot_meanwhile(redis: RedisPort, shared: Shared) -> None:
    await remember(redis, [entry(FIRST)])
    await redis.incr(keys.epoch(OWNER))

    async with browser(shared, role="admin") as client:
        late = await client.post(
            "/memory/forget", data={"owner": OWNER, "seen": "0", "sure": "1"}, headers=HTMX
        )
        odd = await client.post(
            "/memory/forget", data={"owner": OWNER, "seen": "x", "sure": "1"}, headers=HTMX
        )

    assert [late.status_code, odd.status_code] == [409, 400]
    assert await redis.llen(keys.ring(OWNER)) == 1
    (action,) = await audit.newest(redis, 5)
    assert action.outcome == "changed"
