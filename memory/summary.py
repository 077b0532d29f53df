"""A reply in a line or two, as people read it."""

import regex

from infra.clean import clean
from infra.cut import NOTHING, cut

BLANK_LINES = regex.compile(r"\A(?:[\p{Z}\p{C}]*\n)+")
VISIBLE = regex.compile(r"[^\p{Z}\p{C}]")


def summarise(reply: str, max_chars: int) -> str:
    """What people read of a reply: its first whole lines within `max_chars`, a longer first line cut at a word.

    Always a beginning of the reply (without blank lines before it), or NOTHING; 1..max_chars characters.
    """
    text = BLANK_LINES.sub("", clean(reply)).strip()
    if VISIBLE.search(text) is None:
        return NOTHING
    if len(text) <= max_chars:
        return text
    lines_end = text.rfind("\n", 0, max_chars + 1)
    summary = text[:lines_end].rstrip() if lines_end > 0 else cut(text.partition("\n")[0], max_chars)
    return summary if VISIBLE.search(summary) else NOTHING
