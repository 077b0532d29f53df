"""What choosing sentences needs to know of an entry, found once, when it is stored. Pure.

Packed into one string, `RingEntry.features`:

    1 <tokens of the message> <tokens of the reply> <sentences of the message>
    <start of each sentence, those of the message first>      parted by spaces, as all that follows
    <end of each>
    <tokens of each>
    <the terms that name something>
    <terms of the first sentence>                             then one line for each other

Starts and ends are code points of the message, or of the reply; tokens are `memory.tokens.estimate_tokens`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from memory.terms import terms
from memory.tokens import estimate_tokens
from schemas.memory import RingEntry

VERSION = "1"
HEAD_LINES, HEAD_NUMBERS = 5, 4

SENTENCE_CHARS = 240
"""A longer sentence is parted at a space: a piece must fit where little room is left."""
FRAGMENT_CHARS = 10
"""What is shorter ("Dr.", "Yes.") stays with what follows it."""

END = re.compile(
    r"\s*\n\s*|(?<=[.!?…])(?<!\b\w\.)(?<!\b\d\d\.)[\"'»”’)\]]*\s+(?=[^\sa-zа-яё])|(?<=[。！？])[」』”’）]*\s*"
)
"""Between two sentences. A stop behind one letter or up to two digits, or before a small letter, is none ("z. B.",
"am 15. April", "ca. zwei"); behind the stops of Chinese and Japanese no space is written."""


@dataclass(frozen=True, slots=True)
class Features:
    """Of both texts of an entry; the four rows have one value per sentence, those of the message first."""

    user_tokens: int
    reply_tokens: int
    user_sentences: int
    starts: list[int]
    ends: list[int]
    tokens: list[int]
    names: list[str]
    terms: list[str]
    """Parted by spaces."""


def said(entry: RingEntry) -> str:
    """The fullest text that is stored of the reply."""
    return entry.reply or entry.summary


def features_of(entry: RingEntry) -> Features:
    """As stored with the entry; found now if they were not, or by another version."""
    return unpack(entry.features) or find(entry.user_message, said(entry))


def entry_tokens(entry: RingEntry) -> int:
    """Estimate of both texts; reads no more than the first line of what is stored."""
    head = entry.features.partition("\n")[0].split(" ")
    if len(head) == HEAD_NUMBERS and head[0] == VERSION and head[1].isdecimal() and head[2].isdecimal():
        return int(head[1]) + int(head[2])
    return estimate_tokens(entry.user_message) + estimate_tokens(said(entry))


def with_features(entry: RingEntry) -> RingEntry:
    """The entry as it is stored."""
    return entry.model_copy(update={"features": pack(find(entry.user_message, said(entry)))})


def find(user: str, reply: str, user_tokens: int = 0, reply_tokens: int = 0) -> Features:
    """50 to 150 µs for a message and a reply of 300 characters. user_tokens, reply_tokens: estimates, if they are known."""
    of_user, of_reply = list(sentences(user)), list(sentences(reply))
    pieces = [user[start:end] for start, end in of_user] + [reply[start:end] for start, end in of_reply]
    user_tokens, reply_tokens = user_tokens or estimate_tokens(user), reply_tokens or estimate_tokens(reply)
    found = [terms(piece) for piece in pieces]
    return Features(
        user_tokens=user_tokens,
        reply_tokens=reply_tokens,
        user_sentences=len(of_user),
        starts=[start for start, _ in (*of_user, *of_reply)],
        ends=[end for _, end in (*of_user, *of_reply)],
        tokens=_shares(user_tokens, pieces[: len(of_user)]) + _shares(reply_tokens, pieces[len(of_user) :]),
        names=sorted(set[str]().union(*(names for _, names in found))),
        terms=[" ".join(words) for words, _ in found],
    )


def _shares(tokens: int, pieces: list[str]) -> list[int]:
    """Of a text's tokens, by the bytes of its sentences: near enough to choose by, since the finished block is counted."""
    sizes = [len(piece) if piece.isascii() else len(piece.encode("utf-8", "replace")) for piece in pieces]
    rate = tokens / (sum(sizes) or 1)
    return [max(1, round(size * rate)) for size in sizes]


def pack(features: Features) -> str:
    return "\n".join(
        [
            f"{VERSION} {features.user_tokens} {features.reply_tokens} {features.user_sentences}",
            _row(features.starts),
            _row(features.ends),
            _row(features.tokens),
            _row(features.names),
            *features.terms,
        ]
    )


def unpack(packed: str) -> Features | None:
    """None for another version, for nothing, and for what `pack` did not write."""
    lines = packed.split("\n")
    version, *numbers = lines[0].split(" ")
    if version != VERSION or len(lines) < HEAD_LINES:
        return None
    try:
        user_tokens, reply_tokens, user_sentences = map(int, numbers)
        starts, ends, tokens = _numbers(lines[1:4])
    except ValueError:
        return None
    words = lines[HEAD_LINES:]
    if not len(starts) == len(ends) == len(tokens) == len(words) >= user_sentences >= 0:
        return None
    return Features(user_tokens, reply_tokens, user_sentences, starts, ends, tokens, lines[4].split(), words)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each, in order; between them stands only white space. A blank text has none."""
    last = len(text.rstrip())
    start = last - len(text[:last].lstrip())
    for gap in END.finditer(text, start, last):
        if gap.start() - start < FRAGMENT_CHARS and _is_stop(text, gap):
            continue
        closed = gap.start() + len(
            gap[0].rstrip()
        )  # quotes and brackets behind a stop belong to the sentence
        yield from _pieces(text, start, closed)
        start = gap.end()
    if start < last:
        yield from _pieces(text, start, last)


def _is_stop(text: str, gap: re.Match[str]) -> bool:
    """Whether the gap is one behind a Western stop, which also ends abbreviations."""
    return "\n" not in gap[0] and text[gap.start() - 1] in ".!?…"


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > SENTENCE_CHARS:
        space = text.rfind(" ", start + SENTENCE_CHARS // 2, start + SENTENCE_CHARS + 1)
        cut = space if space > 0 else start + SENTENCE_CHARS
        yield start, cut
        start = cut + (text[cut] == " ")
    if start < end:
        yield start, end


def _numbers(rows: list[str]) -> list[list[int]]:
    """Read as JSON, which takes a third of the time that `int` does. Raises: ValueError: other than digits and spaces."""
    if not "".join(["0", *rows]).replace(" ", "0").isdecimal():
        raise ValueError(rows)
    return orjson.loads(f"[[{'],['.join(rows)}]]".replace(" ", ","))


def _row(values: Iterable[object]) -> str:
    return " ".join(map(str, values))
