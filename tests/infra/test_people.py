"""Who may use the bots."""

import pytest

from infra import keys
from infra.people import (
    CACHE_MS,
    CODE,
    Pairing,
    People,
    PeopleCache,
    code_in,
    new_code,
    owner_id,
    pair,
    pairing_code,
    read_people,
    save_person,
)
from infra.redis_port import RedisPort
from infra.settings import Settings
from schemas.person import Person
from schemas.wire import load

NOBODY = Settings()
JO = Person(user_id="42", name="Jo", role="owner", since_ms=5, language="de", chat_bot_id="7")


async def test_the_code_stays_until_it_is_used(redis: RedisPort) -> None:
    code = await pairing_code(redis, NOBODY)

    assert CODE.fullmatch(code)
    assert await pairing_code(redis, NOBODY) == code
    assert await redis.pttl(keys.pairing()) == -1


async def test_who_sends_the_code_becomes_the_owner(redis: RedisPort) -> None:
    code = await pairing_code(redis, NOBODY)

    assert await pair(redis, code, JO) is Pairing.PAIRED

    assert await owner_id(redis, NOBODY) == "42"
    assert load(Person, await redis.hget(keys.people(), "42") or b"") == JO
    assert await redis.exists(keys.pairing()) == 0
    assert await pairing_code(redis, NOBODY) == ""


async def test_the_code_works_once(redis: RedisPort) -> None:
    code = await pairing_code(redis, NOBODY)
    await pair(redis, code, JO)

    assert await pair(redis, code, Person(user_id="43", role="owner")) is Pairing.CLOSED
    assert await owner_id(redis, NOBODY) == "42"


async def test_an_owner_of_a_newer_release_keeps_the_code_closed(redis: RedisPort) -> None:
    await redis.set(keys.pairing(), "ABCD2345")
    await redis.hset(keys.people(), "9", '{"v":2,"role":"owner","rank":1}')

    assert await pair(redis, "ABCD2345", JO) is Pairing.CLOSED


async def test_three_wrong_codes_an_hour(redis: RedisPort) -> None:
    code = await pairing_code(redis, NOBODY)

    tried = [await pair(redis, "WRNNG234", JO) for _ in range(3)]

    assert tried == [Pairing.WRONG] * 3
    assert await pair(redis, code, JO) is Pairing.THROTTLED
    assert 3_590_000 < await redis.pttl(keys.tries("42")) <= 3_600_000
    assert await pair(redis, code, Person(user_id="43", role="owner")) is Pairing.PAIRED


async def test_the_settings_name_the_owner_before_anybody(redis: RedisPort) -> None:
    await save_person(redis, JO)

    assert await owner_id(redis, Settings(telegram_owner="1")) == "1"
    assert await pairing_code(redis, Settings(telegram_owner="1")) == ""
    assert (await read_people(redis, Settings(telegram_owner="1"))).role_of("42") == "member"


@pytest.mark.parametrize(
    ("user_id", "role"),
    [("1", "owner"), ("2", "member"), ("3", "blocked"), ("4", "member"), ("5", "stranger")],
)
def test_roles(user_id: str, role: str) -> None:
    by_id = {"2": Person(user_id="2"), "3": Person(user_id="3", role="blocked")}

    assert People("1", by_id, frozenset({"3", "4"})).role_of(user_id) == role


def test_without_an_owner_nobody_is_it() -> None:
    assert People().role_of("") == "stranger"


async def test_a_record_that_cannot_be_read_lets_nobody_in(redis: RedisPort) -> None:
    await save_person(redis, Person(user_id="2"))
    await redis.hset(keys.people(), "3", "{")
    await redis.hset(keys.people(), "4", '{"v":9,"role":"member"}')

    people = await read_people(redis, NOBODY)

    assert [people.role_of(user_id) for user_id in "234"] == ["member", "stranger", "stranger"]


async def test_a_process_believes_what_it_read_for_a_moment_only(redis: RedisPort) -> None:
    now = [1_000_000]
    cache = PeopleCache(redis, NOBODY, lambda: now[0])
    assert (await cache.read()).role_of("2") == "stranger"
    await save_person(redis, Person(user_id="2"))
    assert (await cache.read()).role_of("2") == "stranger"

    now[0] += CACHE_MS
    assert (await cache.read()).role_of("2") == "member"


@pytest.mark.parametrize("change", ["clock back", "changed"])
async def test_the_cache_is_read_again_when_it_must(redis: RedisPort, change: str) -> None:
    now = [1_000_000]
    cache = PeopleCache(redis, NOBODY, lambda: now[0])
    assert cache.last().owner_id == ""
    await cache.read()
    await save_person(redis, JO)

    if change == "changed":
        cache.changed()
    else:
        now[0] -= 10_000

    assert (await cache.read()).owner_id == "42"
    assert cache.last().owner_id == "42"


@pytest.mark.parametrize("text", ["K7QX2MPD", " k7qx-2mpd ", "K7QX 2MPD"])
def test_a_code_is_recognised_however_it_is_typed(text: str) -> None:
    assert code_in(text) == "K7QX2MPD"


@pytest.mark.parametrize("text", ["whatever", "K7QX2MP", "K7QX2MPDD", "K1QX2MPD", "", "the code is K7QX2MPD"])
def test_other_text_is_no_code(text: str) -> None:
    assert code_in(text) == ""


def test_codes_differ() -> None:
    assert len({new_code() for _ in range(100)}) == 100
