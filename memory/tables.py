"""What tools return, with fewer tokens: JSON as lines and tables that lose nothing. Pure.

A list of objects becomes a header and a row for each, an object a line for each member:

    {"id": "OI5", "flights": [{"from": "MCO", "seats": {"eco": 3}}, {"from": "BOS", "seats": {"eco": 0}}], "paid": null}

    id: OI5
    flights[2]{from|seats.eco}:
     MCO|3
     BOS|0
    paid: null

Objects in a column that have members in every row become columns of their own. An object of objects is a table too
(`{from|to}:`), each row with its key and a colon before it; in a list of lists of objects (`[2][]{from|to}:`) a dash
stands before the first row of each. Strings stand bare unless they could be taken for something
else; everything that fits no table is compact JSON. An empty cell: the row has no such member.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

type Json = str | int | float | bool | list[Json] | dict[str, Json] | None
type Row = Mapping[str, Json]

BARE = re.compile(r"(?![\s\"\[{])[^|\x00-\x1f\x7f-\x9f\u2028\u2029]*[^|\s\x00-\x1f\x7f-\x9f]")
"""A string that may stand as it is: not the start of another JSON value, no separator or line end in it."""
SCALAR = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
"""A string that would be taken for a number or a word of JSON."""
BARE_KEY = re.compile(r"[^\W\d]\w*(?:[ -]\w+)*|\d\w*")
EXACT_DIGITS = 15
"""A number with so many digits survives being read as a float."""
DEEPEST = 8
"""Objects within objects that get lines of their own; what is deeper is compact JSON."""
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class _NotExact(ValueError):
    """Something that would come out different from how it went in."""


def as_table(text: str) -> str:
    """The text, or what says the same in less room: a table, lines, compact JSON."""
    if text[:1] not in "{[ \n" or not text:
        return text
    try:
        value: Json = json.loads(
            text, parse_float=_exact, parse_constant=_refused, object_pairs_hook=_without_repeats
        )
        shorter = min(("\n".join(_lines_of(value)), _compact(value), text), key=len)
        shorter.encode()
    except (ValueError, RecursionError):
        return text
    return shorter


def _lines_of(value: Json) -> list[str]:
    """A whole value; one line of JSON if it is no container of containers."""
    match value:
        case dict() if value:
            return list(_members(value))
        case list():
            return min(([_compact(value)], *_tables("", value)), key=_length)
        case _:
            return [_compact(value)]


def _members(value: dict[str, Json], depth: int = 0) -> Iterator[str]:
    for key, part in value.items():
        yield from min(_forms(_key(key), part, depth), key=_length)


def _forms(key: str, value: Json, depth: int) -> Iterator[list[str]]:
    """All ways to write one member, each as its lines."""
    yield [f"{key}: {_cell(value)}"]
    match value:
        case list() if value:
            yield from _tables(key, value)
        case dict() if value:
            if depth < DEEPEST:
                yield [f"{key}:", *(f" {line}" for line in _members(value, depth + 1))]
            if rows := _as_rows(value.values()):
                yield _table(key, rows, [f" {_key(name)}: " for name in value])
        case _:
            pass


def _tables(key: str, values: list[Json]) -> Iterator[list[str]]:
    """A list of objects, of lists of objects, or of neither."""
    head = f"{key}[{len(values)}]"
    if rows := _as_rows(values):
        yield _table(head, rows)
    elif groups := _as_groups(values):
        marks = [mark for group in groups for mark in ("-", *[" "] * (len(group) - 1))]
        yield _table(f"{head}[]", [row for group in groups for row in group], marks)
    elif values and not any(isinstance(value, list | dict) for value in values):
        yield [f"{head}: {'|'.join(map(_cell, values))}"]


def _table(head: str, rows: Sequence[Row], names: Iterable[str] = ()) -> list[str]:
    """Header and rows. names: what stands before each row."""
    rows = [_flat(row, nested) for nested in [_nested(rows)] for row in rows]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = ["|".join(_cell(row[column]) if column in row else "" for column in columns) for row in rows]
    before = list(names) or [" "] * len(lines)
    return [
        f"{head}{{{'|'.join(columns)}}}:",
        *(f"{name}{line}" for name, line in zip(before, lines, strict=True)),
    ]


def _as_rows(values: Iterable[Json]) -> Sequence[Row]:
    """The values, if there are any and all are objects with members."""
    rows = list(values)
    if rows and all(isinstance(row, dict) and row for row in rows):
        return cast("list[Row]", rows)
    return ()


def _as_groups(values: Iterable[Json]) -> Sequence[Sequence[Row]]:
    """The rows of each list, if all values are lists of objects with members."""
    groups = [_as_rows(value) if isinstance(value, list) else () for value in values]
    return groups if all(groups) else ()


def _nested(rows: Sequence[Row]) -> frozenset[str]:
    """Names of members that are objects with members in each row that has them."""
    kinds: dict[str, bool] = {}
    for row in rows:
        for key, value in row.items():
            kinds[key] = kinds.get(key, True) and isinstance(value, dict) and bool(value)
    return frozenset(key for key, is_nested in kinds.items() if is_nested)


def _flat(row: Row, nested: frozenset[str]) -> Row:
    """Keys as they are written; of nested objects `key.member`, one level deep."""
    flat: dict[str, Json] = {}
    for key, value in row.items():
        if key in nested:
            members = cast("dict[str, Json]", value)
            flat |= {f"{_key(key)}.{_key(name)}": member for name, member in members.items()}
        else:
            flat[_key(key)] = value
    return flat


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _compact(name)


def _cell(value: Json) -> str:
    if isinstance(value, str) and BARE.fullmatch(value) and not SCALAR.fullmatch(value):
        return value
    return _compact(value)


def _compact(value: Json) -> str:
    return ENCODER.encode(value)


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def _exact(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number) or sum(map(str.isdigit, digits.lower().partition("e")[0])) > EXACT_DIGITS:
        raise _NotExact
    return number


def _refused(constant: str) -> Json:
    raise _NotExact(constant)


def _without_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _NotExact
    return value
