"""The commands that Telegram offers, per language and scope."""

import asyncio
from collections.abc import Mapping

import pytest

from bot.api import BotApi
from bot.menu import COMMANDS, GROUPS, OWNERS, PRIVATE, MenuKeeper, changes, digest, field, menus, place_of
from infra import keys
from infra.people import PeopleCache, save_person
from infra.redis_port import RedisPort
from infra.settings import Settings
from schemas.person import Person
from tests.bot.conftest import Sleeps, clock
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault

ISSUE = (
    "start", "help", "new", "stop", "retry", "memory", "forget", "why", "model", "usage", "tasks", "memos", "agenda", "facts",
    "language", "timezone", "project", "rich", "whoami",
)  # fmt: skip


def keeper_of(redis: RedisPort, api: BotApi, owner: str = "1") -> MenuKeeper:
    return MenuKeeper(redis, api, PeopleCache(redis, Settings(telegram_owner=owner), clock), sleep=Sleeps())


def shown(fake: FakeTelegram) -> Mapping[tuple[str, str], Mapping[str, str]]:
    return fake.bot("777").menus


def asked(fake: FakeTelegram) -> list[str]:
    return [call.method for call in fake.calls]


def test_everybody_is_offered_all_commands_and_the_owner_more() -> None:
    found = menus("42")

    assert {name for name, _ in found[PRIVATE, ""]} == set(ISSUE)
    assert [name for name, _ in found["chat:42", ""]] == [*OWNERS, *COMMANDS]
    assert {scope for scope, _ in menus("")} == {PRIVATE, GROUPS}


def test_a_group_is_not_offered_what_is_about_one_person() -> None:
    names = {name for name, _ in menus("42")[GROUPS, ""]}

    assert names == set(ISSUE) - {"usage", "facts", "language", "timezone", "rich", "start"}


def test_every_language_says_what_a_command_does_in_its_own_words() -> None:
    english, german = dict(menus("42")["chat:42", ""]), dict(menus("42")["chat:42", "de"])

    assert english.keys() == german.keys()
    assert [name for name in english if english[name] == german[name]] == []


def test_only_what_differs_is_set_and_a_former_owners_menu_goes() -> None:
    before = {field(place): digest(menu) for place, menu in menus("42").items()}
    before["all_private_chats de"] = "of an older release"

    found = changes(menus("43"), before)

    assert {place: bool(menu) for place, menu in found} == {
        (PRIVATE, "de"): True, ("chat:43", ""): True, ("chat:43", "de"): True, ("chat:42", ""): False, ("chat:42", "de"): False,
    }  # fmt: skip
    assert changes(menus("42"), {field(place): digest(menu) for place, menu in menus("42").items()}) == ()


@pytest.mark.parametrize("place", [(PRIVATE, ""), ("chat:42", "de")])
def test_a_place_is_read_back_from_its_field(place: tuple[str, str]) -> None:
    assert place_of(field(place)) == place


async def test_telegram_takes_them_and_a_second_start_sets_nothing(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    assert await keeper_of(redis, api).show("1")
    assert await keeper_of(redis, api).show("1")

    assert asked(fake) == ["setMyCommands"] * 6
    assert shown(fake) == {place: dict(menu) for place, menu in menus("1").items()}
    assert shown(fake)["chat:1", "de"]["status"] == "Wie es koi geht"
    assert await redis.pttl(keys.menu("777")) > 0


async def test_another_owner_gets_the_menu_of_the_owner_and_the_former_one_loses_it(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    await keeper_of(redis, api).show("1")

    await keeper_of(redis, api).show("2")

    assert {scope for scope, _ in shown(fake)} == {PRIVATE, GROUPS, "chat:2"}


async def test_an_owner_whom_this_bot_never_met_costs_only_their_menu(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    fake.gone.add("1")
    assert not await keeper_of(redis, api).show("1")
    assert {scope for scope, _ in shown(fake)} == {PRIVATE, GROUPS}

    fake.gone.clear()
    assert await keeper_of(redis, api).show("1")
    assert asked(fake) == ["setMyCommands"] * 8


@pytest.mark.parametrize("kind", ["flood", "drop_before", "error"])
async def test_what_telegram_refuses_is_tried_again_later_and_stops_nothing(
    redis: RedisPort, api: BotApi, fake: FakeTelegram, kind: str
) -> None:
    fake.fault(Fault(kind, method="setMyCommands", status=500))  # pyright: ignore[reportArgumentType]

    assert not await keeper_of(redis, api).show("1")
    assert len(shown(fake)) == 5
    assert await keeper_of(redis, api).show("1")
    assert len(shown(fake)) == 6


async def test_redis_away_stops_nothing(redis: RedisPort, api: BotApi) -> None:
    await redis.set(keys.menu("777"), "no hash")

    assert not await keeper_of(redis, api).show("1")


async def test_who_is_paired_while_the_bot_runs_gets_the_owners_menu(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    people = PeopleCache(redis, Settings(), clock)
    keeper = MenuKeeper(redis, api, people, sleep=lambda _: asyncio.sleep(0.001))
    serving = asyncio.ensure_future(keeper.serve())
    async with asyncio.timeout(10):
        while len(shown(fake)) < 4:
            await asyncio.sleep(0.002)

        await save_person(redis, Person(user_id="42", role="owner"))
        people.changed()
        while ("chat:42", "de") not in shown(fake):
            await asyncio.sleep(0.002)

    serving.cancel()
    assert len(shown(fake)) == 6
