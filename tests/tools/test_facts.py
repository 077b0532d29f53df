"""Facts: one a subject, the newest wins and says what was before; few, dated, forgotten when asked."""

from dataclasses import replace
from typing import Any

import pytest

from infra import keys
from infra.redis_port import RedisPort
from schemas.things import Fact
from tests.tools.stage import DAY_MS, GERMAN, HERE, NOTHING, NOW_MS, Given, after, call, made, preview, told
from tools.facts import MOST, facts_text
from tools.store import change_effects, expects, load_things
from tools.tool import Here, Refused, Things

DIET: Given = {"subject": "diet", "text": "x"}
VEGETARIAN = made("remember_fact", replace(NOTHING, version=4), subject="diet", text="vegetarian")
LATER = replace(HERE, now_ms=NOW_MS + 3 * DAY_MS)


def facts(*facts: Fact) -> Things:
    return Things(len(facts), facts={fact.id: fact for fact in facts})


def fact(number: int, subject: str, text: str = "yes", **rest: Any) -> Fact:
    return Fact(id=f"f{number}", subject=subject, text=text, at_ms=NOW_MS, **rest)


# ── remember ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_fact_is_kept_with_the_day_it_was_told() -> None:
    ran = call("remember_fact", subject=" diet ", text="vegetarian,\nno eggs")

    assert ran.put == (Fact(id="f1", subject="diet", text="vegetarian, no eggs", at_ms=NOW_MS),)
    assert told(ran) == {"remembered": "f1", "subject": "diet", "text": "vegetarian, no eggs"}


@pytest.mark.parametrize("subject", ["diet", "DIET", " Diet"])
def test_the_newest_fact_of_a_subject_wins_and_says_what_was_before(subject: str) -> None:  # C32
    things = made("remember_fact", VEGETARIAN, LATER, subject=subject, text="eats meat again")

    (only,) = things.facts.values()
    assert (only.id, only.text, only.before, only.at_ms) == (
        "f5",
        "eats meat again",
        "vegetarian",
        LATER.now_ms,
    )


def test_of_three_facts_the_last_but_one_is_what_was_before() -> None:  # C32
    things = VEGETARIAN
    for day, text in enumerate(("eats meat", "vegan"), start=1):
        things = made("remember_fact", things, replace(HERE, now_ms=NOW_MS + day), subject="diet", text=text)

    assert [(fact.text, fact.before) for fact in things.facts.values()] == [("vegan", "eats meat")]


def test_the_same_fact_told_again_keeps_its_date() -> None:
    ran = call("remember_fact", VEGETARIAN, LATER, subject="Diet", text="vegetarian")

    assert (ran.put, told(ran)["unchanged"]) == ((), "fact")


def test_a_subject_is_the_same_however_unicode_writes_it() -> None:
    things = made("remember_fact", facts(fact(1, "Größe")), subject="GRÖSSE", text="1,80 m")

    assert [one.before for one in things.facts.values()] == ["yes"]


def test_facts_have_a_limit_and_a_known_subject_still_changes() -> None:
    full = made("remember_fact", facts(*(fact(n, f"s{n}") for n in range(1, MOST))), subject="last", text="x")

    with pytest.raises(Refused, match=r"40 facts already.*forget one first"):
        call("remember_fact", full, subject="more", text="x")
    assert call("remember_fact", full, subject="last", text="y").put
    assert call(
        "remember_fact", after(full, call("forget_fact", full, fact="s1")), subject="more", text="x"
    ).put


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"text": "x" * 201}, "text has 201 characters; it must have at most 200."),
        ({"text": ""}, "text has 0 characters; it must have at least 1."),
        ({"subject": "x" * 41}, "subject has 41 characters; it must have at most 40."),
        ({"id": "f1"}, "remember_fact has no argument id; it takes a JSON object with subject, text."),
    ],
)
def test_a_fact_that_cannot_be_is_refused_with_what_is_wrong(arguments: Given, said: str) -> None:
    with pytest.raises(Refused) as refused:
        call("remember_fact", **DIET | arguments)

    assert str(refused.value) == said


# ── forget ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("named", ["diet", "Diet", "f5", "F5", "#f5"])
def test_a_fact_is_forgotten_by_subject_or_id(named: str) -> None:
    ran = call("forget_fact", VEGETARIAN, fact=named)

    assert (ran.drop, told(ran)) == (("f5",), {"forgotten": "f5", "subject": "diet"})


def test_a_subject_that_looks_like_an_id_is_meant_first() -> None:
    things = facts(fact(1, "f2", "a key"), fact(2, "car"))

    assert call("forget_fact", things, fact="F2").drop == ("f1",)


def test_what_was_never_kept_is_refused_with_what_is() -> None:
    with pytest.raises(Refused, match="No fact is kept of 'car'; facts are kept of: diet"):
        call("forget_fact", VEGETARIAN, fact="car")
    with pytest.raises(Refused, match="No fact is kept of 'car'; no facts are kept"):
        call("forget_fact", fact="car")


# ── in the prompt ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_model_is_told_each_fact_on_a_line_with_its_date_and_what_was_before() -> None:
    things = made("remember_fact", VEGETARIAN, subject="car", text="none")
    things = made("remember_fact", things, LATER, subject="diet", text="eats meat again")

    english, german = (facts_text(things.facts, HERE.zone, language) for language in ("en", "de"))

    assert english == (
        "diet: eats meat again (since 3 Dec 2026; before: vegetarian)\ncar: none (since 30 Nov 2026)"
    )
    assert german == (
        "diet: eats meat again (seit 3. Dez. 2026; vorher: vegetarian)\ncar: none (seit 30. Nov. 2026)"
    )
    assert facts_text({}, HERE.zone, "en") == ""


def test_a_fact_cannot_write_a_second_line_of_the_prompt() -> None:
    things = made("remember_fact", subject="x\ny", text="one\n\u2028two\x85three")

    assert len(facts_text(things.facts, HERE.zone, "en").splitlines()) == 1


# ── in a group ───────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_fact_told_in_a_group_is_the_groups_and_a_private_one_stays_private(redis: RedisPort) -> None:
    group = replace(HERE, owner="g:-100:0", lane="777:-100:0", private=False)

    for here, text in ((HERE, "vegetarian"), (group, "eats everything")):
        await remember(redis, here, subject="diet", text=text)

    private, common = await load_things(redis, HERE.owner), await load_things(redis, group.owner)
    assert [fact.text for fact in private.facts.values()] == ["vegetarian"]
    assert [(fact.text, fact.before) for fact in common.facts.values()] == [("eats everything", "")]
    assert await redis.exists(keys.facts(HERE.owner), keys.facts(group.owner)) == 2


async def remember(redis: RedisPort, here: Here, **arguments: str) -> None:
    things = await load_things(redis, here.owner)
    ran = call("remember_fact", things, here, **arguments)
    assert all(expect.key == keys.things(here.owner) for expect in expects(here.owner, things))
    async with redis.pipeline() as pipe:
        for effect in change_effects(here.owner, things, ran):
            pipe.execute_command(effect.command, effect.key, *effect.args)
        await pipe.execute()


# ── previews ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_fact_is_shown_before_it_is_kept_or_forgotten() -> None:
    new = preview("remember_fact", subject="diet", text="vegan")
    changed = preview("remember_fact", VEGETARIAN, GERMAN, subject="diet", text="vegan")
    forgotten = preview("forget_fact", VEGETARIAN, GERMAN, fact="f5")

    assert new == "Remember: diet: vegan"
    assert changed == "Merken: diet: vegan (vorher: vegetarian)"
    assert forgotten == "Vergessen: diet: vegetarian"
