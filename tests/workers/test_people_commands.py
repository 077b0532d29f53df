"""/people, /approve, /block and /unblock: what the owner reads, and what a tap changes."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from infra import keys
from infra.knocks import ask
from infra.people import People, PeopleCache, person_effect
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.together import together
from schemas.inbound import InboundMessage
from schemas.person import Group, Knock, Person
from schemas.reply import Reply
from schemas.wire import load
from tests.workers.stage import APRIL_5_14_23, BERLIN
from workers.house import House, load_everybody
from workers.people_commands import people_answer
from workers.plans import Plan, Plans
from workers.said import Said

HOUSE = Settings(telegram_allowed_users=("44",))
EMPTY = People()
JO = Person(
    user_id="1", name="Jo", role="owner", since_ms=APRIL_5_14_23 - 1000, language="en", chat_bot_id="777"
)


def message(
    text: str, *, user_id: str = "1", chat_id: str = "", name: str = "Jo", language: str = "en"
) -> InboundMessage:
    """A command as it comes from the bot."""
    command, _, argument = text.removeprefix("/").partition(" ")
    return InboundMessage(
        id="777:1", bot_id="777", bot="kitchen", chat_id=chat_id or user_id, user_id=user_id, user_name=name,
        chat_kind="group" if chat_id else "private", language=language, sent_at_ms=APRIL_5_14_23,
        text=text, kind="command", command=command, argument=argument,
    )  # fmt: skip


@dataclass
class Desk:
    """The owner's commands on real keys."""

    redis: RedisPort
    now_ms: int = APRIL_5_14_23
    plans: Plans = field(default_factory=Plans)

    async def asks(self, user_id: str, name: str, *, group: str = "", language: str = "de") -> str:
        """Somebody unknown writes; gives their code."""
        wrote = message("/start", user_id=user_id, chat_id=group, name=name, language=language)
        knocked = await ask(self.redis, wrote, now_ms=self.now_ms, title=name if group else "")
        assert knocked is not None
        return knocked.knock.code

    async def look(self, asked: InboundMessage, role: str = "owner") -> House:
        cache = PeopleCache(self.redis, HOUSE, lambda: self.now_ms)
        people, knocks = await load_everybody(self.redis, cache, self.now_ms)
        return House(asked, role, people, knocks, asked.language, BERLIN, self.now_ms, self.plans)

    async def say(self, text: str, **who: Any) -> Said:
        """The owner's command, with its effects."""
        said = people_answer(await self.look(message(text, **who)))
        for effect in said.effects:
            await together(self.redis).run((effect.command, effect.key, *effect.args))
        return said

    async def role(self, who: str) -> str:
        people = (await self.look(message("/people"))).people
        return people.group_role(who) if who.startswith("-") else people.role_of(who)


@pytest.fixture
async def desk(redis: RedisPort) -> Desk:
    await redis.hset(keys.people(), "1", person_effect(JO).args[1])
    return Desk(redis)


def told(said: Said) -> Reply:
    (push,) = said.pushes
    return load(Reply, push.body)


def commands(said: Said) -> list[str]:
    return [button.command for row in said.buttons for button in row]


# ── let in ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("form", "role"),
    [("/approve {}", "member"), ("/approve {} guest", "guest"), ("/approve guest {}", "guest"), ("/approve {} gast", "guest")],
)  # fmt: skip
async def test_the_code_lets_its_person_in_and_both_are_told(desk: Desk, form: str, role: str) -> None:
    code = await desk.asks("99", "Ann")

    said = await desk.say(form.format(code))

    assert await desk.role("99") == role
    assert said.text == f"Ann is let in ({role}) and has been told."
    assert commands(said) == ["/block 99"]
    hello = told(said)
    assert (hello.bot_id, hello.chat_id, hello.owner, hello.language) == ("777", "99", "", "de")
    assert hello.text.startswith("Gute Nachricht, Ann: Du bist eingelassen.")
    stored = load(Person, await desk.redis.hget(keys.people(), "99") or b"")
    assert (stored.name, stored.since_ms, stored.language, stored.chat_bot_id) == (
        "Ann",
        desk.now_ms,
        "de",
        "777",
    )


@pytest.mark.parametrize("typed", ["{0}-{1}", "{0} {1}", "{0}{1}"])
async def test_a_code_is_taken_however_it_is_typed(desk: Desk, typed: str) -> None:
    code = await desk.asks("99", "Ann")

    await desk.say(f"/approve {typed.format(code[:4], code[4:]).lower()}")

    assert await desk.role("99") == "member"


async def test_a_code_works_once_and_an_hour(desk: Desk) -> None:
    code = await desk.asks("99", "Ann")
    await desk.say(f"/approve {code}")
    assert (await desk.say(f"/approve {code}")).text.startswith("I know no request with this code.")

    other = await desk.asks("98", "Ben")
    desk.now_ms += 3_600_000
    assert (await desk.say(f"/approve {other}")).effects == ()
    assert await desk.role("98") == "stranger"


async def test_a_code_that_nobody_has_lets_nobody_in(desk: Desk) -> None:
    await desk.asks("99", "Ann")

    said = await desk.say("/approve ABCD2345")

    assert (said.effects, said.pushes) == ((), ())


async def test_without_a_code_those_who_wait_are_shown(desk: Desk) -> None:
    assert (await desk.say("/approve")).text.startswith("Nobody waits")

    code = await desk.asks("99", "Ann")
    said = await desk.say("/approve")

    assert said.text == f"• Ann (99): waits, code {code[:4]}-{code[4:]}"
    assert commands(said) == [f"/approve {code}", "/block 99"]


async def test_a_group_is_allowed_and_everybody_there_told(desk: Desk) -> None:
    code = await desk.asks("99", "Family", group="-5", language="de")

    said = await desk.say(f"/approve group {code}")

    assert await desk.role("-5") == "approved"
    assert await desk.role("99") == "stranger"
    assert said.text.startswith("Everybody in the group Family may talk to me there now")
    assert (told(said).chat_id, told(said).text[:13]) == ("-5", "Hallo zusamme")
    assert load(Group, await desk.redis.hget(keys.groups(), "-5") or b"").title == "Family"


# ── block and unblock ────────────────────────────────────────────────────────────────────────────────────────────
async def test_whoever_waits_can_be_blocked_and_is_no_longer_waiting(desk: Desk) -> None:
    await desk.asks("99", "Ann")

    said = await desk.say("/block 99")

    assert said.text == "Ann is blocked and gets no answer any more."
    assert await desk.role("99") == "blocked"
    assert (await desk.look(message("/people"))).knocks == ()
    assert commands(said) == ["/unblock 99"]
    assert load(Person, await desk.redis.hget(keys.people(), "99") or b"").name == "Ann"


@pytest.mark.parametrize("role", ["member", "guest"])
async def test_a_block_is_taken_back_with_a_tap(desk: Desk, role: str) -> None:
    await desk.say(f"/approve {await desk.asks('99', 'Ann')} {role}")

    (undo,) = commands(await desk.say("/block 99"))
    assert undo == f"/unblock 99 {role}"
    assert b'"v":1' in (await desk.redis.hget(keys.people(), "99") or b"")
    said = await desk.say(undo)

    assert said.text == f"Ann may talk to me again ({role})."
    assert await desk.role("99") == role


async def test_a_stranger_who_was_blocked_is_a_stranger_again(desk: Desk) -> None:
    await desk.say("/block 99")
    said = await desk.say("/unblock 99")

    assert said.text == "99 is no longer blocked and may ask to be let in."
    assert await desk.role("99") == "stranger"


async def test_an_id_of_the_settings_can_be_blocked_and_unblocked(desk: Desk) -> None:
    await desk.say("/block 44")
    assert await desk.role("44") == "blocked"

    assert (await desk.say("/unblock 44")).text == "44 is no longer blocked and may write to me."
    assert await desk.role("44") == "member"


async def test_a_group_can_be_blocked_and_unblocked(desk: Desk) -> None:
    await desk.say(f"/approve {await desk.asks('99', 'Family', group='-5')}")

    (undo,) = commands(await desk.say("/block -5"))
    assert (undo, await desk.role("-5")) == ("/unblock -5 member", "blocked")
    assert (await desk.say(undo)).text == "Everybody in the group Family may talk to me there again."

    await desk.say("/block -5")
    await desk.say("/unblock -5")
    assert await desk.role("-5") == "unknown"


@pytest.mark.parametrize("text", ["/unblock 99 member", "/unblock 99", "/unblock -5 member"])
async def test_unblocking_lets_nobody_in_who_was_not_blocked(desk: Desk, text: str) -> None:
    said = await desk.say(text)

    assert said.effects == ()
    assert "is not blocked" in said.text


@pytest.mark.parametrize("text", ["/block", "/block Ann", "/unblock", "/unblock @ann"])
async def test_without_an_id_nothing_happens(desk: Desk, text: str) -> None:
    assert (await desk.say(text)).text.startswith("Whom?")


async def test_nobody_blocks_the_owner(desk: Desk) -> None:
    assert (await desk.say("/block 1")).effects == ()
    assert await desk.role("1") == "owner"


# ── invariant 12: only the owner decides ─────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("role", ["member", "guest", "blocked"])
@pytest.mark.parametrize(
    "text", ["/people", "/approve {}", "/approve {} guest", "/block 1", "/block 99", "/unblock 99"]
)
async def test_nobody_but_the_owner_decides_who_gets_in(desk: Desk, role: str, text: str) -> None:
    code = await desk.asks("99", "Ann")
    house = await desk.look(message(text.format(code), user_id="44"), role)

    assert people_answer(house) == Said("Only my owner can do that. /help shows what I can do for you.")


@pytest.mark.parametrize("text", ["/people", "/approve {}", "/block 99"])
async def test_in_a_group_the_owner_is_asked_to_write_in_private(desk: Desk, text: str) -> None:
    said = await desk.say(text.format(await desk.asks("99", "Ann")), chat_id="-5", language="de")

    assert said == Said("Schreib mir das in unserem privaten Chat: Hier würden es alle lesen.")


# ── everybody ────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_people_shows_everybody_with_role_time_and_plan(desk: Desk) -> None:
    desk.plans = Plans({"99": Plan("free")})
    await desk.say(f"/approve {await desk.asks('99', 'Ann')} guest")
    await desk.say(f"/approve {await desk.asks('98', 'Family', group='-5')}")
    await desk.say("/block 97")
    code = await desk.asks("96", "Ben")

    said = await desk.say("/people")

    assert said.text.splitlines() == [
        "3 people may talk to me:",
        "",
        f"• Ben (96): waits, code {code[:4]}-{code[4:]}",
        "• Jo (1): owner, since 5 Apr, 14:22",
        "• 44: member, TELEGRAM_ALLOWED_USERS",
        "• Ann (99): guest, since 5 Apr, 14:23, plan free",
        "• 97: blocked, since 5 Apr, 14:23",
        "• Family (-5): group, everybody there, since 5 Apr, 14:23",
    ]
    assert commands(said) == [
        f"/approve {code}",
        "/block 96",
        "/block 44",
        "/block 99",
        "/unblock 97",
        "/block -5",
    ]
    assert [button.text for button in said.buttons[0]] == ["Let Ben in", "Block"]


async def test_people_speaks_german(desk: Desk) -> None:
    said = await desk.say("/people", language="de")

    assert said.text.splitlines()[0] == "2 Menschen dürfen mit mir reden:"
    assert "• Jo (1): Besitzer, seit 05.04. 14:22" in said.text


async def test_many_people_are_shown_page_by_page(desk: Desk) -> None:
    for number in range(200, 225):
        person = Person(user_id=str(number), name="x" * 64, since_ms=number)
        await desk.redis.hset(keys.people(), person.user_id, person_effect(person).args[1])

    first, last, beyond = [await desk.say(f"/people {page}".rstrip()) for page in ("", "3", "99")]

    assert commands(first)[-1] == "/people 2"
    assert commands(last)[-1] == "/people 2"
    assert last == beyond
    assert all(len(command.encode()) <= 64 for command in commands(first))
    assert max(len(button.text) for row in first.buttons for button in row) < 40


async def test_a_name_cannot_look_like_a_line_of_its_own(desk: Desk) -> None:
    await desk.asks("99", "Ann\n• Eve (98): owner")

    lines = (await desk.say("/people")).text.splitlines()

    assert [line for line in lines if line.startswith("• Eve")] == []


async def test_everybody_is_read_as_of_now(desk: Desk) -> None:
    cache = PeopleCache(desk.redis, HOUSE, lambda: desk.now_ms)
    await cache.read()
    await desk.redis.hset(keys.people(), "99", person_effect(Person(user_id="99")).args[1])

    people, _ = await load_everybody(desk.redis, cache, desk.now_ms)

    assert people.role_of("99") == "member"


def test_a_name_is_found_wherever_one_is_known() -> None:
    knock = Knock(code="ABCD2345", who="9", name="Ann", bot_id="7", until_ms=1)
    house = House(message("/people"), "owner", replace(EMPTY, by_id={"8": Person(user_id="8", name=" Ben ")}), (knock,), "en", BERLIN, 0)  # fmt: skip

    assert [house.name_of(who) for who in "987"] == ["Ann", "Ben", "7"]
