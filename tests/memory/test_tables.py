"""JSON that a tool returned, in fewer tokens and without a loss: a reader written from the description gets it back."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.tables import as_table
from memory.tokens import estimate_tokens

HEAD = re.compile(
    r"(?:\[(?P<count>\d+)\](?P<grouped>\[\])?)?(?:\{(?P<columns>.*)\})?:(?: (?P<rest>.*))?", re.DOTALL
)
BARE_KEY = re.compile(r"[\w -]+")


def test_a_list_of_objects_is_a_header_and_rows() -> None:
    rows = [{"id": 1, "name": "Jo", "paid": True}, {"id": 2, "name": "Mia", "note": "a|b"}]

    assert as_table(json.dumps(rows)) == '[2]{id|name|paid|note}:\n 1|Jo|true|\n 2|Mia||"a|b"'


def test_an_object_that_holds_lists_and_objects_is_lines_and_tables() -> None:
    value = {
        "id": "OI5",
        "flights": [{"from": "MCO", "seats": {"eco": 3, "biz": 0}}, {"from": "BOS", "seats": {"eco": 0, "biz": 9}}],
        "payments": {"card_1": {"brand": "visa", "last": "0972"}, "gift_2": {"amount": 157}},
        "tags": ["a", "b", "true"],
        "name": {"first": "Sofia", "last": "Kim"},
        "paid": None,
    }  # fmt: skip

    assert as_table(json.dumps(value)) == "\n".join([
        "id: OI5",
        "flights[2]{from|seats.eco|seats.biz}:",
        " MCO|3|0",
        " BOS|0|9",
        "payments{brand|last|amount}:",
        ' card_1: visa|"0972"|',
        " gift_2: ||157",
        'tags[3]: a|b|"true"',
        "name:",
        " first: Sofia",
        " last: Kim",
        "paid: null",
    ])  # fmt: skip


def test_lists_of_lists_of_objects_are_one_table() -> None:
    leg = {"number": "HAT1", "from": "DEN", "departure_time": "04:00"}

    assert as_table(json.dumps([[leg, leg], [leg]])) == (
        "[2][]{number|from|departure_time}:\n-HAT1|DEN|04:00\n HAT1|DEN|04:00\n-HAT1|DEN|04:00"
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "Transfer successful", "12.0", "[]", "{}", '"text"', "{not json", "[1,2", "Error: {no}",
        '{"a":1,"a":2}', '{"n":12345678901234567.25}', '{"n":1e999}', '{"n":NaN}', '{"s":"\\ud800"}',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_json_or_would_come_out_different_stays_as_it_is(text: str) -> None:
    assert as_table(text) == text


def test_json_that_fits_no_table_is_compact() -> None:
    assert as_table('[ [1, 2], [3, "x y"] ]') == '[[1,2],[3,"x y"]]'


def test_large_numbers_and_other_scripts_survive() -> None:
    assert as_table('{"card": 123456789012345678901234567890, "ort": "Köln", "城市": "北京"}') == (
        "card: 123456789012345678901234567890\nort: Köln\n城市: 北京"
    )


def test_it_saves_a_third_of_a_list_of_flights() -> None:
    flights = [
        {"flight_number": f"HAT{n}", "origin": "DEN", "destination": "LAS", "status": "available", "price": 50 + n}
        for n in range(10)
    ]  # fmt: skip
    text = json.dumps(flights)

    assert estimate_tokens(as_table(text)) < 0.6 * estimate_tokens(text)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.sampled_from(["", " ", "a|b", "x:", "- y", "0", "-1.5e3", "true", "null", "NaN", '"q"', "{", "[", "a\nb", "a.b"]),
)  # fmt: skip
KEYS = st.one_of(
    st.sampled_from(["a", "b", "c d", "a.b", "x|y", "", "e:", "1", "-k", "{", "t[]"]), st.text(max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=24,
)


@settings(max_examples=120, deadline=None)
@given(st.one_of(VALUES, st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), max_size=4)))
def test_whatever_the_value_a_reader_gets_it_back(value: Any) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        return

    table = as_table(text)

    assert len(table) <= len(text)
    assert json.dumps(read(table), sort_keys=True) == json.dumps(value, sort_keys=True)


# ── a reader ─────────────────────────────────────────────────────────────────────────────────────────────────────
def read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        lines = text.split("\n")
    head = HEAD.fullmatch(lines[0])
    if head and head["count"]:
        return read_value(head, lines[1:], 0)[0]
    return read_members(lines, 0)[0]


def read_members(lines: list[str], depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    at = 0
    while at < len(lines) and indent_of(lines[at]) == depth and lines[at][depth : depth + 1] != "-":
        key, rest = read_key(lines[at][depth:])
        head = HEAD.fullmatch(rest)
        assert head, lines[at]
        members[key], used = read_value(head, lines[at + 1 :], depth)
        at += 1 + used
    return members, at


def read_value(head: re.Match[str], below: list[str], depth: int) -> tuple[Any, int]:
    """What a head stands for, and how many lines below it belong to it."""
    if head["columns"] is None:
        if head["count"]:
            return [read_cell(cell) for cell in split(head["rest"])], 0
        return (read_cell(head["rest"]), 0) if head["rest"] is not None else read_members(below, depth + 1)
    columns = read_columns(head["columns"])
    rows = rows_of(below, depth)
    if head["grouped"]:
        groups: list[list[Any]] = []
        for row in rows:
            if row[0] == "-":
                groups.append([])
            groups[-1].append(read_row(columns, row[1:]))
        return groups, len(rows)
    if head["count"]:
        return [read_row(columns, row[1:]) for row in rows[: int(head["count"])]], int(head["count"])
    named = [read_key(row[1:]) for row in rows]
    return {name: read_row(columns, rest.removeprefix(": ")) for name, rest in named}, len(rows)


def rows_of(lines: list[str], depth: int) -> list[str]:
    end = next((at for at, line in enumerate(lines) if not (line[: depth + 1].isspace() or line[depth : depth + 1] == "-")
                or len(line) <= depth), len(lines))  # fmt: skip
    return [line[depth:] for line in lines[:end]]


def read_row(columns: list[list[str]], row: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for path, cell in zip(columns, split(row), strict=True):
        if cell:
            inner = values
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = read_cell(cell)
    return values


def read_cell(cell: str) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def read_columns(text: str) -> list[list[str]]:
    """The path of each column."""
    paths: list[list[str]] = [[]]
    while text:
        key, text = read_key(text)
        paths[-1].append(key)
        if text.startswith("|"):
            paths.append([])
        text = text[1:]
    return paths


def read_key(text: str) -> tuple[str, str]:
    if text.startswith('"'):
        key, end = json.JSONDecoder().raw_decode(text)
        return key, text[end:]
    found = BARE_KEY.match(text)
    assert found, text
    return found[0], text[found.end() :]


def split(row: str) -> list[str]:
    """Cells between the bars that are not inside a JSON value."""
    cells: list[str] = []
    while True:
        end = json.JSONDecoder().raw_decode(row)[1] if row[:1] in ('"', "{", "[") else (row + "|").index("|")
        cells.append(row[:end])
        if end >= len(row):
            return cells
        row = row[end + 1 :]


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
