"""Where a setting stands: its place in the tree, and its line in koi.toml."""

import re
from collections.abc import Iterator
from typing import Any, cast

type Place = tuple[str | int, ...]
"""("memory", "entries") or ("bots", 0, "name")."""

PART = r"""(?:[\w-]+|"[^"\\]*"|'[^']*')"""
KEY = rf"{PART}(?:\s*\.\s*{PART})*"
"""A key of TOML: words or quoted text, with dots between them."""


def dotted(place: Place) -> str:
    """("bots", 0, "name") → bots[0].name; ("prices", "a/b") → prices."a/b"."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{quoted(part)}" for part in place)[1:]


def quoted(part: str) -> str:
    """As TOML writes it in a key."""
    return part if re.fullmatch(r"[\w*-]+", part) else f'"{part}"'


def leaves(node: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value with its place; lists of values are values, lists of tables are not."""
    if isinstance(node, dict):
        for key, inner in cast("dict[str, Any]", node).items():
            yield from leaves(inner, (*place, key))
    elif isinstance(node, list) and node and all(isinstance(one, dict) for one in cast("list[Any]", node)):
        for at, inner in enumerate(cast("list[Any]", node)):
            yield from leaves(inner, (*place, at))
    else:
        yield place, node


def key_lines(text: str) -> Iterator[tuple[Place, int]]:
    """Where each plain key stands, lines from 1. Meant for error lines: exotic spellings are left out."""
    table: Place = ()
    seen: dict[Place, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(rf"\s*(\[\[?)\s*({KEY})\s*\]", line):
            table = _parts(header[2])
            if header[1] == "[[":
                seen[table] = seen.get(table, -1) + 1
                table = (*table, seen[table])
        elif key := re.match(rf"\s*({KEY})\s*=", line):
            yield (*table, *_parts(key[1])), number


def _parts(key: str) -> Place:
    return tuple(part.strip("\"'") for part in re.findall(PART, key))
