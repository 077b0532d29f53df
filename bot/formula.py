"""LaTeX as the characters that people read. Pure."""

import re
import unicodedata
from collections import Counter
from functools import cache
from typing import Any

MOST_CHARS = 1_000
NAMES = re.compile(r"\\(?:begin|end)\s*\{[A-Za-z*]+\}(?:\{[lcr| ]*\})?|\\[A-Za-z]+")
"""Commands and environments: what they say is drawn, not written."""
ROOTS = str.maketrans({"∛": "3", "∜": "4"})
MEANT = re.compile(r"[\\^_=+<>/{}*]|^\W*\w{1,3}\W*$|^\W*\d+([.,]\d+)?\W*[A-Za-z]?\W*$")


def looks_meant(tex: str) -> bool:
    """Whether what stands between two dollar signs is a formula, and not the text between two prices."""
    return MEANT.search(tex) is not None


def readable(tex: str) -> str | None:
    """The formula in Unicode, maybe of several lines; None if that cannot show all of it: then its LaTeX is better."""
    if len(tex) > MOST_CHARS or tex.count("{") != tex.count("}"):
        return None
    shown = "\n".join(line.rstrip() for line in str(_helper().convert(tex)).strip().splitlines())
    if not shown or any(sign in shown for sign in "\\{}$"):
        return None
    lost = _signs(NAMES.sub(" ", tex)) - _signs(shown.translate(ROOTS))
    return None if lost else shown


def _signs(text: str) -> Counter[str]:
    """Letters and digits."""
    return Counter(char for char in unicodedata.normalize("NFKC", text) if char.isalnum())


@cache
def _helper() -> Any:
    from telegramify_markdown.latex_escape.helper import LatexToUnicodeHelper  # noqa: PLC0415 — when one comes

    return LatexToUnicodeHelper()
