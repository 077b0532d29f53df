"""A bot that is for some people only: `people` of its `[[bots]]` table."""

from typing import Any

import pytest

from bot.admit import Door
from bot.api import Me
from bot.intake import Intake, Taken
from infra import keys
from infra.people import PeopleCache, save_person
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.outcome import Commit, Done
from schemas.inbound import InboundMessage
from schemas.person import Group, Person
from schemas.reply import Reply
from schemas.wire import dump, load
from tests.bot.conftest import NOW_MS, settle, take
from tests.fakes.telegram import FakeTelegram

OWNER, CHOSEN, MEMBER, STRANGER = 1, 42, 50, 99
GROUP = {"id": -5, "type": "group", "title": "Family"}
MENTION: dict[str, Any] = {"entities": [{"type": "mention", "offset": 0, "length": 11}]}
HOUSE = Settings(telegram_owner=str(OWNER), telegram_allowed_users=(str(MEMBER),))
ONLY = Me("777", "koi777_bot", "work", people=frozenset({str(CHOSEN)}), is_own=True)
fake = FakeTelegram(now=lambda: NOW_MS / 1000)


class Porch:
    """The intake of that bot."""

    def __init__(self, redis: RedisPort, settings: Settings = HOUSE, me: Me = ONLY) -> None:
        self.redis = redis
        self.numbers = iter(range(10, 10_000))
        people = PeopleCache(redis, settings, lambda: NOW_MS)
        self.intake = Intake(redis, settings, me, Door(redis, people, lambda: NOW_MS))

    async def hear(self, user_id: int, text: str = "hello", **more: Any) -> Taken:
        written = fake.message("777", user_id, text, **more) | {"date": NOW_MS // 1000}
        return await self.intake.take([{"update_id": next(self.numbers), "message": written}])

    async def let_in(self) -> list[InboundMessage]:
        """Whatever reached a lane."""
        found: list[InboundMessage] = []
        async for key in self.redis.scan_iter(match=keys.bodies("in:*")):
            found += [load(InboundMessage, raw) for raw in (await self.redis.hgetall(key.decode())).values()]
        return found

    async def said(self) -> list[Reply]:
        """What waits in the outbox; it is taken out."""
        replies: list[Reply] = []
        while claims := await take(self.redis):
            for claim in claims:
                replies.append(load(Reply, claim.items[0].body))
                await settle(self.redis, claim, Done(Commit()))
        return replies


@pytest.fixture
def porch(redis: RedisPort) -> Porch:
    return Porch(redis)


async def test_the_chosen_and_the_owner_get_in_the_chosen_without_having_to_ask(porch: Porch) -> None:
    await porch.hear(CHOSEN)
    await porch.hear(OWNER)

    assert {message.user_id for message in await porch.let_in()} == {str(CHOSEN), str(OWNER)}
    assert await porch.said() == []


@pytest.mark.parametrize("who", [MEMBER, STRANGER], ids=["known to koi", "a stranger"])
async def test_anybody_else_hears_one_sentence_once_and_nothing_of_theirs_is_kept(
    porch: Porch, who: int
) -> None:
    for text in ("hello", "again", "/help", "/forget all", "/stop"):
        await porch.hear(who, text, language="de")

    (line,) = await porch.said()
    assert line.text == f"Entschuldige, dieser Bot ist nur für bestimmte Leute da, und du gehörst nicht dazu. Sein Besitzer kann dich mit deiner Nummer eintragen: {who}"  # fmt: skip
    assert (line.chat_id, line.owner) == (str(who), "")
    assert await porch.let_in() == []
    assert await porch.redis.exists(keys.knock(str(who))) == 0


async def test_the_owner_is_not_asked_about_them(porch: Porch) -> None:
    await porch.hear(STRANGER)
    await porch.hear(STRANGER, "@koi777_bot hi", chat=GROUP, **MENTION)
    await porch.hear(CHOSEN, "@koi777_bot hi", chat=GROUP, **MENTION)

    assert [reply.chat_id for reply in await porch.said()] == [str(STRANGER)]


async def test_in_a_group_only_the_chosen_are_answered_also_if_the_group_is_approved(porch: Porch) -> None:
    await porch.redis.hset(keys.groups(), "-5", dump(Group(chat_id="-5")))
    for who in (STRANGER, MEMBER, CHOSEN, OWNER):
        await porch.hear(who, "@koi777_bot hi", chat=GROUP, **MENTION)

    assert {message.user_id for message in await porch.let_in()} == {str(CHOSEN), str(OWNER)}
    assert await porch.said() == []


async def test_who_is_blocked_is_blocked_here_too(porch: Porch) -> None:
    await save_person(porch.redis, Person(user_id=str(CHOSEN), role="blocked"))

    await porch.hear(CHOSEN)

    assert (await porch.let_in(), await porch.said()) == ([], [])


async def test_a_tap_on_an_old_button_is_no_reason_to_talk(porch: Porch) -> None:
    tap = {"id": "1", "from": {"id": MEMBER, "is_bot": False, "first_name": "M"}, "chat_instance": "1", "data": "/new",
           "message": {"message_id": 3, "date": NOW_MS // 1000, "chat": {"id": MEMBER, "type": "private"},
                       "from": {"id": 777, "is_bot": True, "first_name": "K"}, "text": "x"}}  # fmt: skip

    await porch.intake.take([{"update_id": 5, "callback_query": tap}])

    assert (await porch.let_in(), await porch.said()) == ([], [])


async def test_the_first_owner_may_be_paired_here(redis: RedisPort) -> None:
    await redis.set(keys.pairing(), "ABCD2345")
    porch = Porch(redis, Settings())

    await porch.hear(STRANGER, "ABCD2345")
    await porch.hear(STRANGER, "thank you")

    assert [message.text for message in await porch.let_in()] == ["thank you"]


async def test_a_bot_for_the_owner_alone(redis: RedisPort) -> None:
    porch = Porch(redis, me=Me("777", "koi777_bot", "mine", people=frozenset({"owner"})))

    for who in (MEMBER, STRANGER, OWNER):
        await porch.hear(who)

    assert [message.user_id for message in await porch.let_in()] == [str(OWNER)]


@pytest.mark.parametrize(("is_own", "version"), [(True, 2), (False, 1)])
async def test_messages_say_whether_only_a_worker_that_knows_the_bot_may_answer(
    redis: RedisPort, *, is_own: bool, version: int
) -> None:
    porch = Porch(redis, me=Me("777", "koi777_bot", "work", is_own=is_own))

    await porch.hear(OWNER)

    (message,) = await porch.let_in()
    assert (message.of_its_own, message.v) == (is_own, version)
