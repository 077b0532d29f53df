"""What a model is offered and what it costs; whatever it answers is either read or refused in one sentence."""

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.settings_sections import ToolSettings
from memory.tokens import estimate_tokens
from schemas.things import Event, Fact, Memo, Reminder, Task
from tests.tools.stage import ALL, HERE, NOW_MS, after
from tools.catalog import catalog, read
from tools.tool import Ran, Refused, Things

MOST_TOKENS = 1_300
"""Of all tools: every turn pays them."""
WORDS = 12
NAMES = (
    "create_task", "update_task", "list_tasks",
    "create_memo", "update_memo", "find_memos",
    "create_calendar_event", "update_calendar_event", "list_agenda",
    "create_reminder", "cancel_reminder",
    "remember_fact", "forget_fact",
    "ask_clarification", "end_conversation",
)  # fmt: skip
SCHEMAS = {name: json.loads(schema) for name, _description, schema in ALL.definitions}


# ── what is offered ──────────────────────────────────────────────────────────────────────────────────────────────
def test_all_tools_are_offered_in_an_order_that_never_changes() -> None:
    assert tuple(tool.name for tool in ALL.tools) == NAMES
    assert tuple(ALL.by_name) == NAMES
    assert tuple(name for name, _description, _schema in ALL.definitions) == NAMES
    assert catalog(ToolSettings(facts=True)).definitions == ALL.definitions


def test_facts_are_offered_only_where_they_were_asked_for() -> None:
    assert [name for name in NAMES if "fact" not in name] == list(catalog(ToolSettings()).by_name)


def test_nothing_is_offered_where_tools_are_switched_off() -> None:
    assert catalog(ToolSettings(enabled=False, facts=True)).tools == ()


def test_all_definitions_together_stay_small() -> None:
    assert sum(estimate_tokens(" ".join(definition)) for definition in ALL.definitions) <= MOST_TOKENS


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_plain_and_compact(name: str) -> None:
    text = next(schema for known, _description, schema in ALL.definitions if known == name)

    assert text == orjson.dumps(SCHEMAS[name]).decode()
    assert SCHEMAS[name]["type"] == "object"
    assert not {"$ref", "$defs", "anyOf", "default", "description"} & SCHEMAS[name].keys()
    assert "null" not in text
    assert all("type" in argument for argument in SCHEMAS[name]["properties"].values())
    assert not any(
        {"$ref", "anyOf", "default", "title", "allOf"} & argument.keys()
        for argument in SCHEMAS[name]["properties"].values()
    )
    assert set(SCHEMAS[name]["properties"]) == set(ALL.by_name[name].arguments.model_fields)


@pytest.mark.parametrize("name", NAMES)
def test_descriptions_are_short(name: str) -> None:
    said = [argument.get("description", "x") for argument in SCHEMAS[name]["properties"].values()]

    assert all(0 < len(text.split()) <= WORDS for text in said)
    assert 0 < len(ALL.by_name[name].description.split()) <= 2 * WORDS


@pytest.mark.parametrize("name", NAMES)
def test_what_changes_something_can_be_shown_first(name: str) -> None:
    tool = ALL.by_name[name]

    assert tool.changes == (tool.preview is not None)
    assert tool.changes == (not name.startswith(("list_", "find_", "ask_", "end_")))


# ── what the model says ──────────────────────────────────────────────────────────────────────────────────────────
TASK = ALL.by_name["create_task"]
TAKES = "it takes a JSON object with title, list, due, priority, note."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{}", f"title is missing; {TAKES}"),
        ("", f"title is missing; {TAKES}"),
        ('{"title": null}', f"title is missing; {TAKES}"),
        ("[]", f"The arguments of create_task are []; {TAKES}"),
        ("null", f"The arguments of create_task are null; {TAKES}"),
        ('"bread"', f'The arguments of create_task are "bread"; {TAKES}'),
        ('{"title": "Bread"', f"The arguments of create_task are no JSON; {TAKES}"),
        ("title=Bread", f"The arguments of create_task are no JSON; {TAKES}"),
        ("[" * 5_000, f"The arguments of create_task are no JSON; {TAKES}"),
        ('{"title": "\\ud800"}', f"The arguments of create_task are no JSON; {TAKES}"),
        ('{"title": "Bread", "color": "red"}', f"create_task has no argument color; {TAKES}"),
        ('{"title": ["Bread"]}', 'title is ["Bread"]; it must be a string.'),
        ('{"title": "Bread", "note": 5}', "note is 5; it must be a string."),
        ('{"title": "Bread", "note": 1e999}', f"The arguments of create_task are no JSON; {TAKES}"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(arguments: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        read(TASK, arguments)

    assert str(refused.value) == said


def test_a_long_wrong_value_is_shown_by_its_beginning() -> None:
    with pytest.raises(Refused) as refused:
        read(TASK, orjson.dumps({"title": "Bread", "priority": "x" * 5_000, "y" * 5_000: 1}).decode())

    assert len(str(refused.value)) < 200


def test_a_tool_without_arguments_says_so() -> None:
    with pytest.raises(Refused, match="end_conversation has no argument reason; it takes no arguments"):
        read(ALL.by_name["end_conversation"], '{"reason": "bye"}')


def test_null_is_an_argument_left_out() -> None:
    assert read(TASK, '{"title": "Bread", "due": null}') == read(TASK, '{"title": "Bread"}')


def test_control_characters_are_taken_out() -> None:
    found = read(TASK, orjson.dumps({"title": "Br\x00ead\x1b", "note": "a\r\nb\x85c"}).decode())

    assert found.model_dump(include={"title", "note"}) == {"title": "Bread", "note": "a\nb\nc"}


# ── whatever comes ───────────────────────────────────────────────────────────────────────────────────────────────
THERE = Things(
    5,
    {
        "t1": Task(id="t1", title="Bread", made_ms=NOW_MS, changed_ms=NOW_MS),
        "m2": Memo(id="m2", text="rye", made_ms=NOW_MS, changed_ms=NOW_MS),
        "e3": Event(
            id="e3",
            title="Dentist",
            start="2026-12-03T10:00",
            zone="Europe/Berlin",
            made_ms=NOW_MS,
            changed_ms=NOW_MS,
        ),
        "r4": Reminder(
            id="r4",
            text="Bins",
            local="2026-12-01T08:00",
            zone="Europe/Berlin",
            due_ms=NOW_MS + 1,
            lane=HERE.lane,
            made_ms=NOW_MS,
            changed_ms=NOW_MS,
        ),
    },
    {"f5": Fact(id="f5", subject="diet", text="vegan", at_ms=NOW_MS)},
)
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "", "t1", "m2", "e3", "r4", "f5", "diet", "2026-12-01", "2026-12-01T08:00", "2026-12-02", "9999-12-31",
            "0001-01-01", "2027-03-28T02:30", "2026-13-01", "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO", "RRULE:FREQ=SECONDLY",
            "Europe/Berlin", "../../etc/passwd", "deleted", "done", "all", "{title}", "%s", "x" * 5_000,
        ]
    ),
)  # fmt: skip
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=8), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str]:
    """A tool, and arguments that are mostly those it has, some of them of the right kind."""
    name = draw(st.sampled_from(NAMES))
    fields: dict[str, Any] = SCHEMAS[name]["properties"]

    def value(field: str) -> Any:
        options = fields[field].get("enum")
        right = st.sampled_from(options) if options else TEXTS
        return draw(st.one_of(right, right, right, ANYTHING))

    given_fields = draw(st.sets(st.sampled_from(sorted(fields)))) if fields else set[str]()
    wanted = set(SCHEMAS[name].get("required", ())) if draw(st.booleans()) else set[str]()
    arguments = {field: value(field) for field in sorted(given_fields | wanted)}
    arguments |= (
        draw(st.dictionaries(st.text(max_size=5), ANYTHING, max_size=1)) if draw(st.booleans()) else {}
    )
    return name, json.dumps(arguments)


@given(calls(), st.sampled_from(["en", "de"]), st.booleans())
def test_arguments_never_raise_anything_but_a_refusal(
    made: tuple[str, str], language: str, empty: bool
) -> None:
    name, arguments = made
    here, things = replace(HERE, language=language), Things() if empty else THERE

    ran = outcome(name, arguments, here, things)

    if isinstance(ran, Ran):
        ran.text.encode()
        assert set(after(things, ran).by_id) - set(things.by_id) <= {
            f"{kind}{things.version + 1}" for kind in "tmer"
        }


@given(st.sampled_from(NAMES), st.one_of(st.text(), ANYTHING.map(json.dumps)))
def test_what_is_no_object_never_raises_anything_but_a_refusal(name: str, arguments: str) -> None:
    outcome(name, arguments, HERE, THERE)


def outcome(name: str, arguments: str, here: Any, things: Things) -> Ran | str:
    """What a call comes to: both ways, to be done and to be shown, refuse the same."""
    tool = ALL.by_name[name]
    try:
        asked = read(tool, arguments)
        ran = tool.run(asked, here, things)
    except Refused as refused:
        sentence = str(refused)
        assert sentence
        assert len(sentence) < 700
        assert "pydantic" not in sentence
        return sentence
    if tool.preview is not None:
        assert tool.preview(asked, here, things)
    return ran
