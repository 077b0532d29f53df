"""Who gets in: strangers ask with a code, groups are approved once, nobody floods."""

from typing import Any

import pytest

from bot.admit import DEFAULTS, Door
from bot.entrance import title_in
from bot.intake import Intake, Taken
from bot.knocking import spaced
from infra import keys
from infra.knocks import GOOD_MS, MOST_OPEN
from infra.people import PeopleCache, read_people, save_person
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.settings_sections import TelegramSettings
from lanes.outcome import Commit, Done
from schemas.inbound import InboundMessage
from schemas.person import Group, Person
from schemas.reply import Reply
from schemas.wire import dump, load
from tests.bot.conftest import ME, NOW_MS, settle, take
from tests.fakes.telegram import FakeTelegram

OWNER, ALLOWED, STRANGER = 1, 42, 99
HOUSE = Settings(telegram_owner=str(OWNER), telegram_allowed_users=(str(ALLOWED),))
GROUP = {"id": -5, "type": "group", "title": "Family"}
HOUR_MS = 3_600_000
fake = FakeTelegram(now=lambda: NOW_MS / 1000)


class Porch:
    """A bot's intake, with a clock to turn."""

    def __init__(
        self, redis: RedisPort, settings: Settings = HOUSE, limits: TelegramSettings = DEFAULTS
    ) -> None:
        self.redis = redis
        self.now_ms = NOW_MS
        self.numbers = iter(range(10, 10_000))
        self.people = PeopleCache(redis, settings, lambda: self.now_ms)
        door = Door(redis, self.people, lambda: self.now_ms, limits)
        self.intake = Intake(redis, settings, ME, door)

    def update(self, user_id: int, text: str = "hello", **more: Any) -> dict[str, Any]:
        written = fake.message("777", user_id, text, **more) | {"date": self.now_ms // 1000}
        return {"update_id": next(self.numbers), "message": written}

    async def hear(self, user_id: int, text: str = "hello", **more: Any) -> Taken:
        return await self.intake.take([self.update(user_id, text, **more)])


@pytest.fixture
def porch(redis: RedisPort) -> Porch:
    return Porch(redis)


async def waiting(redis: RedisPort, lane: str) -> list[InboundMessage]:
    """Messages in a lane's inbox, oldest first."""
    job_id = keys.inbox_job(lane)
    ids = [entry.decode()[2:] for entry in await redis.lrange(keys.items(job_id), 0, -1)]
    bodies = await redis.hgetall(keys.bodies(job_id))
    return [load(InboundMessage, bodies[item_id.encode()]) for item_id in ids]


async def answers(redis: RedisPort) -> dict[str, list[Reply]]:
    """What waits in the bot's outbox, by chat, oldest first; it is taken out."""
    replies: dict[str, list[Reply]] = {}
    while claims := await take(redis):
        for claim in claims:
            reply = load(Reply, claim.items[0].body)
            replies.setdefault(reply.chat_id, []).append(reply)
            await settle(redis, claim, Done(Commit()))
    return replies


def buttons(reply: Reply) -> list[str]:
    return [button.command for row in reply.buttons for button in row]


# ── invariant 12: only who was let in ────────────────────────────────────────────────────────────────────────────
PRIVATE: dict[str, Any] = {"id": STRANGER, "type": "private"}


@pytest.mark.parametrize("chat", [PRIVATE, GROUP], ids=["private", "group"])
@pytest.mark.parametrize(
    "text", ["hello", "/help", "/approve ABCD2345", "/stop", "/forget all", "@koi777_bot hi"]
)
@pytest.mark.parametrize("role", ["stranger", "blocked", "waiting"])
async def test_nothing_of_somebody_who_was_not_let_in_reaches_a_lane(
    redis: RedisPort, porch: Porch, role: str, text: str, chat: dict[str, Any]
) -> None:
    if role == "blocked":
        await save_person(redis, Person(user_id=str(STRANGER), role="blocked"))
    if role == "waiting":
        await porch.hear(STRANGER)
    mention = [{"type": "mention", "offset": 0, "length": 11}]

    await porch.hear(STRANGER, text, chat=chat, **({"entities": mention} if text[0] == "@" else {}))

    assert [key async for key in redis.scan_iter(match=keys.items("in:*"))] == []


async def test_whoever_was_let_into_a_group_is_a_stranger_in_private(redis: RedisPort, porch: Porch) -> None:
    await redis.hset(keys.groups(), "-5", dump(Group(chat_id="-5")))

    await porch.hear(STRANGER, "/help", chat=GROUP)
    await porch.hear(STRANGER, "/help")
    await porch.hear(STRANGER, "/help", chat={**GROUP, "id": -6})

    assert len(await waiting(redis, "777:-5:0")) == 1
    assert await waiting(redis, "777:99:0") == []
    assert await waiting(redis, "777:-6:0") == []


# ── strangers ────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_stranger_gets_a_code_and_the_owner_is_asked(redis: RedisPort, porch: Porch) -> None:
    await save_person(redis, Person(user_id="1", role="owner", language="de", chat_bot_id="777"))

    await porch.hear(STRANGER, "let me in", name="Ann")

    sent = await answers(redis)
    (told,), (asked,) = sent["99"], sent["1"]
    code = buttons(asked)[0].removeprefix("/approve ")
    assert told.text.startswith("Hello Ann!")
    assert spaced(code) in told.text
    assert spaced(code) in asked.text
    assert asked.text.startswith("„Ann“ (Nummer 99) möchte mit parcel reden.")
    assert buttons(asked) == [f"/approve {code}", f"/approve {code} guest", "/block 99"]
    assert (told.owner, asked.owner, told.answers) == ("", "", ("777:10",))


async def test_the_owner_is_asked_by_the_bot_that_knows_them(redis: RedisPort, porch: Porch) -> None:
    await save_person(redis, Person(user_id="1", role="owner", chat_bot_id="888"))

    await porch.hear(STRANGER)

    assert await redis.llen(keys.items(keys.outbox_job("888:1:0"))) == 1


async def test_a_stranger_hears_the_same_code_three_times_an_hour(redis: RedisPort, porch: Porch) -> None:
    for _ in range(6):
        await porch.hear(STRANGER, language="de")
    sent = await answers(redis)

    assert len({reply.text for reply in sent["99"]}) == 1
    assert (len(sent["99"]), len(sent["1"])) == (3, 1)
    assert sent["99"][0].text.startswith("Hallo Person 99! Ich rede nur mit Leuten")

    porch.now_ms += HOUR_MS
    await porch.hear(STRANGER, language="de")
    later = await answers(redis)
    assert later["99"][0].text != sent["99"][0].text
    assert len(later["1"]) == 1


async def test_nobody_is_told_twice_when_an_update_comes_again(redis: RedisPort, porch: Porch) -> None:
    batch = [porch.update(STRANGER)]

    for _ in range(3):
        await porch.intake.take(batch)

    sent = await answers(redis)
    assert (len(sent["99"]), len(sent["1"])) == (1, 1)


async def test_both_are_told_though_the_process_died_before_it_was_stored(
    redis: RedisPort, porch: Porch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ConnectionError("connection lost")

    batch = [porch.update(STRANGER)]
    with monkeypatch.context() as patch:
        patch.setattr("bot.intake.ingest", broken)
        with pytest.raises(ConnectionError):
            await porch.intake.take(batch)
    await Porch(redis).intake.take(batch)  # another process

    sent = await answers(redis)
    assert (len(sent["99"]), len(sent["1"])) == (1, 1)


async def test_of_a_crowd_the_owner_hears_only_so_much(redis: RedisPort, porch: Porch) -> None:
    for user_id in range(100, 100 + MOST_OPEN + 3):
        await porch.hear(user_id)

    sent = await answers(redis)
    assert len(sent["1"]) == MOST_OPEN
    last = sent[str(100 + MOST_OPEN)]
    assert [reply.text for reply in last] == [
        f"Sorry, I only talk to people I was introduced to. My owner can let you in with your number: {100 + MOST_OPEN}"
    ]


async def test_who_was_let_in_a_moment_ago_is_not_asked_for_a_code(redis: RedisPort, porch: Porch) -> None:
    await porch.hear(STRANGER)
    await save_person(redis, Person(user_id=str(STRANGER)))  # by a worker: this process does not know yet

    await porch.hear(STRANGER, "thank you")

    assert [message.text for message in await waiting(redis, "777:99:0")] == ["thank you"]


async def test_a_guest_gets_in(redis: RedisPort, porch: Porch) -> None:
    await save_person(redis, Person(v=2, user_id=str(STRANGER), role="guest"))

    await porch.hear(STRANGER)

    assert len(await waiting(redis, "777:99:0")) == 1


async def test_an_id_that_the_settings_allow_can_be_blocked(redis: RedisPort, porch: Porch) -> None:
    await save_person(redis, Person(user_id=str(ALLOWED), role="blocked"))

    await porch.hear(ALLOWED)

    assert await waiting(redis, "777:42:0") == []
    assert await answers(redis) == {}


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("user_id", [OWNER, ALLOWED, STRANGER])
async def test_the_owner_is_asked_once_about_a_group_that_hears_nothing(
    redis: RedisPort, porch: Porch, user_id: int
) -> None:
    for _ in range(3):
        await porch.hear(user_id, "/help", chat=GROUP)
        porch.now_ms += HOUR_MS
    await Porch(redis).hear(user_id, "/help", chat=GROUP)  # another process

    sent = await answers(redis)
    assert sent.keys() == {"1"}
    (asked,) = sent["1"]
    assert f"“Person {user_id}” (id {user_id}) wrote to parcel in the group “Family” (id -5)" in asked.text
    assert [command.partition(" ")[0] for command in buttons(asked)] == ["/approve", "/block"]
    assert buttons(asked)[0].startswith("/approve group ")
    assert buttons(asked)[1] == "/block -5"


async def test_in_an_unknown_group_the_owner_and_people_let_in_are_heard(
    redis: RedisPort, porch: Porch
) -> None:
    for user_id in (OWNER, ALLOWED, STRANGER):
        await porch.hear(user_id, "/help", chat=GROUP)

    assert [message.user_id for message in await waiting(redis, "777:-5:0")] == ["1", "42"]


async def test_the_owner_is_not_asked_about_a_group_that_was_approved_a_moment_ago(
    redis: RedisPort, porch: Porch
) -> None:
    await porch.hear(ALLOWED, "hello")  # what is known of groups is read
    await redis.hset(keys.groups(), "-5", dump(Group(chat_id="-5")))  # by another process, or by a migration

    await porch.hear(ALLOWED, "/help", chat=GROUP)

    assert [message.user_id for message in await waiting(redis, "777:-5:0")] == ["42"]
    assert await answers(redis) == {}


async def test_after_a_week_the_owner_may_be_asked_again(redis: RedisPort, porch: Porch) -> None:
    await porch.hear(STRANGER, "/help", chat=GROUP)
    porch.now_ms += GOOD_MS["group"]
    await porch.hear(STRANGER, "/help", chat=GROUP)

    assert len((await answers(redis))["1"]) == 2


async def test_a_blocked_group_hears_nothing_and_is_not_asked_about(redis: RedisPort, porch: Porch) -> None:
    await redis.hset(keys.groups(), "-5", dump(Group(chat_id="-5", role="blocked")))

    for user_id in (STRANGER, ALLOWED):
        await porch.hear(user_id, "/help", chat=GROUP)

    assert [message.user_id for message in await waiting(redis, "777:-5:0")] == ["42"]
    assert await answers(redis) == {}


async def test_somebody_blocked_is_not_heard_in_an_approved_group(redis: RedisPort, porch: Porch) -> None:
    await redis.hset(keys.groups(), "-5", dump(Group(chat_id="-5")))
    await save_person(redis, Person(user_id=str(STRANGER), role="blocked"))

    await porch.hear(STRANGER, "/help", chat=GROUP)

    assert await waiting(redis, "777:-5:0") == []


async def test_without_an_owner_a_group_is_silent(redis: RedisPort) -> None:
    await Porch(redis, Settings()).hear(STRANGER, "/help", chat=GROUP)

    assert await answers(redis) == {}
    assert (await read_people(redis, Settings())).groups == {}


async def test_no_crowd_of_groups_keeps_the_owner_from_allowing_their_own(
    redis: RedisPort, porch: Porch
) -> None:
    for number in range(MOST_OPEN + 2):
        await porch.hear(200 + number, "/help", chat={**GROUP, "id": -100 - number})

    await porch.hear(OWNER, "/help", chat=GROUP)

    assert len((await answers(redis))["1"]) == MOST_OPEN + 1


@pytest.mark.parametrize(
    ("update", "title"),
    [
        ({"message": {"chat": {"title": "Family"}}}, "Family"),
        ({"edited_message": {"chat": {"title": "x" * 99}}}, "x" * 64),
        ({"message": {"chat": {}}}, ""),
        ({"message": "odd"}, ""),
        ({"poll": {}}, ""),
    ],
)
def test_the_title_of_a_group(update: dict[str, Any], title: str) -> None:
    assert title_in(update) == title


# ── floods ───────────────────────────────────────────────────────────────────────────────────────────────────────
FEW = TelegramSettings(person_messages_per_minute=3, person_messages_per_hour=5)


@pytest.fixture
def strict(redis: RedisPort) -> Porch:
    """Three messages a minute, five an hour."""
    return Porch(redis, limits=FEW)


async def test_a_flood_is_answered_once_and_not_read(redis: RedisPort, strict: Porch) -> None:
    batch = [strict.update(ALLOWED, f"m{number}") for number in range(8)]

    assert await strict.intake.take(batch) == Taken(18)

    assert [message.text for message in await waiting(redis, "777:42:0")] == ["m0", "m1", "m2"]
    (line,) = (await answers(redis))["42"]
    assert line.text.startswith("That was quick! I read at most 3 messages a minute.")


async def test_after_the_minute_messages_are_read_again(redis: RedisPort, strict: Porch) -> None:
    for _ in range(5):
        await strict.hear(ALLOWED)
    strict.now_ms += 60_000
    await strict.hear(ALLOWED, "later")

    assert [message.text for message in await waiting(redis, "777:42:0")] == ["hello"] * 3 + ["later"]


async def test_the_hour_has_a_limit_of_its_own(redis: RedisPort, strict: Porch) -> None:
    for _ in range(8):
        await strict.hear(ALLOWED, language="de")
        strict.now_ms += 60_000

    assert len(await waiting(redis, "777:42:0")) == 5
    (line,) = (await answers(redis))["42"]
    assert line.text.startswith("Das war viel! Ich lese höchstens 5 Nachrichten in der Stunde.")
    assert "in 55 Min." in line.text


async def test_each_chat_in_which_something_is_not_read_is_told(redis: RedisPort, strict: Porch) -> None:
    for chat in (None, GROUP):
        for _ in range(5):
            await strict.hear(ALLOWED, "/help", **({"chat": chat} if chat else {}))

    sent = await answers(redis)
    assert (len(sent["42"]), len(sent["-5"])) == (1, 1)


async def test_a_tap_that_is_not_carried_out_is_told_too(redis: RedisPort, strict: Porch) -> None:
    for _ in range(3):
        await strict.hear(ALLOWED)
    other = FakeTelegram(now=lambda: NOW_MS / 1000)
    other.tap("777", ALLOWED, "/new")
    (tap,) = other.bot("777").updates

    await strict.intake.take([tap])

    assert len((await answers(redis))["42"]) == 1


@pytest.mark.parametrize("text", ["/stop", "/forget all"])
async def test_stop_and_forget_always_pass(redis: RedisPort, strict: Porch, text: str) -> None:
    for _ in range(4):
        await strict.hear(ALLOWED)

    await strict.hear(ALLOWED, text)

    assert "/" + (await waiting(redis, "777:42:0"))[-1].command in text


async def test_the_owner_is_not_limited(redis: RedisPort, strict: Porch) -> None:
    for _ in range(30):
        await strict.hear(OWNER)

    assert len(await waiting(redis, "777:1:0")) == 30


async def test_one_person_s_flood_is_not_another_s(redis: RedisPort, strict: Porch) -> None:
    await save_person(redis, Person(user_id="43"))
    for _ in range(5):
        await strict.hear(ALLOWED)

    await strict.hear(43)

    assert len(await waiting(redis, "777:43:0")) == 1


async def test_what_is_delivered_again_is_counted_once(redis: RedisPort, strict: Porch) -> None:
    batch = [strict.update(ALLOWED, f"m{number}") for number in range(2)]
    for _ in range(5):
        await strict.intake.take(batch)

    await strict.hear(ALLOWED, "third")

    assert len(await waiting(redis, "777:42:0")) == 3
    assert await answers(redis) == {}


async def test_what_waited_while_koi_was_off_is_no_flood(redis: RedisPort, strict: Porch) -> None:  # C4
    batch = [strict.update(ALLOWED, f"m{number}") for number in range(9)]
    strict.now_ms += HOUR_MS

    await strict.intake.take(batch)

    assert len(await waiting(redis, "777:42:0")) == 9


async def test_messages_are_counted_by_when_they_were_sent(redis: RedisPort, strict: Porch) -> None:  # C4
    batch: list[dict[str, Any]] = []
    for minute in range(5):
        batch.append(strict.update(ALLOWED, f"m{minute}"))
        strict.now_ms += 60_000

    await strict.intake.take(batch)

    assert len(await waiting(redis, "777:42:0")) == 5


async def test_of_a_stranger_s_flood_nothing_is_stored(redis: RedisPort, strict: Porch) -> None:
    for _ in range(9):
        await strict.hear(STRANGER)

    times = int(await redis.hget(keys.knock("99"), "times") or 0)
    assert times == 3
