"""A stranger's whole way, with real processes: knocks, waits, is let in with one tap, talks; and only the owner decides."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import pytest

from bot.menu import GROUPS, PRIVATE
from infra import keys
from infra.redis_port import RedisPort
from schemas.person import Person
from schemas.wire import load
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import Heard, Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

BOT, OWNER, ANN = "7501", 90, 99
FAMILY = {"id": -500, "type": "group", "title": "Familie"}


@dataclass
class Story:
    knocked: Heard | None = None
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """The buttons of each message to the owner."""
    by_herself: Heard | None = None
    """What came of Ann's own /approve."""
    approved: Heard | None = None
    answered: Heard | None = None
    people_of_ann: Heard | None = None
    people: Heard | None = None
    status: Heard | None = None
    group_before: int = 0
    """Requests to the model before the group was allowed."""
    in_group: Heard | None = None
    role: str = ""
    to_ann: list[str] = field(default_factory=list[str])
    menus: dict[tuple[str, str], dict[str, str]] = field(
        default_factory=dict[tuple[str, str], dict[str, str]]
    )
    lasting: set[str] = field(default_factory=set[str])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack(koi.ENVIRONMENT) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    story, telegram, model = Story(), FakeTelegram(), ModelServer()
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        people = {"TELEGRAM_OWNER": str(OWNER)}
        bot = stack.koi(
            "bot", "bot", TELEGRAM_API_BASE=telegram.base, TELEGRAM_BOT_TOKEN=koi.token(BOT), **people
        )
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m", **people)
        koi.start(bot, worker)
        talk = Talk(telegram, model)
        await talk.say(BOT, OWNER, "/start", name="Jo")
        await knocking(story, talk)
        await let_in(story, talk, redis)
        await the_group(story, talk)
        story.status = await talk.say(BOT, OWNER, "/status")
        await until(lambda: len(telegram.bot(BOT).menus) == 6, what="the menus")
        story.menus = dict(telegram.bot(BOT).menus)
        story.to_ann = telegram.texts(ANN)
        story.lasting = await koi.everlasting(redis)
        await koi.end(bot, worker)
    return story


async def knocking(story: Story, talk: Talk) -> None:
    before = len(talk.telegram.texts(OWNER))
    story.knocked = await talk.say(BOT, ANN, "Darf ich?", name="Ann", language="de")
    await until(lambda: len(talk.telegram.texts(OWNER)) > before, what="a message to the owner")
    story.asked.append(koi.buttons_of(talk.telegram.sent(OWNER)[before]))
    story.by_herself = await talk.say(BOT, ANN, story.asked[0]["Let in"], name="Ann", language="de")


async def let_in(story: Story, talk: Talk, redis: RedisPort) -> None:
    before = len(talk.telegram.texts(ANN))
    story.approved = await talk.tap(BOT, OWNER, story.asked[0]["Let in"])
    await until(lambda: len(talk.telegram.texts(ANN)) > before, what="the good news")
    story.role = load(Person, await redis.hget(keys.people(), str(ANN)) or b"").role
    story.answered = await talk.say(BOT, ANN, "Danke!", name="Ann", language="de")
    story.people_of_ann = await talk.say(BOT, ANN, "/people", name="Ann", language="de")
    story.people = await talk.say(BOT, OWNER, "/people")


async def the_group(story: Story, talk: Talk) -> None:
    """Somebody else addresses the bot in a group; the owner allows it; then they are answered."""
    before, asked = len(talk.telegram.texts(OWNER)), len(talk.model.requests)
    talk.telegram.say(BOT, 77, "/new Hallo", chat=FAMILY)
    await until(lambda: len(talk.telegram.texts(OWNER)) > before, what="a message about the group")
    story.asked.append(koi.buttons_of(talk.telegram.sent(OWNER)[before]))
    story.group_before = len(talk.model.requests) - asked
    await talk.tap(BOT, OWNER, story.asked[1]["Allow this group"])
    await until(lambda: len(talk.telegram.texts(-500)) == 1, what="the good news in the group")
    story.in_group = await talk.say(BOT, 77, "/new Hallo", chat=FAMILY)


# ── what came of it ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_stranger_hears_the_code_that_the_owner_is_shown(story: Story) -> None:
    assert story.knocked is not None
    code = re.search(r"den Code (\w{4})-(\w{4})", story.knocked.reply)

    assert code is not None
    assert story.asked[0]["Let in"] == f"/approve {code[1]}{code[2]}"
    assert story.asked[0]["Block"] == f"/block {ANN}"


def test_nobody_lets_themselves_in(story: Story) -> None:
    assert story.by_herself is not None
    assert story.by_herself.reply.startswith("Hallo Ann! Ich rede nur mit Leuten")
    assert story.by_herself.requests == ()


def test_one_tap_of_the_owner_lets_them_in_and_both_hear_of_it(story: Story) -> None:
    assert story.approved is not None
    assert story.approved.reply == "Ann is let in (member) and has been told."
    assert story.role == "member"
    assert story.to_ann[2].startswith("Gute Nachricht, Ann: Du bist eingelassen.")


def test_then_they_are_answered_by_the_model(story: Story) -> None:
    assert story.answered is not None
    assert story.answered.messages[-1]["content"].endswith("Danke!")


def test_the_owner_sees_everybody_and_nobody_else_does(story: Story) -> None:
    assert story.people is not None
    assert story.people_of_ann is not None
    assert "• Person 90 (90): owner" in story.people.reply
    assert "• Ann (99): member, since " in story.people.reply
    assert story.people_of_ann.reply.startswith("Das kann nur mein Besitzer.")


def test_a_group_is_heard_once_the_owner_allowed_it(story: Story) -> None:
    assert story.group_before == 0
    assert story.in_group is not None
    assert len(story.in_group.requests) == 1


def test_the_owner_reads_how_koi_is_doing(story: Story) -> None:
    assert story.status is not None
    assert story.status.reply.splitlines()[:2] == ["1 bot process", "1 worker"]
    assert "Today: 2 answers" in story.status.reply


def test_telegram_offers_the_commands_of_each_role(story: Story) -> None:
    assert story.menus.keys() == {(scope, language) for scope in (PRIVATE, GROUPS, "chat:90") for language in ("", "de")}  # fmt: skip
    assert "approve" in story.menus["chat:90", ""]
    assert "approve" not in story.menus[PRIVATE, ""]


def test_every_key_without_a_ttl_is_one_of_the_permanent_ones(story: Story) -> None:
    assert {
        name for name in story.lasting if not any(fnmatchcase(name, one) for one in keys.PERMANENT)
    } == set()
    assert {keys.people(), keys.groups()} <= story.lasting
