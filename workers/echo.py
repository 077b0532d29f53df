"""What koi put before a message does not come back as an answer. Pure.

A model may repeat the block of what was said before (memory.context), whole or in part, escaped or in a code block, or the
words that koi put before the message. People see none of it.
"""

import re
from functools import lru_cache

from memory.labels import CATALOG, labels

LESS, MORE = r"(?:\\{0,3}<|&(?:amp;)?(?:lt|#60|#x3c);|＜)", r"(?:\\{0,3}>|&(?:amp;)?(?:gt|#62|#x3e);|＞)"
NAME = r"`{0,3}\s{0,9}conversation(?:\\{0,3}[_\- ])?(?:history|summary)"
OPEN_TAG = re.compile(rf"{LESS}{NAME}\b[^<>&\n]{{0,80}}?{MORE}", re.IGNORECASE)
CLOSE_TAG = re.compile(rf"{LESS}\s{{0,9}}\\{{0,3}}[/／]{NAME}\s{{0,9}}{MORE}", re.IGNORECASE)
MOST_TAGS = 24
"""More is no echo: all between the first and the last one goes."""
CUT_TAG = re.compile(rf"{LESS}\s{{0,9}}\\{{0,3}}/?\s{{0,9}}con[\w\\]*\Z", re.IGNORECASE)
CUT_STAMP = re.compile(r"^[ \t>*]*\[(?:\d\d?(?:\.[^\]\n]{0,80})?)?\Z", re.MULTILINE)
"""Where an answer that became too long was cut off in the middle of a block."""
HINT = re.compile(r"conversation|\[\d\d\.\d\d\. \d\d:\d\d|:", re.IGNORECASE)
"""Nothing of koi's is in a text without any of these."""
STAMP = r"\[\d\d\.\d\d\. \d\d:\d\d(?: · [^\]\n]{1,60})?\]"
FENCE = re.compile(r"^[ >]*(`{3,}|~{3,})", re.MULTILINE)
EMPTY_FENCE = re.compile(r"^[ >]*(`{3,}|~{3,})[^\n`]*\n\s*?^[ >]*\1[ \t]*$\n?|(?<!`)``(?!`)", re.MULTILINE)
BLANK_LINE = re.compile(r"\n[ \t]*\n")
MARKS = r"[ \t>*_#`]*"
"""What models put before and behind a label."""


def without_block(text: str) -> str:
    """An answer without what it repeats of koi's block and labels; "" if nothing else was in it. The same text if it
    repeats nothing.
    """
    if HINT.search(text) is None:
        return text
    rest = _without_bare_entries(_without_tagged(text))
    rest = _without_labels(rest, with_message=rest != text)
    if rest == text:
        return text
    return EMPTY_FENCE.sub("", rest).strip() if _shown(rest) else ""


def _shown(text: str) -> bool:
    return any(char.isalnum() for char in EMPTY_FENCE.sub("", text))


# ── the block in its tags ────────────────────────────────────────────────────────────────────────────────────────
def _without_tagged(text: str) -> str:
    """Without what stands between the tags; without the rest of a block whose other tag is missing."""
    text = CUT_TAG.sub("", text)
    tags = [found.span() for pattern in (OPEN_TAG, CLOSE_TAG) for found in pattern.finditer(text)]
    if len(tags) > MOST_TAGS:
        return text[: min(start for start, _ in tags)] + text[max(end for _, end in tags) :]
    kept = ""
    while True:
        opened, closed = OPEN_TAG.search(text), CLOSE_TAG.search(text)
        if closed is not None and (opened is None or closed.start() < opened.start()):
            kept, text = _before_half(kept + text[: closed.start()]), text[closed.end() :]
            continue
        if opened is None:
            return kept + text
        kept += text[: opened.start()]
        inner = text[opened.end() :]
        closed = CLOSE_TAG.search(inner)
        text = inner[closed.end() if closed else _half_end(inner, in_fence=_in_fence(kept)) :]


def _before_half(text: str) -> str:
    """What of a text that ends with the last half of a block comes before it: nothing, if the block has no beginning."""
    fences = list(FENCE.finditer(text))
    if len(fences) % 2:
        return text[: fences[-1].end()] + "\n"
    first = _entry_lines().search(text)
    return text[: first.start()] if first else ""


def _in_fence(text: str) -> bool:
    return len(FENCE.findall(text)) % 2 == 1


def _half_end(text: str, *, in_fence: bool) -> int:
    """Where a block that is never closed ends: with its code block, or the paragraph of its last entry (what that says
    behind a blank line cannot be told from an answer, and stays).
    """
    if in_fence and (fence := FENCE.search(text)):
        return fence.start()
    lines = list(_entry_lines().finditer(text))
    if not lines:
        return len(text) if _begins_heading(text.strip()) else 0
    blank = BLANK_LINE.search(text, lines[-1].end())
    return blank.end() if blank and not CUT_STAMP.search(text, blank.end()) else len(text)


# ── the block without its tags ───────────────────────────────────────────────────────────────────────────────────
def _without_bare_entries(text: str) -> str:
    """Without the heading of the block, and without entries as it writes them: a time in brackets, then who said what."""
    heading = _heading().search(text)
    if heading:
        before, inner = text[: heading.start()], text[heading.end() :]
        text = before + inner[_half_end(inner, in_fence=_in_fence(before)) :]
    return _entries().sub("", text)


def _without_labels(text: str, *, with_message: bool) -> str:
    """Without "Current message:" and, after a block and before an answer, the message behind it; and without "Bot:" at the
    beginning, with what the person is said to have said before it.
    """
    found = _current().search(text)
    if found:
        rest = text[found.end() :]
        _, blank, answer = rest.partition("\n\n")
        is_message = with_message and blank and _shown(answer)
        text = text[: found.start()] + (answer if is_message else rest.lstrip())
    return _spoken().sub("", text, count=1)


def _begins_heading(text: str) -> bool:
    return any(
        labels(language).heading.casefold().startswith(text.casefold()) for language in CATALOG.languages()
    )


# ── the words, in every language ─────────────────────────────────────────────────────────────────────────────────
def _any_of(words: set[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@lru_cache(maxsize=1)
def _words() -> tuple[str, str, str, str]:
    """Patterns of heading, user, bot, current."""
    spoken = [labels(language) for language in CATALOG.languages()]
    return (
        _any_of({one.heading for one in spoken}),
        _any_of({one.user for one in spoken}),
        _any_of({one.bot for one in spoken}),
        _any_of({one.current for one in spoken}),
    )


@lru_cache(maxsize=1)
def _heading() -> re.Pattern[str]:
    return re.compile(rf"^{MARKS}(?:{_words()[0]}){MARKS}", re.MULTILINE | re.IGNORECASE)


@lru_cache(maxsize=1)
def _current() -> re.Pattern[str]:
    return re.compile(rf"^{MARKS}(?:{_words()[3]}){MARKS}", re.MULTILINE | re.IGNORECASE)


@lru_cache(maxsize=1)
def _entry_lines() -> re.Pattern[str]:
    """How a line of the block begins."""
    heading, user, bot, _ = _words()
    return re.compile(rf"^{MARKS}(?:{heading}|{STAMP}|{user}|{bot})", re.MULTILINE | re.IGNORECASE)


@lru_cache(maxsize=1)
def _entries() -> re.Pattern[str]:
    """A whole entry, to the next blank line."""
    _, user, bot, _ = _words()
    return re.compile(
        rf"^{MARKS}{STAMP}{MARKS}\n{MARKS}(?:{user}|{bot})[^\n]*(?:\n(?![ \t]*$)[^\n]*)*\n?\s*",
        re.MULTILINE | re.IGNORECASE,
    )


@lru_cache(maxsize=1)
def _spoken() -> re.Pattern[str]:
    """ "Bot:" where the answer begins, or "User: …" and "Bot:" lines there."""
    _, user, bot, _ = _words()
    return re.compile(rf"\A\s*(?:{MARKS}(?:{user})[^\n]*\n\s*)?{MARKS}(?:{bot}){MARKS}", re.IGNORECASE)
