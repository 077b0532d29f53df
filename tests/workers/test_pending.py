"""A question or a preview that waits for the person: shown, answered, confirmed, changed, over."""

from zoneinfo import ZoneInfo

import orjson
import pytest

from infra import keys
from infra.redis_port import RedisPort
from infra.settings_sections import ToolSettings
from lanes.claim import Claim
from lanes.step import Known, Stepped, step
from schemas.memory import ToolCall
from schemas.things import Fact, Task
from schemas.tools import Pending
from tests.lanes.conftest import LANE, OWNER, message, send, take_one
from tools.catalog import Catalog, catalog
from tools.store import change_effects, expects, load_things
from tools.tool import Here, Ran, Things
from workers.answers import option_of
from workers.pending import (
    Confirmed,
    after,
    answers_pending,
    change_line,
    chosen_preview,
    confirmed,
    merged,
    over_line,
    pending_buttons,
    pending_effects,
    picked,
    preview_of,
    preview_text,
    question_of,
    read_pending,
)

NOW_MS = 1_796_000_000_000
DAY_MS = 24 * 3_600_000
HERE = Here(owner=OWNER, lane=LANE, language="en", zone=ZoneInfo("Europe/Berlin"), now_ms=NOW_MS)
ALL = catalog(ToolSettings(facts=True))


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{name}{len(str(arguments))}", name=name, arguments=orjson.dumps(arguments).decode())


def question(*options: str, turn_id: str = "t1") -> Pending:
    ran = Ran("", then="ask", question="Which one?", options=options)
    return question_of(ran, turn_id=turn_id, owner=OWNER, at_ms=NOW_MS)


def preview(*calls: ToolCall, previews: tuple[str, ...] = (), language: str = "en") -> Pending:
    shown = previews or tuple(f"{one.name} {n}" for n, one in enumerate(calls, 1))
    return preview_of(calls, shown, language, turn_id="t1", owner=OWNER, at_ms=NOW_MS)


def task(number: int, title: str = "Bread") -> Task:
    return Task(id=f"t{number}", title=title, made_ms=1, changed_ms=1)


def having(*found: Task | Fact, version: int = 0) -> Things:
    return Things(
        version or max((int(one.id[1:]) for one in found), default=0),
        {one.id: one for one in found if isinstance(one, Task)},
        {one.id: one for one in found if isinstance(one, Fact)},
    )


# ── shown ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_question_has_a_button_per_option_cut_to_what_fits() -> None:
    pending = question("Friday", "x" * 60, *(f"option {n}" for n in range(8)))

    rows = pending_buttons(pending, "de")

    assert [len(row) for row in rows] == [1] * 6
    assert [row[0].command for row in rows[:2]] == [f"/pick {pending.id} 1", f"/pick {pending.id} 2"]
    assert max(len(row[0].text) for row in rows) <= 40
    assert all(len(row[0].command.encode()) <= 64 for row in rows)


@pytest.mark.parametrize(
    ("language", "words"), [("en", ["Confirm", "Change"]), ("de", ["Bestätigen", "Ändern"])]
)
def test_a_preview_has_two_buttons(language: str, words: list[str]) -> None:
    pending = preview(call("create_task", title="Bread"))

    (row,) = pending_buttons(pending, language)

    assert [button.text for button in row] == words
    assert [button.command for button in row] == [f"/confirm {pending.id}", f"/change {pending.id}"]


def test_a_retried_turn_shows_the_same_buttons_and_another_turn_others() -> None:
    assert question("a", "b").id == question("a", "b").id
    assert question("a", "b").id != question("a", "b", turn_id="t2").id


def test_a_preview_is_a_question_with_a_line_for_each_call() -> None:
    assert preview_text(("New task: Bread", "New memo\nThe key"), "de") == (
        "Soll ich das machen?\n• New task: Bread\n• New memo\n  The key"
    )


# ── stored ───────────────────────────────────────────────────────────────────────────────────────────────────────
async def apply(
    redis: RedisPort, claim: Claim, name: str, value: bytes, things: Things, ran: Ran
) -> Stepped | Known:
    done = await step(
        redis, claim, name, value, ttl_ms=DAY_MS, expects=expects(OWNER, things),
        effects=change_effects(OWNER, things, ran),
    )  # fmt: skip
    assert isinstance(done, Stepped | Known)
    return done


async def waiting(redis: RedisPort, *, now_ms: int = NOW_MS) -> Pending | None:
    return read_pending(await redis.get(keys.pending(LANE)), now_ms=now_ms, max_age_ms=DAY_MS)


async def store(redis: RedisPort, claim: Claim, pending: Pending) -> None:
    await step(redis, claim, "pending", b"1", ttl_ms=DAY_MS, effects=pending_effects(LANE, pending, DAY_MS))


async def test_what_waits_is_in_redis_until_it_is_too_old(redis: RedisPort) -> None:  # C44
    await send(redis, message(1))
    pending = question("Friday", "Saturday")

    await store(redis, await take_one(redis), pending)

    assert await waiting(redis) == pending
    assert 0 < await redis.pttl(keys.pending(LANE)) <= DAY_MS
    assert await redis.zscore(keys.expiry(), keys.pending(LANE)) == NOW_MS + DAY_MS
    assert await waiting(redis, now_ms=NOW_MS + DAY_MS) is None


async def tap(redis: RedisPort, claim: Claim, argument: str) -> str:
    """A turn of `/confirm ARGUMENT`, as the workers do it."""
    found = chosen_preview(await waiting(redis), argument)
    if found is None:
        return over_line("en")
    things = await load_things(redis, OWNER)
    made = confirmed(found, ALL, HERE, things)
    done = await apply(redis, claim, "command", made.text.encode(), things, made.ran)
    return done.value.decode() if isinstance(done, Known) else made.text


async def test_confirm_tapped_twice_is_done_once(redis: RedisPort) -> None:
    pending = preview(call("create_task", title="Bread"), previews=("New task: Bread",))
    await send(redis, message(1))
    claim = await take_one(redis)
    await store(redis, claim, pending)

    first = await tap(redis, claim, pending.id)
    second = await tap(redis, claim, pending.id)

    assert first == "Done:\n• New task: Bread"
    assert second == "That is settled already, or too old by now. Just write to me what you want."
    things = await load_things(redis, OWNER)
    assert [one.id for one in things.by_id.values()] == ["t1"]
    assert await redis.zscore(keys.expiry(), keys.pending(LANE)) is None


async def test_a_confirm_that_is_tried_again_after_its_step_is_told_as_it_was(redis: RedisPort) -> None:
    pending = preview(call("create_task", title="Bread"))
    await send(redis, message(1))
    claim = await take_one(redis)
    things = await load_things(redis, OWNER)
    made = confirmed(pending, ALL, HERE, things)

    done = [await apply(redis, claim, "command", made.text.encode(), things, made.ran) for _ in range(2)]

    assert done == [Stepped(), Known(made.text.encode())]
    assert len((await load_things(redis, OWNER)).by_id) == 1


# ── answered ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_button_picks_the_words_of_its_option() -> None:
    pending = question("Friday", "Saturday")

    assert picked(pending, f"{pending.id} 2") == "Saturday"
    assert picked(pending, f" {pending.id.upper()}  1 ") == "Friday"


@pytest.mark.parametrize(
    "argument", ["ID 3", "ID 0", "ID -1", "ID", "", "deadbeef 1", "ID x", "ID ²", "ID 1 2"]
)
def test_a_button_of_another_question_picks_nothing(argument: str) -> None:
    pending = question("Friday", "Saturday")

    assert picked(pending, argument.replace("ID", pending.id)) is None


def test_nothing_is_picked_where_nothing_or_a_preview_waits() -> None:
    waits = preview(call("create_task", title="Bread"))

    assert picked(None, "deadbeef 1") is None
    assert picked(waits, f"{waits.id} 1") is None


def test_confirm_and_change_mean_the_preview_that_waits() -> None:
    waits, asks = preview(call("create_task", title="Bread")), question("a", "b")

    assert chosen_preview(waits, waits.id.upper()) == waits
    assert chosen_preview(waits, "") == waits
    assert chosen_preview(waits, "deadbeef") is None
    assert chosen_preview(asks, asks.id) is None
    assert chosen_preview(None, "") is None


OPTIONS = ("Zahnarzt am Freitag", "Hausarzt am Montag", "Keiner von beiden")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2", 2), ("2.", 2), ("#2", 2), ("option 2", 2), ("Option zwei", 2), ("Nr. 2", 2), ("Nummer 3", 3),
        ("zweite", 2), ("die zweite", 2), ("Die Zweite bitte!", 2), ("das erste", 1), ("der dritte", 3),
        ("the second one", 2), ("second", 2), ("2nd", 2), ("2te", 2), ("3rd please", 3), ("eins", 1), ("last", 3),
        ("die letzte", 3), ("zahnarzt AM freitag", 1), (" Keiner von beiden. ", 3), ("one", 1), ("number one", 1),
    ],
)  # fmt: skip
def test_a_typed_answer_names_an_option(text: str, number: int) -> None:  # C44
    assert answers_pending(question(*OPTIONS), text) == OPTIONS[number - 1]


@pytest.mark.parametrize(
    "text",
    ["4", "0", "the fifth", "12", "am Freitag um 2", "beide", "2 oder 3", "nein", "", "Zahnarzt", "second thoughts?",
     "I have two children", "22", "der"],
)  # fmt: skip
def test_anything_else_stays_as_it_was_typed(text: str) -> None:
    assert answers_pending(question(*OPTIONS), text) == text


@pytest.mark.parametrize(
    ("options", "text", "meant"),
    [
        (("3", "2"), "2", "2"),
        (("2 pizzas", "3 pizzas"), "3", "3 pizzas"),
        (("2 pizzas", "3 pizzas"), "option 2", "3 pizzas"),
        (("10:00", "12:00"), "2", "12:00"),
        (("second floor", "first floor"), "first", "first floor"),
        (("2 small", "2 large"), "2", None),
        (("2 small", "2 large"), "number 2", "2 large"),
        (("One", "Two"), "TWO", "Two"),
        ((), "2", None),
    ],
)
def test_words_of_an_option_go_before_its_place(
    options: tuple[str, ...], text: str, meant: str | None
) -> None:
    assert option_of(text, options) == meant


def test_a_text_answers_only_an_open_question() -> None:
    assert answers_pending(None, "2") == "2"
    assert answers_pending(preview(call("create_task", title="Bread")), "2") == "2"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Nothing is done. What shall be different?\n• New task: Bread"),
        ("de", "Ich habe nichts gemacht. Was soll anders sein?\n• New task: Bread"),
    ],
)
def test_change_asks_what_shall_be_different_and_shows_it_again(language: str, line: str) -> None:
    pending = preview(call("create_task", title="Bread"), previews=("New task: Bread",), language=language)

    assert change_line(pending, language) == line


# ── confirmed ────────────────────────────────────────────────────────────────────────────────────────────────────
def done(pending: Pending, things: Things, offered: Catalog = ALL) -> Confirmed:
    return confirmed(pending, offered, HERE, things)


def test_each_call_sees_what_the_ones_before_it_made_and_ids_are_unique() -> None:
    pending = preview(
        call("create_task", title="Bread"),
        call("create_memo", text="Rye, please", about="t8"),
        call("update_task", id="t8", priority="high"),
        call("create_task", title="Butter"),
    )

    made = done(pending, having(task(7, "Taxes")))

    final = {one.id: one for one in made.ran.put}
    assert list(final) == ["t8", "m9", "t11"]
    assert final["t8"].model_dump()["priority"] == "high"
    assert final["m9"].model_dump()["about"] == "t8"
    assert len(made.results) == 4


def test_a_call_that_cannot_be_done_any_more_is_told_and_the_others_are_done() -> None:
    pending = preview(
        call("update_task", id="t1", status="done"), call("create_task", title="Bread"), call("gone_tool"),
        previews=("Done: Taxes\n(shopping)", "New task: Bread", "Something old"),
    )  # fmt: skip

    made = done(pending, having(version=5))

    assert [one.id for one in made.ran.put] == ["t6"]
    assert made.text == (
        "Done:\n• New task: Bread\n"
        "Not done, since something has changed meanwhile:\n• Done: Taxes\n  (shopping)\n• Something old"
    )
    assert "There is no task 't1'" in made.results[0]
    assert "t6" in made.results[1]
    assert "gone_tool" in made.results[2]
    assert made.told == "\n".join(made.results)


def test_arguments_that_do_not_fit_any_more_are_told_too() -> None:
    made = done(preview(call("create_task", title="Bread", colour="red")), having())

    assert "colour" in made.results[0]
    assert made.ran.put == ()


async def test_even_if_nothing_could_be_done_nothing_waits_any_more(redis: RedisPort) -> None:
    pending = preview(call("update_task", id="t1", status="done"))
    await send(redis, message(1))
    claim = await take_one(redis)
    await store(redis, claim, pending)
    things = await load_things(redis, OWNER)

    made = done(pending, things)
    await apply(redis, claim, "command", b"", things, made.ran)

    assert await waiting(redis) is None
    assert await redis.exists(keys.things(OWNER)) == 0


async def test_many_calls_are_stored_as_one_step_would_be_call_by_call(redis: RedisPort) -> None:
    calls = (
        call("create_task", title="Bread"),
        call("update_task", id="t1", status="deleted"),
        call("remember_fact", subject="diet", text="vegetarian"),
        call("forget_fact", fact="diet"),
        call("create_task", title="Butter"),
        call("remember_fact", subject="sister", text="Anna"),
    )
    await send(redis, message(1))
    claim = await take_one(redis)
    before = await load_things(redis, OWNER)

    made = done(preview(*calls), before)
    await apply(redis, claim, "command", b"", before, made.ran)

    things = await load_things(redis, OWNER)
    assert [one.model_dump()["title"] for one in things.by_id.values()] == ["Butter"]
    assert [one.subject for one in things.facts.values()] == ["sister"]
    newest = max(int(id_[1:]) for id_ in (*things.by_id, *things.facts))
    assert things.version >= newest


def test_things_after_a_call_have_what_it_put_and_not_what_it_dropped() -> None:
    fact = Fact(id="f3", subject="diet", text="vegan", at_ms=1)
    new = Fact(id="f6", subject="diet", text="eats meat", at_ms=2)
    before = having(task(1), task(2), fact, version=5)

    now = after(before, Ran("", put=(task(1, "Butter"), new), drop=("t2", "f3")))

    assert list(now.by_id) == ["t1"]
    assert now.by_id["t1"].model_dump()["title"] == "Butter"
    assert dict(now.facts) == {"f6": new}
    assert now.version == 7
    assert before.version == 5


def test_one_of_several_that_ends_the_conversation_ends_it() -> None:
    assert merged((Ran("a"), Ran("b", then="end"))).then == "end"
    assert merged((Ran("a"), Ran("b"))).then == "go_on"
