"""The ring: at most so many entries, none too old, none that cannot be read; whatever the clock does."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import keys
from infra.redis_port import RedisPort
from memory.entry import session_name_of, user_of
from memory.limits import MemoryLimits
from memory.ring import next_expiry, read_ring, remember
from memory.store import apply, load_ring
from schemas.inbound import InboundMessage
from schemas.memory import RingEntry
from schemas.wire import dump
from tests.memory.values import DAY_MS, HOUR_MS, LIMITS, MINUTE_MS, NOW_MS, UPS, entry

OWNER = "home:u:42"
RING = keys.ring(OWNER)
NEWER = b'{"v": 99, "at_ms": %d, "texts": ["hello"]}'


async def say(redis: RedisPort, one: RingEntry, limits: MemoryLimits = LIMITS, owner: str = OWNER) -> None:
    """Remember an entry as a turn does that ends when the entry was made."""
    await apply(redis, remember(owner, one, await load_ring(redis, owner, one.at_ms, limits), limits))


async def ids(redis: RedisPort, now_ms: int = NOW_MS, owner: str = OWNER) -> list[str]:
    return [one.id for one in (await load_ring(redis, owner, now_ms, LIMITS)).entries]


async def test_the_21st_exchange_evicts_the_first(redis: RedisPort) -> None:
    for number in range(1, 22):
        await say(redis, entry(number, at_ms=NOW_MS + number))

    assert await ids(redis, NOW_MS + 30) == [f"turn-{number}" for number in range(2, 22)]
    assert await redis.llen(RING) == 20


async def test_an_entry_older_than_a_day_is_never_shown_even_if_its_key_lives_on(redis: RedisPort) -> None:
    await say(redis, entry(1))
    await say(redis, entry(2, at_ms=NOW_MS + HOUR_MS))

    assert await redis.llen(RING) == 2
    assert await ids(redis, NOW_MS + DAY_MS - 1) == ["turn-1", "turn-2"]
    assert await ids(redis, NOW_MS + DAY_MS) == ["turn-2"]
    assert await ids(redis, NOW_MS + DAY_MS + HOUR_MS) == []


async def test_the_next_exchange_removes_what_is_too_old(redis: RedisPort) -> None:
    for number in (1, 2):
        await say(redis, entry(number))

    await say(redis, entry(3, at_ms=NOW_MS + DAY_MS))

    assert await redis.lrange(RING, 0, -1) == [dump(entry(3, at_ms=NOW_MS + DAY_MS))]


async def test_a_ring_lives_a_day_after_its_last_exchange_and_is_due_when_its_first_entry_expires(
    redis: RedisPort,
) -> None:
    await say(redis, entry(1))
    await say(redis, entry(2, at_ms=NOW_MS + HOUR_MS))

    assert DAY_MS - 5000 < await redis.pttl(RING) <= DAY_MS
    assert await redis.zscore(keys.expiry(), RING) == NOW_MS + DAY_MS


async def test_a_lane_that_read_the_ring_before_another_wrote_does_not_postpone_its_expiry(
    redis: RedisPort,
) -> None:
    seen = await load_ring(redis, OWNER, NOW_MS, LIMITS)
    await say(redis, entry(1))

    await apply(redis, remember(OWNER, entry(2, at_ms=NOW_MS + HOUR_MS), seen, LIMITS))

    assert await ids(redis, NOW_MS + HOUR_MS) == ["turn-1", "turn-2"]
    assert await redis.zscore(keys.expiry(), RING) == NOW_MS + DAY_MS


@pytest.mark.parametrize(
    "junk", [b"not json", b"", b"[]", b'{"v": 1}', b"\xff\xfe", b'{"v": "2"}', b"{" * 5000, b"null"]
)
async def test_what_is_no_entry_is_set_aside_and_counted_and_the_rest_works(
    redis: RedisPort, junk: bytes
) -> None:
    await say(redis, entry(1))
    await redis.rpush(RING, junk)
    await say(redis, entry(2))
    await redis.rpush(RING, junk)

    remembered = await load_ring(redis, OWNER, NOW_MS, LIMITS)

    assert [one.id for one in remembered.entries] == ["turn-1", "turn-2"]
    assert remembered.unreadable == (junk,)
    await say(redis, entry(3))
    assert await redis.lrange(RING, 0, -1) == [dump(entry(number)) for number in (1, 2, 3)]


async def test_unreadable_entries_are_reported_to_the_log_without_their_text(
    redis: RedisPort, capsys: pytest.CaptureFixture[str]
) -> None:
    await redis.rpush(RING, "my code is 4711")

    await load_ring(redis, OWNER, NOW_MS, LIMITS)

    logged = capsys.readouterr().out
    assert "memory_entries_unreadable" in logged
    assert "4711" not in logged


async def test_an_entry_of_a_newer_version_is_not_shown_and_stays_until_it_is_too_old(
    redis: RedisPort,
) -> None:
    newer = NEWER % NOW_MS
    await redis.rpush(RING, newer)

    await say(redis, entry(1, at_ms=NOW_MS + 1))

    assert await ids(redis) == ["turn-1"]
    assert (await redis.lrange(RING, 0, -1))[0] == newer
    assert read_ring([newer], NOW_MS + DAY_MS, LIMITS).expired == (newer,)


def test_after_the_clock_jumped_back_entries_are_still_read_as_if_said_now() -> None:
    future = dump(entry(1, at_ms=NOW_MS + 400 * DAY_MS))

    remembered = read_ring([future, dump(entry(2))], NOW_MS, LIMITS)

    assert [one.id for one in remembered.entries] == ["turn-1", "turn-2"]
    assert remembered.entries[0].at_ms == NOW_MS
    assert remembered.kept[0] != future


async def test_entries_from_the_future_do_not_live_for_ever(redis: RedisPort) -> None:
    await say(redis, entry(1, at_ms=NOW_MS + 400 * DAY_MS))
    await say(redis, entry(2))

    score = await redis.zscore(keys.expiry(), RING)

    assert score == NOW_MS + DAY_MS  # then memory.expire stores it with the stamp it is read with


@given(st.lists(st.tuples(st.booleans(), st.integers(-3 * DAY_MS, 3 * DAY_MS)), max_size=30))
def test_whatever_is_stored_only_live_entries_are_shown_and_nothing_is_lost_unasked(
    stored: list[tuple[bool, int]],
) -> None:
    raws = [
        dump(entry(number, at_ms=NOW_MS + delta)) if good else b"%d" % number
        for number, (good, delta) in enumerate(stored)
    ]

    remembered = read_ring(raws, NOW_MS, LIMITS)

    assert all(NOW_MS - DAY_MS < one.at_ms <= NOW_MS for one in remembered.entries)
    assert len(remembered.kept) + len(remembered.stale) == len(raws)
    assert [f"turn-{n}" for n, (good, delta) in enumerate(stored) if good and delta > -DAY_MS] == [
        one.id for one in remembered.entries
    ]
    assert not remembered.entries or next_expiry(remembered.entries, LIMITS) > NOW_MS


def test_texts_are_cut_as_they_are_stored() -> None:
    one = entry(user="Wort " * 200, reply="ein Satz " * 1000)

    assert 400 < len(one.user_message) <= 500
    assert 200 < len(one.summary) <= 300
    assert 3900 < len(one.reply) <= 4000


def test_session_names_say_whose_an_entry_is() -> None:
    assert session_name_of("42") == "telegram_42"
    assert session_name_of("local:anna") == "local_anna"
    assert [user_of(name) for name in ("telegram_42", "telegram_-100", "local_anna", "telegram_", "")] == [
        "42", None, None, None, None,
    ]  # fmt: skip


# ── private stays private ────────────────────────────────────────────────────────────────────────────────────────
def message(**fields: object) -> InboundMessage:
    private: dict[str, object] = {
        "id": "7:1", "bot_id": "7", "bot": "koi", "chat_id": "42", "user_id": "42", "sent_at_ms": NOW_MS
    }  # fmt: skip
    return InboundMessage.model_validate(private | fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"chat_id": "43", "user_id": "43"},
        {"chat_kind": "group", "chat_id": "-100"},
        {"chat_kind": "group", "chat_id": "-100", "topic_id": 5},
        {"chat_kind": "group", "chat_id": "42"},
        {"store": "work"},
        {"store": "home:u", "user_id": "42"},
    ],
    ids=[
        "another person",
        "a group",
        "a topic",
        "a group with the person's id",
        "another store",
        "a store like a key",
    ],
)
async def test_what_a_person_said_in_private_reaches_nobody_else(
    redis: RedisPort, fields: dict[str, object]
) -> None:  # C30, C31
    await say(redis, entry(user="my code is 4711"), owner=message().owner)

    assert await ids(redis, owner=message(**fields).owner) == []


async def test_a_topic_of_a_group_remembers_for_itself(redis: RedisPort) -> None:  # C30
    topic: dict[str, object] = {"chat_kind": "group", "chat_id": "-100", "topic_id": 5}
    await say(redis, entry(), owner=message(**topic).owner)

    assert await ids(redis, owner=message(**topic, user_id="43").owner) == ["turn-1"]
    assert await ids(redis, owner=message(**topic | {"topic_id": 6}).owner) == []
    assert await ids(redis, owner=message().owner) == []


async def test_two_bots_of_a_store_share_what_a_person_said(redis: RedisPort) -> None:  # C31
    await say(redis, entry(), owner=message(bot_id="7").owner)

    assert await ids(redis, owner=message(bot_id="8", bot="garden").owner) == ["turn-1"]


def test_an_entry_holds_what_the_wire_says() -> None:
    assert orjson.loads(dump(entry()))["summary"] == UPS
    assert entry().at_ms + 50 * MINUTE_MS < NOW_MS + HOUR_MS
