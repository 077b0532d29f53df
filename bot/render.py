"""Markdown, as models write it, into Telegram's messages and files. Pure.

Text and entities instead of a parse_mode: unbalanced markup cannot be refused, and lengths are those that people see.
"""

import re
from collections import Counter
from itertools import islice

from bot.code_file import file_name, is_known
from bot.direction import directed
from bot.entities import legal
from bot.markdown import Shown, show
from bot.page import between, end_of, in_units
from bot.split import PART_UNITS, Entity, Part, split, units_of, visible
from infra.clean import clean

MARKUP = re.compile(
    r"`|~~|\|\||\$[^$]*\$"  # code, strikethrough, spoilers, math
    r"|(?<!\w)_|_(?!\w)|\*(?=\S)|(?<=\S)\*"  # emphasis; not my_var, not 5 * 3
    r"|\\(?:[^\w\s]|$)|\][(\[:]"  # escapes, links
    r"|<[A-Za-z/!?]|&#?\w+;"  # tags, autolinks, character references
    r"|^[ \t]*(?:[-+*](?:[ \t]|$)|--|=|\||:-|>|#{1,6}(?:[ \t]|$)|\d+[.)](?:[ \t]|$))"  # lists, headings, tables, quotes
    r"|^(?: {4}| {0,3}\t)",  # indented code
    re.MULTILINE,
)
"""A text without any of these is what it looks like."""

URL = re.compile(r"https?://[^\s<>()\[\]`\"'*]+")
WORD = re.compile(r"[^\W_]{2,}")
NO_WORD = re.compile(
    r"^([ >]{0,9}(?:`{3,}+|~{3,}+)[^`\n, ]*+),[^`\n ]*|&#?\w+;|<br\s*/?>", re.MULTILINE | re.IGNORECASE
)
"""What stands behind the language of a code block, character references, line breaks: may vanish when rendered."""

MOST_MARKS = 4_000
"""More than this is no text with markup but a pattern, and would hold up the whole process for seconds."""
MOST_GROWTH, GROWTH_CHARS = 4, 2_000
"""Markdown gets shorter when it is rendered (tables aside: bot.table). What grows beyond `MOST_GROWTH` times its length and
this is a pattern too.
"""
FILE_LINE = "📎 "
"""Before the name of the file that follows."""


def render(text: str, *, plain: bool = False) -> tuple[Part, ...]:
    """The messages and files that show `text`; at least one, none empty, none of its words lost.

    plain: `text` is no Markdown.
    """
    text = clean(text)
    if plain or not 0 < marks(text) <= MOST_MARKS:
        return _messages(text, [])
    shown = show(text)
    if shown is None or len(shown.text) > MOST_GROWTH * len(text) + GROWTH_CHARS or lost(text, shown):
        return _messages(text, [])
    return _parts(shown.text, shown.entities)


def marks(text: str) -> int:
    """How much markup is in it; not counted further than MOST_MARKS + 1."""
    return sum(1 for _ in islice(MARKUP.finditer(text), MOST_MARKS + 1))


def _parts(text: str, entities: list[Entity]) -> tuple[Part, ...]:
    """Code blocks that are longer than a message become files where they stand; what is around them, messages."""
    parts: list[Part] = []
    names: list[str] = []
    at = 0
    for block in sorted(entities, key=lambda e: e["offset"]):
        if block["type"] != "pre" or block["offset"] < at:
            continue
        start, end = block["offset"], end_of(block)
        if units_of(text[start:end]) <= PART_UNITS or not visible(text[start:end]):
            continue
        language = block.get("language", "")
        names.append(file_name(language, names))
        before = text[at:start].rstrip() if visible(text[at:start]) else ""
        line = f"{before}\n\n{FILE_LINE}{names[-1]}{f' ({language})' if language and not is_known(language) else ''}"
        parts += _messages(line, between(entities, at, at + len(before)))
        parts.append(Part(text[start:end], file=names[-1]))
        at = end
    if not parts or visible(text[at:]):
        parts += _messages(text[at:], between(entities, at, len(text)))
    return tuple(parts)


def _messages(text: str, entities: list[Entity]) -> tuple[Part, ...]:
    text, entities = directed(text, entities)
    flat = [{**e, "type": "pre"} if e["type"] == "table" else e for e in entities]
    return split(text, in_units(text, legal(flat)))


def lost(source: str, shown: Shown) -> bool:
    """Whether a word or an address of the source is neither in the text nor behind a link: then plain text is better."""
    behind = " ".join(f"{e.get('url', '')} {e.get('language', '')}" for e in shown.entities)
    there = f"{shown.text} {behind}"
    if any(url not in there for url in URL.findall(source)):
        return True
    words = Counter(WORD.findall(NO_WORD.sub(r"\1 ", source)))
    return bool(words - Counter(WORD.findall(f"{there} {' '.join(shown.drawn)}")))
