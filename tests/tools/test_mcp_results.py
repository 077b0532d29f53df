"""What is made of lists and answers of MCP servers, without any server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.mcp_results import ODD, Listed, as_data, middle_cut, offer, tool_name, unusable

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("get_time", "a__get_time"),
        ("get-Time_2", "a__get-Time_2"),
        ("get.time", "a__get_time_78b97e8d"),
        ("x" * 61, "a__" + "x" * 61),
        ("x" * 62, "a__" + "x" * 52 + "_"),
    ],
)
def test_names_fit_what_model_services_take(tool: str, name: str) -> None:
    assert tool_name("a", tool).startswith(name[:-8] if ODD.search(tool) else name)
    assert len(tool_name("a", tool)) <= 64


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_tools_keep_different_names(one: str, other: str) -> None:
    assert (tool_name("a", one) == tool_name("a", other)) == (one == other)
    assert len(tool_name("a", one)) <= 64
    assert not ODD.search(tool_name("a", one))


def test_of_two_tools_with_one_name_the_second_is_left_out_and_of_many_the_last() -> None:
    listed = [Listed(name, "", OBJECT, reads_only=False) for name in ("b", "a", "a", "c")]

    found = offer("s", listed, (), most=2)

    assert [tool.name for tool in found.tools] == ["s__a", "s__b"]
    assert found.left_out == {"a": "name_taken", "c": "too_many"}


SCHEMAS: list[tuple[dict[str, Any], str]] = [
    (OBJECT, ""),
    ({"type": "object"}, ""),
    ({}, "no_object_schema"),
    ({"type": "array"}, "no_object_schema"),
    ({"type": "object", "properties": []}, "no_object_schema"),
    ({"type": "object", "oneOf": []}, "alternatives_at_the_top"),
    ({"type": "object", "properties": {"x" * 65: {}}}, "odd_argument_name"),
    ({"type": "object", "properties": {"a": {"type": 5}}}, "no_json_schema"),
    ({"type": "object", "description": "ä" * 2040}, "schema_too_long"),
]


@pytest.mark.parametrize(("schema", "why"), SCHEMAS)
def test_schemas_that_would_cost_every_turn_are_known(schema: dict[str, Any], why: str) -> None:
    assert unusable(schema) == why


@pytest.mark.parametrize("text", ["", "x", "x" * 8_000])
def test_short_texts_stay_whole(text: str) -> None:
    assert middle_cut(text, 8_000) == text


@given(st.text(alphabet="</>tool_output &;lt", max_size=60))
def test_nothing_inside_ends_or_begins_the_mark(text: str) -> None:
    inside = as_data("a", text).removeprefix('<tool_output server="a">\n').removesuffix("\n</tool_output>")

    assert "</tool_output" not in inside
    assert "<tool_output" not in inside
