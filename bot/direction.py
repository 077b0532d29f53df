"""Lines of Arabic, Hebrew and the like keep their direction. Pure.

Telegram's apps give each line the direction of its first letter, so "Docker" before an Arabic sentence turns it around; a
right-to-left mark before it does not.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from bot.page import edited, end_of
from bot.split import Entity

MARK = "\u200f"
LEFT, RIGHT = "L", {"R", "AL"}
"""Unicode's classes of letters with a direction."""
ANY_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
"""The blocks of Unicode with letters that run from right to left."""
ADDRESS = re.compile(r"https?://\S+|[\w.+-]+@[\w.-]+|@\w+")
BLOCKS = {"pre", "table"}


def directed(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """With a mark before each line that is meant to run from right to left and begins with a letter that does not. Code
    blocks stay as they are.
    """
    if text.isascii() or ANY_RIGHT.search(text) is None:
        return text, list(entities)
    blocks = [(e["offset"], end_of(e)) for e in entities if e["type"] in BLOCKS]
    code = [(e["offset"], end_of(e)) for e in entities if e["type"] == "code"]
    lines = [(a, b) for a, b in _lines(text) if not any(a < end and b > start for start, end in blocks)]
    said = [_without(text, a, b, code) for a, b in lines]
    rightward = runs_right("\n".join(said))
    spots = [
        start
        for (start, end), words in zip(lines, said, strict=True)
        if ANY_RIGHT.search(words) and (rightward or runs_right(words)) and _begins_left(text[start:end])
    ]
    return edited(text, entities, [(spot, spot, MARK) for spot in spots]) if spots else (text, list(entities))


def _lines(text: str) -> Iterable[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _without(text: str, start: int, end: int, code: Sequence[tuple[int, int]]) -> str:
    """What a person would read aloud of the line: no code, no addresses."""
    words, at = "", start
    for first, last in code:
        if first < end and last > start:
            words += text[at : max(at, first)]
            at = max(at, last)
    return ADDRESS.sub("", words + text[at:end])


def runs_right(words: str) -> bool:
    """Whether more words are written from right to left than the other way."""
    firsts = [_first(word) for word in words.split()]
    return sum(kind in RIGHT for kind in firsts) > firsts.count(LEFT)


def _begins_left(line: str) -> bool:
    return _first(line) == LEFT


def _first(text: str) -> str:
    """The class of the first letter that has a direction; "" if none has."""
    for char in text:
        kind = unicodedata.bidirectional(char)
        if kind == LEFT or kind in RIGHT:
            return kind
    return ""
