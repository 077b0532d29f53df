"""Texts cut so that they still read well: at a word, never inside a character that people see."""

import regex

from infra.clean import clean

NOTHING = "…"
"""Stands for a text in which there is nothing to see, so that what was cut is never empty."""

GRAPHEME = regex.compile(r"\X")
WORD_EDGE = regex.compile(r"(?w)\b")  # UAX 29: also between Han characters, where no spaces are written


def cut(text: str, max_chars: int) -> str:
    """The beginning of a text, at most `max_chars` code points, ending at a word and never inside a grapheme.

    The word ends at a space, else where Unicode sees a word end, else (no end in the second half: one long word)
    anywhere between graphemes. A first grapheme above `max_chars` gives NOTHING. "" only for a blank text.
    """
    text = clean(text).strip()
    if len(text) <= max_chars:
        return text
    head = text[: max_chars + 1]  # whether a grapheme ends at max_chars depends on the character after it
    ends = [found.end() for found in GRAPHEME.finditer(head) if found.end() <= max_chars]
    if not ends:
        return NOTHING
    return text[: _word_end(head, ends)].rstrip() or NOTHING


def shorten(text: str, max_chars: int) -> str:
    """`cut` for people's eyes: what was left out shows as "…", within `max_chars` (at least 2)."""
    text = clean(text).strip()
    if len(text) <= max_chars:
        return text
    return cut(text, max_chars - 1).removesuffix(NOTHING) + NOTHING


def _word_end(head: str, ends: list[int]) -> int:
    """The best of `ends`, positions between graphemes of `head` in rising order."""
    last = ends[-1]
    later_half = [end for end in reversed(ends) if end > last // 2]
    space = next((end for end in later_half if head[end].isspace()), None)
    if space is not None:
        return space
    edges = {found.start() for found in WORD_EDGE.finditer(head)}
    return next((end for end in later_half if end in edges), last)
