"""Chats: every one that koi knows of, with what runs in it."""

import pytest

from dashboard.chats import PER_PAGE, TURNS_SHOWN, matching, read_chats, read_turns, search_for, talk_of
from dashboard.names import Names, Place, read_names
from dashboard.shared import Shared
from infra import keys
from infra.people import People, save_person
from infra.redis_port import RedisPort
from lanes.ingest import ingest
from schemas.inbound import InboundMessage
from schemas.memory import Exchange, Session
from schemas.person import Group, Person
from schemas.wire import dump
from tests.dashboard.furnish import MINUTE_MS, converse, life, live
from tests.dashboard.house import NOW_MS, PASSWORDS, browser, shared_by
from tests.workers.stage import push_of

IDLE_MS = 30 * MINUTE_MS
GROUP = "-100200"


@pytest.fixture
async def shared(redis: RedisPort) -> Shared:
    return await shared_by(redis, PASSWORDS)


def session(last_ms: int = NOW_MS - 5 * MINUTE_MS, total: int = 4) -> Session:
    exchange = Exchange(v=2, id="e1", at_ms=last_ms, user="Wo?", reply="Da.", tokens=12)
    return Session(
        v=2, id="s1", started_ms=last_ms - MINUTE_MS, last_ms=last_ms, exchanges=(exchange,), total=total
    )


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("lane", "place"),
    [
        ("7:42:0", Place("7", "42", "0")),
        ("local:local:anna:0", Place("local", "local:anna", "0")),
        ("7:-100200:5", Place("7", "-100200", "5")),
        ("nonsense", Place("nonsense", "", "")),
    ],
)
def test_a_lane_has_parts(lane: str, place: Place) -> None:
    assert Place.of(lane) == place


def test_a_chat_is_called_by_its_name_else_by_its_id() -> None:
    people = People(
        by_id={"42": Person(user_id="42", name="Anna\n Maria")},
        groups={GROUP: Group(chat_id=GROUP, title="Family")},
    )
    names = Names(people)

    assert [names.chat(f"7:{chat}") for chat in ("42:0", "43:0", f"{GROUP}:0", f"{GROUP}:5", "local:bo:0")] == [
        "Anna Maria", "43", "Family", "Family · 5", "bo",
    ]  # fmt: skip
    assert [names.owner(owner) for owner in ("home:u:42", f"home:g:{GROUP}:5", "home:u:local:bo", "odd")] == [
        "Anna Maria", "Family · 5", "bo", "odd",
    ]  # fmt: skip


# ── one line of the list ─────────────────────────────────────────────────────────────────────────────────────────
async def test_a_chat_sums_up_its_turns(redis: RedisPort, shared: Shared) -> None:
    await save_person(redis, Person(user_id="42", name="Anna"))
    await live(
        redis,
        [
            life(message_ids=("7:1", "7:2"), cost_microusd=4_000, committed_ms=NOW_MS - 9 * MINUTE_MS),
            life(model="haiku", cost_microusd=None, committed_ms=NOW_MS - 8 * MINUTE_MS),
            life(state="dead", model="", cost_microusd=0, committed_ms=NOW_MS - 7 * MINUTE_MS),
        ],
    )

    (chat,) = (await read_chats(shared, NOW_MS, "", 1)).shown

    assert (chat.name, chat.bot, chat.owner, chat.lane) == ("Anna", "parcels", "home:u:42", "7:42:0")
    assert (chat.messages, chat.answered, chat.fallback, chat.failed) == (4, 3, 1, 1)
    assert chat.fallback_share == pytest.approx(1 / 3)
    assert (chat.cost_microusd, chat.unpriced) == (4_000, 1)
    assert chat.last_ms == NOW_MS - 7 * MINUTE_MS
    assert (chat.talk, chat.now) == (None, None)


async def test_cost_is_unknown_if_that_of_no_turn_is_known(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life(cost_microusd=None)])

    (chat,) = (await read_chats(shared, NOW_MS, "", 1)).shown

    assert chat.cost_microusd is None


async def test_people_and_groups_that_have_not_written_are_chats_too(
    redis: RedisPort, shared: Shared
) -> None:
    await live(redis, [life()])
    await save_person(redis, Person(user_id="42", name="Anna"))
    await save_person(redis, Person(user_id="43", name="Bo", chat_bot_id="7"))
    await save_person(redis, Person(user_id="44", name="Cy", role="blocked"))
    await redis.hset(keys.groups(), GROUP, dump(Group(chat_id=GROUP, title="Family")))
    await redis.hset(keys.groups(), "-9", dump(Group(chat_id="-9", title="Spam", role="blocked")))
    await converse(redis, session(), "7:45:0")

    found = await read_chats(shared, NOW_MS, "", 1)

    assert [(chat.name, chat.lane) for chat in found.shown] == [
        ("Anna", "7:42:0"), ("45", "7:45:0"), ("Bo", "7:43:0"), ("Family", ""),
    ]  # fmt: skip


async def test_a_bot_is_called_as_it_called_itself(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life()])
    await shared.lives.read_on(redis)

    names = await read_names(shared)

    assert (names.bot("7"), names.bot("8")) == ("parcels", "8")


async def test_what_waits_stands_on_top(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life(lane="7:43:0"), life()])
    message = InboundMessage(
        id="7:9", bot_id="7", bot="parcels", chat_id="43", user_id="43", sent_at_ms=NOW_MS, text="secret"
    )
    await ingest(redis, [push_of(message)])

    first, second = (await read_chats(shared, NOW_MS, "", 1)).shown

    assert (first.lane, second.lane) == ("7:43:0", "7:42:0")
    assert first.now is not None
    assert (first.now.state, first.now.waiting) == ("waiting", 1)


@pytest.mark.parametrize(
    ("last_ms", "left_ms"),
    [
        (NOW_MS, IDLE_MS),
        (NOW_MS - 10 * MINUTE_MS, 20 * MINUTE_MS),
        (NOW_MS - IDLE_MS, None),
        (NOW_MS + MINUTE_MS, IDLE_MS),
    ],
    ids=["now", "ten minutes ago", "over", "a clock that went back"],
)
def test_a_conversation_has_the_rest_of_its_idle_time(last_ms: int, left_ms: int | None) -> None:
    talk = talk_of(dump(session(last_ms)), NOW_MS, IDLE_MS)

    assert (talk.left_ms if talk else None) == left_ms


@pytest.mark.parametrize("raw", [None, b"", b"{", b'{"v": 99}'])
def test_a_conversation_that_cannot_be_read_is_none(raw: bytes | None) -> None:
    assert talk_of(raw, NOW_MS, IDLE_MS) is None


def test_a_conversation_of_an_old_release_counts_the_exchanges_it_has() -> None:
    talk = talk_of(dump(session(total=0)), NOW_MS, IDLE_MS)

    assert talk is not None
    assert talk.exchanges == 1


async def test_chats_are_found_by_words_and_come_in_pages(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life(lane=f"7:{100 + nth}:0") for nth in range(PER_PAGE + 3)])
    await save_person(redis, Person(user_id="101", name="Anna Berg"))

    first, last, found = [
        await read_chats(shared, NOW_MS, *what) for what in (("", 1), ("", 99), ("berg ANNA", 1))
    ]

    assert (len(first.shown), len(last.shown), last.page, last.pages, first.total) == (
        PER_PAGE,
        3,
        2,
        2,
        PER_PAGE + 3,
    )
    assert [chat.lane for chat in found.shown] == ["7:101:0"]
    assert matching(first.shown, "nobody") == []


# ── one chat ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_one_chat_lists_its_newest_turns(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life(f"t{nth}", committed_ms=NOW_MS - 1000 + nth) for nth in range(TURNS_SHOWN + 5)])
    await live(redis, [life(lane="7:43:0")])
    await converse(redis, session())

    turns = await read_turns(shared, "7:42:0", NOW_MS)

    assert [row.id for row in turns.rows[:2]] == [f"t{TURNS_SHOWN + 4}", f"t{TURNS_SHOWN + 3}"]
    assert (len(turns.rows), turns.more) == (TURNS_SHOWN, 5)
    assert turns.chat.talk is not None
    assert turns.chat.talk.exchanges == 4
    assert search_for(turns.chat) == 'chat:"7:42:0"'


async def test_the_pages_show_names_links_and_what_is_empty(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life("turn a&b")])
    await save_person(redis, Person(user_id="42", name="<b>Anna</b>"))

    async with browser(shared, role="reader") as client:
        listed, one, unknown, none = [
            await client.get(path)
            for path in ("/chats", "/chats?lane=7:42:0", "/chats?lane=7:99:0", "/chats?q=zzz")
        ]

    assert "&lt;b&gt;Anna&lt;/b&gt;" in listed.text
    assert 'href="/chats?lane=7%3A42%3A0"' in listed.text
    assert 'hx-get="/panel/turn?id=turn%20a%26b" hx-target="#panel"' in one.text
    assert "/messages?q=chat%3A%227%3A42%3A0%22" in one.text
    assert "Nothing is recorded of this chat." in unknown.text
    assert "No chat is called that." in none.text
