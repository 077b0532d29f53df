"""From updates into lanes: who gets in, what is stored, and how far the offset goes."""

from typing import Any

import pytest

from bot.admit import Door
from bot.intake import Intake, Taken, what_to_forget
from infra import keys
from infra.people import PeopleCache, owner_id, pairing_code, save_person
from infra.pushes import push_message
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.outcome import Commit, Done
from schemas.inbound import InboundMessage, person_owner
from schemas.memory import RingEntry
from schemas.person import Person
from schemas.reply import Reply
from schemas.wire import dump, load
from tests.bot.conftest import ME, NOW_MS, clock, settle, take
from tests.fakes.telegram import FakeTelegram

JO = 42
LANE = f"777:{JO}:0"
OWNED = Settings(telegram_owner="1", telegram_allowed_users=(str(JO),))
NOBODY = Settings()
fake = FakeTelegram(now=lambda: NOW_MS / 1000)


def intake_of(redis: RedisPort, settings: Settings = OWNED, **more: Any) -> Intake:
    people = PeopleCache(redis, settings, clock)
    return Intake(redis, settings, ME, Door(redis, people, clock), **more)


def update(number: int, text: str = "hello", *, user_id: int = JO, **more: Any) -> dict[str, Any]:
    return {"update_id": number, "message": fake.message("777", user_id, text, **more)}


async def waiting(redis: RedisPort, lane: str = LANE) -> list[InboundMessage]:
    """Messages in a lane's inbox, oldest first."""
    job_id = keys.inbox_job(lane)
    ids = [entry.decode()[2:] for entry in await redis.lrange(keys.items(job_id), 0, -1)]
    bodies = await redis.hgetall(keys.bodies(job_id))
    return [load(InboundMessage, bodies[item_id.encode()]) for item_id in ids]


async def answers(redis: RedisPort) -> list[Reply]:
    """What waits in the bot's outbox, oldest first in each chat."""
    replies: list[Reply] = []
    while claims := await take(redis):
        replies += [load(Reply, claim.items[0].body) for claim in claims]
        for claim in claims:
            await settle(redis, claim, Done(Commit()))
    return replies


# ── storing ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_batch_is_stored_with_its_offset(redis: RedisPort) -> None:  # C10
    taken = await intake_of(redis).take([update(10, "one"), update(11, "two"), {"update_id": 12, "poll": {}}])

    assert taken == Taken(13)
    assert [m.text for m in await waiting(redis)] == ["one", "two"]
    assert await redis.get(keys.offset("777")) == b"13"


async def test_an_update_is_taken_once(redis: RedisPort) -> None:  # C6
    for _ in range(5):
        assert await intake_of(redis).take([update(10)]) == Taken(11)

    assert len(await waiting(redis)) == 1


async def test_only_ignored_updates_still_move_the_offset(redis: RedisPort) -> None:
    assert await intake_of(redis).take([{"update_id": 10}]) == Taken(11)
    assert await redis.get(keys.offset("777")) == b"11"


async def test_a_batch_stops_at_its_first_failure(redis: RedisPort) -> None:
    await redis.set(keys.items(keys.inbox_job("777:43:0")), "not a list")
    people = Settings(telegram_allowed_users=("42", "43"))
    batch = [update(10), {"update_id": 11}, update(12, user_id=43), update(13)]

    taken = await intake_of(redis, people).take(batch)

    assert taken.next_update_id == 12
    assert taken.error.startswith("WRONGTYPE")
    assert [m.id for m in await waiting(redis)] == ["777:10"]
    assert await redis.get(keys.offset("777")) is None


async def test_the_webhook_stores_no_offset(redis: RedisPort) -> None:
    await intake_of(redis, keeps_offset=False).take([update(10)])

    assert await redis.get(keys.offset("777")) is None


def test_a_command_goes_alone_and_a_part_waits() -> None:
    message = InboundMessage(id="777:1", bot_id="777", bot="b", chat_id="42", user_id="42", sent_at_ms=1)

    command = push_message(message.model_copy(update={"kind": "command"}), 700)
    part = push_message(message, 700)

    assert (command.solo, command.hold_ms) == (True, 0)
    assert (part.solo, part.hold_ms, part.owner) == (False, 700, "home:u:42")


async def test_a_long_paste_is_held_for_its_rest(redis: RedisPort) -> None:  # C14
    await intake_of(redis).take([update(10, "x" * 4096)])

    assert b"hold_until" in await redis.hgetall(keys.state(keys.inbox_job(LANE)))


async def test_with_sentinel_nothing_is_safe_without_a_replica(
    redis: RedisPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.REPLICA_WAIT_MS", 1)
    sentinel = OWNED.model_copy(update={"redis_url": "redis+sentinel://a,b/main"})

    taken = await intake_of(redis, sentinel).take([update(10)])

    assert taken.next_update_id == 0
    assert taken.error


# ── who gets in ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("user_id", [1, 42, 50], ids=["owner", "allowed", "paired"])
async def test_people_with_a_role_get_in(redis: RedisPort, user_id: int) -> None:
    await save_person(redis, Person(user_id="50"))

    await intake_of(redis).take([update(10, user_id=user_id)])

    assert len(await waiting(redis, f"777:{user_id}:0")) == 1


async def test_a_blocked_person_hears_nothing(redis: RedisPort) -> None:
    await save_person(redis, Person(user_id="42", role="blocked"))

    await intake_of(redis).take([update(10)])

    assert await waiting(redis) == []
    assert await answers(redis) == []


async def test_a_command_of_a_stranger_is_not_carried_out(redis: RedisPort) -> None:
    await redis.rpush(keys.ring("home:u:99"), dump(entry("a")))

    await intake_of(redis).take([update(10, "/forget all", user_id=99)])

    assert await redis.llen(keys.ring("home:u:99")) == 1


async def test_where_the_owner_wrote_last_is_noted(redis: RedisPort) -> None:
    await intake_of(redis).take([update(10, user_id=1, language="de", name="Jo")])

    noted = load(Person, await redis.hget(keys.people(), "1") or b"")
    assert (noted.role, noted.language, noted.chat_bot_id, noted.name) == ("owner", "de", "777", "Jo")


# ── pairing ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("form", ["{}", " {} ", "/start {}"])
async def test_the_pairing_code_makes_its_sender_the_owner(redis: RedisPort, form: str) -> None:
    code = await pairing_code(redis, NOBODY)
    intake = intake_of(redis, NOBODY)

    await intake.take([update(10, form.format(code), language="de", name="Jo"), update(11, "hello")])

    assert await owner_id(redis, NOBODY) == "42"
    (greeting,) = await answers(redis)
    assert greeting.text.startswith("Hallo Jo, ich gehöre jetzt dir.")
    assert [m.text for m in await waiting(redis)] == ["hello"]


async def test_a_code_delivered_twice_greets_once_and_is_no_message(redis: RedisPort) -> None:
    code = await pairing_code(redis, NOBODY)
    for _ in range(2):
        await intake_of(redis, NOBODY).take([update(10, code)])

    assert len(await answers(redis)) == 1
    assert await waiting(redis) == []


async def test_before_there_is_an_owner_a_stranger_is_asked_for_the_code(redis: RedisPort) -> None:
    await pairing_code(redis, NOBODY)

    await intake_of(redis, NOBODY).take([update(10, "/start")])

    (told,) = await answers(redis)
    assert "pairing code" in told.text
    assert "42" in told.text


async def test_wrong_codes_are_answered_three_times(redis: RedisPort) -> None:
    code = await pairing_code(redis, NOBODY)
    intake = intake_of(redis, NOBODY)

    await intake.take([update(number, "WRNNG234") for number in range(10, 15)])
    await intake.take([update(20, code)])

    assert [r.text.partition(".")[0] for r in await answers(redis)] == ["That is not the pairing code"] * 3
    assert await owner_id(redis, NOBODY) == ""


async def test_with_an_owner_a_code_is_like_any_text(redis: RedisPort) -> None:
    await redis.set(keys.pairing(), "ABCD2345")

    await intake_of(redis).take([update(10, "ABCD2345", user_id=99)])

    assert sorted(reply.chat_id for reply in await answers(redis)) == ["1", "99"]
    assert await redis.exists(keys.tries("99")) == 0


# ── forgetting ───────────────────────────────────────────────────────────────────────────────────────────────────
def entry(word: str) -> RingEntry:
    return RingEntry(id=word, at_ms=1, user_message=word, summary=word)


@pytest.mark.parametrize(
    ("argument", "what"),
    [
        ("all", "all"),
        ("Alles", "all"),
        ("LAST", "last"),
        ("letzte", "last"),
        ("Chemitek", "Chemitek"),
        ("", ""),
    ],
)
def test_what_is_to_be_forgotten(argument: str, what: str) -> None:
    message = InboundMessage(
        id="1", bot_id="7", bot="b", chat_id="1", user_id="1", sent_at_ms=1, kind="command", command="forget",
        argument=argument,
    )  # fmt: skip

    assert what_to_forget(message) == what
    assert what_to_forget(message.model_copy(update={"command": "memory"})) == ""


async def test_forgetting_happens_at_admission_with_what_waited_before(redis: RedisPort) -> None:
    ring = keys.ring(person_owner("home", "42"))
    await redis.rpush(ring, dump(entry("a")), dump(entry("b")))

    await intake_of(redis).take([update(10, "secret"), update(11, "/forget all"), update(12, "hi")])

    assert await redis.exists(ring) == 0
    assert [(m.text, m.forgot) for m in await waiting(redis)] == [("/forget all", 2), ("hi", None)]


async def test_forgetting_the_last_happens_once_though_the_process_died_before_it_was_taken(
    redis: RedisPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = keys.ring(person_owner("home", "42"))
    await redis.rpush(ring, dump(entry("a")), dump(entry("b")))
    batch = [update(10, "/forget last")]

    with monkeypatch.context() as patch:
        patch.setattr("bot.intake.ingest", broken)
        with pytest.raises(ConnectionError):
            await intake_of(redis).take(batch)
    await intake_of(redis).take(batch)  # another process

    assert await redis.llen(ring) == 1
    assert [m.forgot for m in await waiting(redis)] == [1]


async def broken(*_: object, **__: object) -> None:
    raise ConnectionError


async def test_forgetting_is_not_repeated_for_a_repeated_update(redis: RedisPort) -> None:
    ring = keys.ring(person_owner("home", "42"))
    await redis.rpush(ring, dump(entry("a")), dump(entry("b")))

    for _ in range(2):
        await intake_of(redis).take([update(10, "/forget last")])

    assert await redis.llen(ring) == 1


# ── at admission ─────────────────────────────────────────────────────────────────────────────────────────────────
GROUP, SUPERGROUP = {"id": -5, "type": "group"}, {"id": -1005, "type": "supergroup"}


async def test_an_edit_of_what_still_waits_takes_its_place(redis: RedisPort) -> None:  # C37
    intake, sent = intake_of(redis), fake.message("777", JO, "book 5")
    edited = sent | {"text": "book 6", "edit_date": sent["date"] + 1}

    assert await intake.take([{"update_id": 1, "message": sent}, update(2, "and a taxi")]) == Taken(3)
    assert await intake.take([{"update_id": 3, "edited_message": edited}]) == Taken(4)

    assert [(m.text, m.edited) for m in await waiting(redis)] == [("book 6", False), ("and a taxi", False)]


async def test_an_edit_in_the_same_batch_as_its_message_takes_its_place_too(redis: RedisPort) -> None:  # C37
    sent = fake.message("777", JO, "book 5")
    edited = sent | {"text": "book 6", "edit_date": sent["date"] + 1}

    await intake_of(redis).take(
        [{"update_id": 1, "message": sent}, {"update_id": 2, "edited_message": edited}]
    )

    assert [m.text for m in await waiting(redis)] == ["book 6"]


async def test_an_edit_of_what_is_answered_already_is_a_message_of_its_own(redis: RedisPort) -> None:  # C37
    sent = fake.message("777", JO, "book 5")
    edited = sent | {"text": "book 6", "edit_date": sent["date"] + 1}

    await intake_of(redis).take([{"update_id": 2, "edited_message": edited}])

    assert [(m.text, m.edited) for m in await waiting(redis)] == [("book 6", True)]


async def test_what_waits_in_a_group_moves_with_it(redis: RedisPort) -> None:
    intake = intake_of(redis)
    await intake.take([update(1, "/help", chat=GROUP)])
    moved = fake.message("777", JO, "", chat=GROUP) | {"migrate_to_chat_id": -1005}

    assert await intake.take([{"update_id": 2, "message": moved}]) == Taken(3)

    assert await waiting(redis, "777:-5:0") == []
    assert [m.command for m in await waiting(redis, "777:-1005:0")] == ["help"]
