"""What a message looks like, whatever its language: length, weight of its words, parts, numbers, code. Pure."""

import re
from dataclasses import dataclass

READ_CHARS = 1_000
"""What comes behind them changes nothing: a message of that length is long."""

LINK = re.compile(r"https?://\S+|www\.\S+")
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
IDEOGRAPH = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
HANGUL = re.compile(r"[\uac00-\ud7af]")
NUMBER = re.compile(r"\d+(?:[.,:/\-–]\d+)*")
SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)|[。！？؟।]+|\n+")
CLAUSE_END = re.compile(r"[,;:](?=\s)|[，、；：،؛]|\s[–—-]\s")
QUESTION = re.compile(r"[?？؟]+")
ITEM = re.compile(r"^[ \t]{0,40}(?:[-*•–]|\d{1,2}[.)])[ \t]+\S", re.MULTILINE)

SHORT_LETTERS = 3
"""A word's letters up to here weigh nothing: in most languages they are its grammar."""
UNSPACED_LETTERS = 0.5
"""Weight of a letter without spaces around its word; about three make a word."""
HANGUL_LETTERS = 2
"""Letters in a syllable."""

FENCE = re.compile(r"```|~~~")
TRACE = re.compile(
    r'^[ \t]{0,40}(?:File "[^"\n]+", line \d|at [\w$.<>]+ ?\(|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|\[\d\d:\d\d:\d\d)|'
    r'\b[A-Z]\w*(?:Error|Exception)\b|^(?:---|\+\+\+|@@) |"\w+"\s?:\s?["\w\[{]',
    re.MULTILINE,
)
"""A line of a stack trace, of a log with times, of a diff, of JSON; a class that is an error. Written alike everywhere."""
IDENTIFIER = re.compile(
    r"\b\w+(?:_\w+)+\b|\b[a-z]+[A-Z]\w*|\b\w+\.\w+\(|\b\w+\([^\s()]{0,40}\)|\b\w+\.[a-z]{1,4}:\d+|\b0x[0-9a-f]+"
)
"""snake_case, camelCase, a call, file:line, a hexadecimal number."""
FEW_IDENTIFIERS = 1
"""Names of things look like that too: iPhone, a user's name."""
SYMBOL = re.compile(r"([{}\[\]()<>=;\\|#$%^&*+~`_])\1*")
"""Several of the same are one: "***" and "====" decorate prose."""
FEW_SYMBOLS = 5
SYMBOL_SHARE = 0.1
"""Of the characters that are no spaces. Prose has less than 0.03 of them."""


@dataclass(frozen=True, slots=True)
class Features:
    words: int
    """Three letters of a script without spaces count as two."""
    weight: float
    """Letters beyond the third of each word, which is near how much it says."""
    parts: int
    """Sentences and clauses: what full stops, commas, line ends part."""
    questions: int
    """Question marks."""
    items: int
    """Lines that begin like those of a list."""
    numbers: int
    links: int
    code: bool
    """Code, a log, a stack trace."""


def features_of(text: str) -> Features:
    """Some 20 µs for a message of a line, below a millisecond for any."""
    text = text[:READ_CHARS]
    links = LINK.findall(text)
    prose = LINK.sub(" ", text) if links else text
    unspaced = UNSPACED.findall(prose) if not prose.isascii() else []
    ideographs = len(IDEOGRAPH.findall("".join(unspaced)))
    letters = ideographs + UNSPACED_LETTERS * (len(unspaced) - ideographs)
    words = WORD.findall(UNSPACED.sub(" ", prose) if unspaced else prose)
    return Features(
        words=len(words) + round(letters * 2 / 3),
        weight=sum(map(_weight, words)) + letters,
        parts=_parts(prose),
        questions=len(QUESTION.findall(prose)),
        items=len(ITEM.findall(prose)),
        numbers=len(NUMBER.findall(prose)),
        links=len(links),
        code=_is_code(prose),
    )


def _weight(word: str) -> int:
    letters = len(word)
    if not word.isascii():
        letters += (HANGUL_LETTERS - 1) * len(HANGUL.findall(word))
    return max(letters - SHORT_LETTERS, 0)


def _parts(text: str) -> int:
    sentences = [one for one in SENTENCE_END.split(text) if one.strip()]
    return len(sentences) + len(CLAUSE_END.findall(text))


def _is_code(text: str) -> bool:
    if FENCE.search(text) or TRACE.search(text):
        return True
    if len(IDENTIFIER.findall(text)) > FEW_IDENTIFIERS:
        return True
    symbols = len(SYMBOL.findall(text))
    return symbols >= FEW_SYMBOLS and symbols >= SYMBOL_SHARE * len("".join(text.split()))
