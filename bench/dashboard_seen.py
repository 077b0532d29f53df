"""What a page of the dashboard says, read from its HTML as a person would: tiles, rows of tables, lines. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape

TAG = re.compile(r"<[^>]+>")
UNSEEN = re.compile(r'<span class="unseen">.*?</span>', re.DOTALL)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?|–")
NO_VALUES = re.compile(r"\bp90\b|\b7 days\b")
"""Numbers that are part of a name."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the numbers on top of a page."""

    value: str
    note: str


def text(html: str) -> str:
    """Without tags, and without what only a screen reader is told."""
    return " ".join(unescape(TAG.sub(" ", UNSEEN.sub(" ", html))).split())


def region(html: str, name: str) -> str:
    """The text of the element with an id, up to the next one that has one; "" if there is none."""
    found = re.search(rf'id="{name}"[^>]*>(.*?)(?=<[a-z]+ id="|\Z)', html, re.DOTALL)
    return text(found[1]) if found else ""


def tiles(html: str) -> Mapping[str, Tile]:
    """By name."""
    found: dict[str, Tile] = {}
    for body in re.findall(r'<div class="tile"[^>]*>(.*?)</div>', html, re.DOTALL):
        name, _, rest = body.partition("<b")
        value, _, note = f"<b{rest}".partition("</b>")
        found[text(name)] = Tile(text(value), text(note))
    return found


def rows(html: str, heading: str) -> Sequence[Mapping[str, str]]:
    """Of the table that follows a heading: one mapping for each line, by the names of the columns."""
    _, found, rest = html.partition(f"<h2>{heading}</h2>")
    if not found:
        return ()
    table = rest.partition("</table>")[0].partition("<h2>")[0]
    head, *lines = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL) or [""]
    names = _cells(head)
    return [dict(zip(names, _cells(line), strict=False)) for line in lines]


def numbers(said: str) -> list[float | None]:
    """All in a text, in their order; "–" is None."""
    found = NUMBER.findall(NO_VALUES.sub(" ", said))
    return [None if one == "–" else float(one.replace(",", "")) for one in found]


def agrees(said: str, expected: Sequence[float | None]) -> bool:
    """The numbers of a text are these, to the last digit that it shows."""
    found = NUMBER.findall(NO_VALUES.sub(" ", said))
    return len(found) == len(expected) and all(map(_is_rounded, found, expected))


def _is_rounded(shown: str, expected: float | None) -> bool:
    if shown == "–" or expected is None:
        return shown == "–" and expected is None
    decimals = len(shown.partition(".")[2])
    return abs(float(shown.replace(",", "")) - expected) <= 0.5 * 10**-decimals + 1e-9


def _cells(row: str) -> list[str]:
    return [text(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]
