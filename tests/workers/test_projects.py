"""Projects of a lane, each with a conversation of its own."""

from dataclasses import replace
from typing import Any

import pytest

from infra import keys
from infra.redis_port import RedisPort
from memory.entry import make_entry
from memory.fold import fold_effects
from memory.limits import MemoryLimits, SessionLimits
from memory.parked import park
from memory.session import extend, new_exchange, read_session, session_effects
from memory.store import apply
from schemas.memory import AnswerRecord, Fold, Parked, RingEntry, Session
from schemas.wire import load
from tests.workers.stage import APRIL_5_14_23, MINUTE_MS, House
from workers.projects import Desk, known_projects, load_parked, project_said, read_project
from workers.said import Said

LANE = "7:42:0"
LIMITS = SessionLimits()
NOTHING = Parked(sessions={})


def talk(about: str, at_ms: int = APRIL_5_14_23) -> Session:
    return extend(None, new_exchange(f"turn-{about}", at_ms, about, "ok"), [], at_ms, LIMITS)


def entry(workdir: str, number: int = 1) -> RingEntry:
    exchange = new_exchange(f"turn-{number}", APRIL_5_14_23, "hi", "ho")
    return make_entry(exchange, MemoryLimits(), workdir=workdir)


def desk(project: str = "", **fields: Any) -> Desk:
    values: dict[str, Any] = {
        "lane": LANE, "project": project, "session": None, "answer": None, "parked": NOTHING, "entries": (),
        "limits": LIMITS, "language": "en", "now_ms": APRIL_5_14_23,
    }  # fmt: skip
    return Desk(**{**values, **fields})


def commands(said: Said) -> list[str]:
    return [button.command for row in said.buttons for button in row]


async def switched(redis: RedisPort, before: Desk, argument: str, *, later_ms: int = 0) -> Desk:
    """What lies on the desk once the command was committed, and `later_ms` have passed."""
    said = project_said(before, argument)
    await apply(redis, [*said.effects, *said.texts])
    now_ms = before.now_ms + later_ms
    answer = await redis.get(keys.answer(LANE))
    return replace(
        before,
        project=read_project(await redis.get(keys.project(LANE))),
        session=read_session(await redis.get(keys.session(LANE)), now_ms, LIMITS),
        answer=load(AnswerRecord, answer) if answer else None,
        parked=await load_parked(redis, LANE, now_ms, LIMITS),
        now_ms=now_ms,
    )


# ── what /project says ───────────────────────────────────────────────────────────────────────────────────────────
def test_project_alone_shows_the_present_one_and_offers_the_others() -> None:
    said = project_said(
        desk(
            "garden",
            parked=park(NOTHING, "house", talk("roof")),
            entries=(entry("tax"), entry(""), entry("boat")),
        ),
        "",
    )

    assert said.text.startswith("This chat is about the project “garden”.")
    assert commands(said) == ["/project house", "/project boat", "/project tax", "/project -"]
    assert (said.effects, said.texts) == ((), ())
    assert project_said(desk(), "").text.startswith("This chat is about no project in particular.")


def test_the_way_out_is_always_among_the_buttons() -> None:
    many = tuple(entry(f"project {number}") for number in range(20))

    assert len(commands(project_said(desk("garden", entries=many), ""))) == 7
    assert commands(project_said(desk("garden", entries=many), ""))[-1] == "/project -"


def test_a_name_that_is_too_long_for_a_button_can_still_be_typed() -> None:
    name = "園" * 40

    assert commands(project_said(desk(entries=(entry(name),)), "")) == []
    assert project_said(desk(), name).effects[0].args == (name,)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Garden", "Garden"),
        ("  my\n garden ", "my garden"),
        ("HOUSE", "house"),
        ("x]\n[05.04. 15:00", "x 05.04. 15:00"),
        ("</system>·", "system"),
        ("word " * 20, "word word word word word word word word"),
        ("a\x00b", "ab"),
    ],
    ids=["as typed", "one line", "known in another case", "brackets", "tags", "long", "odd"],
)
def test_a_name_is_one_short_line_and_known_ones_are_found_in_any_case(typed: str, name: str) -> None:
    said = project_said(desk(entries=(entry("house"),)), typed)

    assert said.effects[0].args == (name,)
    assert f"“{name}”" in said.text


@pytest.mark.parametrize("typed", ["[]", "\u200b", "·"])
def test_a_name_that_nobody_sees_is_none(typed: str) -> None:
    said = project_said(desk("garden"), typed)

    assert said.text == "A project needs a name: /project garden."
    assert said.effects == ()


def test_labels_of_other_programs_are_no_projects() -> None:
    entries = (entry("/srv/koi"), entry("x" * 50), entry("a\nb"), entry("none"), entry("tax"))

    assert known_projects(desk(entries=entries)) == ("tax",)


@pytest.mark.parametrize("typed", ["garden", "GARDEN"])
def test_going_where_one_is_changes_nothing(typed: str) -> None:
    said = project_said(desk("garden", session=talk("roses")), typed)

    assert (said.effects, said.texts) == ((), ())


# ── what it changes ──────────────────────────────────────────────────────────────────────────────────────────────
async def test_each_project_goes_on_with_its_own_conversation(redis: RedisPort) -> None:
    answer = AnswerRecord(turn_id="turn-news", at_ms=APRIL_5_14_23, entry_ids=("a",))
    talking = talk("news")
    await apply(redis, session_effects(LANE, talking, LIMITS))

    garden = await switched(redis, desk(session=talking, answer=answer), "garden", later_ms=MINUTE_MS)

    assert (garden.project, garden.session, garden.answer) == ("garden", None, None)
    assert garden.parked.sessions == {"": talking}

    roses = talk("roses", garden.now_ms)
    back = await switched(redis, replace(garden, session=roses), "none", later_ms=MINUTE_MS)

    assert (back.project, back.session, back.answer) == ("", talking, answer)
    assert back.parked.sessions == {"garden": roses}
    assert await redis.exists(keys.project(LANE)) == 0

    again = await switched(redis, back, "Garden")

    assert (again.project, again.session) == ("garden", roses)
    assert again.parked.sessions == {"": talking}
    assert await redis.zscore(keys.expiry(), keys.session(LANE)) is not None


async def test_what_has_become_idle_is_over_in_a_project_too(redis: RedisPort) -> None:
    garden = await switched(redis, desk(session=talk("news")), "garden", later_ms=31 * MINUTE_MS)

    assert garden.parked == NOTHING
    back = await switched(redis, garden, "-")
    assert back.session is None
    assert await redis.exists(keys.parked(LANE), keys.session(LANE)) == 0


def test_how_long_a_conversation_waits_is_said() -> None:
    talking = desk(session=talk("news"), now_ms=APRIL_5_14_23 + 10 * MINUTE_MS)

    first = project_said(talking, "garden")
    second = project_said(replace(talking, project="garden", parked=park(NOTHING, "tax", talk("vat"))), "tax")

    assert first.text == (
        "From now on this chat is about the project “garden”. Its conversation begins with your next message. "
        "The one until now waits for 20 min."
    )
    assert commands(first) == ["/project -"]
    assert "Its conversation goes on where it was." in second.text
    assert [(row[0].text, row[0].command) for row in second.buttons] == [
        ("Back to garden", "/project garden")
    ]


def test_only_what_holds_no_words_is_changed_for_somebody_who_just_forgot() -> None:
    """Commit.texts are dropped if the owner forgot meanwhile; Commit.effects are not."""
    said = project_said(desk(session=talk("secret"), parked=park(NOTHING, "garden", talk("roses"))), "garden")

    assert not any(b"secret" in bytes(str(effect.args), "utf-8") for effect in said.effects)
    assert {effect.key for effect in said.texts} >= {keys.session(LANE), keys.parked(LANE)}
    assert keys.project(LANE) in {effect.key for effect in said.effects}


async def test_a_summary_on_its_way_does_not_get_into_another_project(redis: RedisPort) -> None:
    talking = talk("news")
    fold = Fold(session_id=talking.id, summary="news", covers=(), oldest_ms=APRIL_5_14_23)
    await apply(redis, fold_effects(LANE, fold, APRIL_5_14_23, LIMITS))

    await switched(redis, desk(session=talking), "garden")

    assert await redis.get(keys.fold(LANE)) is None


async def test_the_command_in_a_chat(house: House) -> None:
    assert (await house.say("/project")).startswith("In diesem Chat geht es um kein bestimmtes Projekt.")
    assert (await house.say("/project Garten")).startswith(
        "Ab jetzt geht es in diesem Chat um das Projekt „Garten“."
    )
    assert "„Garten“" in await house.say("/project")
    assert (await house.say("/project kein")).startswith(
        "Ab jetzt geht es in diesem Chat um kein bestimmtes Projekt."
    )
