"""Markdown as models write it, mended into the Markdown that the parser takes as it was meant. Pure.

Everything here only adds backslashes and dollar signs.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from bot.formula import looks_meant

MOST_ROUNDS = 12
"""Of mending; what needs more is no text."""
BRACKETED = re.compile(r"\\\((?P<inline>(?:(?!\n\s*\n)[^$])+?)\\\)|\\\[(?P<block>(?:(?!\n\s*\n)[^$])+?)\\\]")
"""LaTeX's own signs around formulas; a formula has no blank line."""
TEX = re.compile(r"\\[A-Za-z]|[\^_=]")
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
STRUCK = {"Start": "Strikethrough"}

type Events = list[tuple[Any, Any]]


def parsed(text: str) -> tuple[bytes, Events] | None:
    """The mended source and pyromark's events; None if it is too odd to be mended."""
    if "\\(" in text or "\\[" in text:
        text = _with_dollars(text)
    for _ in range(MOST_ROUNDS):
        source, events = text.encode(), _events(text)
        spots = _to_escape(source, events)
        if not spots:
            return source, events
        edges = [0, *sorted(spots), len(source)]
        text = b"\\".join(source[a:b] for a, b in pairwise(edges)).decode()
    return None


def _events(text: str) -> Events:
    import pyromark  # noqa: PLC0415 — telegramify's parser, when the first Markdown comes

    options = pyromark.Options
    wanted = (
        options.ENABLE_TABLES | options.ENABLE_STRIKETHROUGH | options.ENABLE_TASKLISTS | options.ENABLE_MATH
    )
    return list(pyromark.events_with_range(text, options=wanted))


def _to_escape(source: bytes, events: Events) -> set[int]:
    """Where the parser sees what was not meant: tags (it would drop them), a struck `~5`, the text between two prices."""
    spots: set[int] = set()
    in_table = False
    for event, place in events:
        start, end = place["start"], place["end"]
        match event:
            case {"Start": {"Table": _}} | {"End": "Table"}:
                in_table = "Start" in event
            case {"InlineHtml": tag} if in_table and BREAK.fullmatch(tag):
                pass
            case {"Html": _} | {"InlineHtml": _}:
                spots.add(source.find(b"<", start, end))
            case {"InlineMath": tex} if source[end : end + 1].isdigit() or not looks_meant(tex):
                spots |= {start, end - 1}
            case {"Start": "Strikethrough"} if source[start + 1 : start + 2] != b"~":
                spots |= {start, end - 1}
            case _:
                pass
    return spots - {-1}


def _with_dollars(text: str) -> str:
    """Formulas in \\(…\\) and \\[…\\] between dollar signs instead; what is code stays."""
    pieces: list[str] = []
    source, at = text.encode(), 0
    for start, end in _code_places(_events(text)):
        pieces += [_dollars(source[at:start].decode()), source[start:end].decode()]
        at = end
    return "".join([*pieces, _dollars(source[at:].decode())])


def _code_places(events: Events) -> Iterable[tuple[int, int]]:
    for event, place in events:
        match event:
            case {"Start": {"CodeBlock": _}} | {"Code": _}:
                yield place["start"], place["end"]
            case _:
                pass


def _dollars(text: str) -> str:
    return BRACKETED.sub(_dollar, text)


def _dollar(found: re.Match[str]) -> str:
    tex = found["inline"] or found["block"] or ""
    if not TEX.search(tex) or not tex.strip():
        return found[0]
    tex = " ".join(tex.split())
    return f"${tex}$" if found["inline"] else f"$${tex}$$"
