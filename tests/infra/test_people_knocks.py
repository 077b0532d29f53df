"""Requests to be let in, and what the owner made of them."""

import pytest

from infra import keys
from infra.effect import Effect
from infra.knocks import GOOD_MS, MOST_OPEN, answered_effects, ask, read_knocks
from infra.people import (
    CODE,
    PeopleCache,
    group_effect,
    person_effect,
    read_people,
    stranger_effect,
    unknown_group_effect,
)
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.together import together
from schemas.inbound import InboundMessage
from schemas.person import Group, Knock, Person
from schemas.wire import NotReadable, dump, load

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
NOBODY = Settings()


def message(
    user_id: str = "99", *, chat_id: str = "", name: str = "Ann", bot_id: str = "777"
) -> InboundMessage:
    return InboundMessage(
        id=f"{bot_id}:1", bot_id=bot_id, bot="kitchen", chat_id=chat_id or user_id, user_id=user_id, user_name=name,
        chat_kind="group" if chat_id else "private", language="de", sent_at_ms=NOW_MS,
    )  # fmt: skip


async def apply(redis: RedisPort, *effects: Effect) -> None:
    for effect in effects:
        await together(redis).run((effect.command, effect.key, *effect.args))


async def test_who_asks_again_has_the_same_code_at_every_bot(redis: RedisPort) -> None:
    first = await ask(redis, message(), now_ms=NOW_MS)
    again = await ask(redis, message(bot_id="778"), now_ms=NOW_MS + HOUR_MS - 1)

    assert first is not None
    assert again is not None
    assert CODE.fullmatch(first.knock.code)
    assert again.knock == first.knock
    assert (first.times, again.times) == (1, 2)
    assert (first.knock.who, first.knock.name, first.knock.bot_id, first.knock.kind) == (
        "99",
        "Ann",
        "777",
        "person",
    )


@pytest.mark.parametrize("later_ms", [HOUR_MS, -HOUR_MS], ids=["an hour later", "clock back"])
async def test_a_code_is_good_for_an_hour(redis: RedisPort, later_ms: int) -> None:
    first = await ask(redis, message(), now_ms=NOW_MS)
    later = await ask(redis, message(), now_ms=NOW_MS + later_ms)

    assert first is not None
    assert later is not None
    assert later.knock.code != first.knock.code
    assert later.times == 1


async def test_what_is_known_of_a_stranger_expires(redis: RedisPort) -> None:
    await ask(redis, message(), now_ms=NOW_MS)

    assert 0 < await redis.pttl(keys.knock("99")) <= HOUR_MS
    assert 0 < await redis.pttl(keys.knocks("person")) <= HOUR_MS
    assert len(await read_knocks(redis, NOW_MS)) == 1
    assert await read_knocks(redis, NOW_MS + HOUR_MS) == ()


async def test_a_crowd_of_strangers_does_not_become_a_crowd_of_requests(redis: RedisPort) -> None:
    for user in range(MOST_OPEN):
        assert await ask(redis, message(str(user)), now_ms=NOW_MS) is not None

    assert await ask(redis, message("99"), now_ms=NOW_MS) is None
    assert await redis.exists(keys.knock("99")) == 0
    assert (await ask(redis, message("0"), now_ms=NOW_MS + 1)) is not None
    assert await ask(redis, message("99", chat_id="-5"), now_ms=NOW_MS) is not None
    assert await ask(redis, message("99"), now_ms=NOW_MS + HOUR_MS) is not None


async def test_a_group_asks_by_its_title_and_for_a_week(redis: RedisPort) -> None:
    asked = await ask(redis, message(chat_id="-5"), now_ms=NOW_MS, title=" The\nfamily ")

    assert asked is not None
    knock = asked.knock
    assert (knock.kind, knock.who, knock.name) == ("group", "-5", "The family")
    assert knock.until_ms - NOW_MS == GOOD_MS["group"]


async def test_an_answered_request_is_open_no_more(redis: RedisPort) -> None:
    asked = await ask(redis, message(), now_ms=NOW_MS)
    assert asked is not None
    assert await read_knocks(redis, NOW_MS) == (asked.knock,)

    await apply(redis, *answered_effects(asked.knock))

    assert await read_knocks(redis, NOW_MS) == ()
    assert await redis.exists(keys.knock("99"), keys.knocks("person")) == 0


async def test_a_request_of_a_newer_release_is_not_listed(redis: RedisPort) -> None:
    asked = await ask(redis, message(), now_ms=NOW_MS)
    assert asked is not None
    await redis.hset(keys.knock("99"), "knock", dump(asked.knock).replace(b'"v":1', b'"v":2'))

    assert await read_knocks(redis, NOW_MS) == ()


# ── roles ────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_people_and_groups_are_stored_by_a_commit(redis: RedisPort) -> None:
    await apply(
        redis, person_effect(Person(v=2, user_id="2", role="guest")), person_effect(Person(user_id="3"))
    )
    await apply(redis, group_effect(Group(chat_id="-5")), group_effect(Group(chat_id="-6", role="blocked")))

    people = await read_people(redis, NOBODY)

    assert [people.role_of(user_id) for user_id in "234"] == ["guest", "member", "stranger"]
    assert [people.group_role(chat_id) for chat_id in ("-5", "-6", "-7")] == [
        "approved",
        "blocked",
        "unknown",
    ]

    await apply(redis, stranger_effect("3"), unknown_group_effect("-5"))
    people = await read_people(redis, NOBODY)
    assert (people.role_of("3"), people.group_role("-5")) == ("stranger", "unknown")


async def test_a_guest_is_no_more_than_that_though_the_settings_allow_them(redis: RedisPort) -> None:
    await apply(redis, person_effect(Person(v=2, user_id="2", role="guest")))
    people = await PeopleCache(redis, Settings(telegram_allowed_users=("2",)), lambda: NOW_MS).read()

    assert people.role_of("2") == "guest"


async def test_a_group_that_cannot_be_read_is_unknown(redis: RedisPort) -> None:
    await redis.hset(keys.groups(), "-5", '{"v":9,"role":"approved"}')

    assert (await read_people(redis, NOBODY)).group_role("-5") == "unknown"


def test_only_a_guest_is_written_in_version_2() -> None:
    assert b'"v":1' in dump(Person(user_id="2", role="blocked"))
    assert load(Person, b'{"v":1,"user_id":"2","role":"member"}').role == "member"
    with pytest.raises(ValueError, match="version 2"):
        Person(user_id="2", role="guest")
    with pytest.raises(NotReadable):
        load(Knock, b'{"v":1}')
