"""How many tokens a text will be, without asking a tokenizer: words by alphabet and length, characters of the scripts
without spaces, digits by three, signs, line ends, pictures.

The rates are a least-squares fit (absolute relative errors, by reweighting) to what o200k_base, a tokenizer of 200,000
entries, makes of about 8,000 texts: dialogues and JSON in English, translated messages of Unix programs, tutorials,
lists and tables of CLDR names in up to fourteen languages, sources of the Python library, READMEs of packages; then
rounded. No text of bench/texts was among them. What a model counts differs by a factor of its own, which memory.ratio
learns (docs/decisions/0016).
"""

from collections import Counter
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits, punctuation

PLAIN_LETTERS, ACCENTED_LETTERS = 6, 4
"""A word up to this length, without and with letters beyond ASCII, costs the same however short it is."""
PLAIN_WORD, PLAIN_LETTER = 0.9, 0.14
"""Tokens of a word of ASCII letters, and of each letter of it beyond PLAIN_LETTERS."""
NAME_LETTER = 0.17
"""More for each letter beyond ACCENTED_LETTERS of one with a capital: names, the nouns of German."""
WORDS: dict[int, tuple[float, float]] = {
    ord("l"): (1.28, 0.32),  # Latin-1: ä é ñ
    ord("x"): (1.2, 0.6),  # the rest of Latin: ł ğ ế
    ord("c"): (1.15, 0.23),  # Cyrillic
}
"""Tokens of a word with such letters, and of each letter of it beyond ACCENTED_LETTERS."""
OTHER_LETTER = 0.41
"""A letter of any other alphabet."""
CHARACTERS: dict[bytes, float] = {b"k": 0.7, b"i": 0.78, b"h": 0.72, b"p": 2.1, b"w": 0.97}
"""Kana, Han, Hangul, pictures, and signs beyond ASCII."""
DIGITS, SIGNS, NEWLINES, INDENT = 1.5, 0.85, 0.8, 0.6
"""Up to three digits, up to two signs, any number of line ends, any number of spaces beyond one."""
SPACED_NUMBER = 0.6
"""The space before a number: it is not part of it, as it is of a word. Counted where a text begins with one, too."""
CAMEL = 0.2
"""A capital letter inside a word."""

CONTINUATION = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that only continue a character: dropped, so that one byte per character remains."""
LETTERS = b"aAlxco"
CAPITAL = ord("A")


def _class_of(byte: int) -> str:
    """The class of a character by the first byte of its UTF-8."""
    if byte < 0x80:
        known = (
            (ascii_lowercase, "a"),
            (ascii_uppercase, "A"),
            (digits, "d"),
            (punctuation, "s"),
            ("\n", "n"),
        )
        return next((kind for characters, kind in known if chr(byte) in characters), " ")
    edges = (
        (0xC3, "w"),  # ° « ¿
        (0xC4, "l"),
        (0xCA, "x"),
        (0xD0, "o"),  # Greek
        (0xD5, "c"),
        (0xE1, "o"),  # Armenian, Hebrew, Arabic, the scripts of India, Thai
        (0xE2, "x"),  # mostly Vietnamese
        (0xE3, "w"),  # dashes, quotes, arrows, €
        (0xE4, "k"),
        (0xEA, "i"),
        (0xEE, "h"),
        (0xF0, "w"),  # full-width punctuation
    )
    return next((kind for edge, kind in edges if byte < edge), "p")


CLASSES = bytes(ord(_class_of(byte)) for byte in range(256))
ONLY_WORDS = bytes(byte if byte in LETTERS else ord(" ") for byte in range(256))
"""Second table: leaves the letters, so that `split` gives the words."""


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, at least 1 if it is not empty. Nearly additive: those of a whole are those of its sentences, but
    for rounding, so that a builder may sum up what it picks. 24,000 characters take 1 to 2 ms, a line a few µs."""
    classes = text.encode("utf-8", "replace").translate(CLASSES, CONTINUATION)
    words = classes.translate(ONLY_WORDS).split()
    tokens = sum(_word(kind) * times for kind, times in Counter(words).items())
    tokens += _groups(classes, b"d", 3) * DIGITS + _groups(classes, b"s", 2) * SIGNS
    tokens += _runs(classes, b"n") * NEWLINES
    tokens += (classes.count(b" d") + classes.startswith(b"d")) * SPACED_NUMBER
    tokens += classes.count(b"aA") * CAMEL
    if b"  " in classes:
        tokens += _runs(classes.replace(b"  ", b"g"), b"g") * INDENT
    if not text.isascii():
        tokens += sum(classes.count(kind) * rate for kind, rate in CHARACTERS.items() if kind in classes)
    return max(round(tokens), 1 if text else 0)


@lru_cache(maxsize=4096)
def _word(classes: bytes) -> float:
    """Of one word, as classes: words that look alike are priced once."""
    letters = len(classes)
    for kind, (word, letter) in WORDS.items():
        if kind in classes:
            return word + letter * max(letters - ACCENTED_LETTERS, 0)
    if b"o" in classes:
        return OTHER_LETTER * letters
    name = NAME_LETTER * max(letters - ACCENTED_LETTERS, 0) if classes[0] == CAPITAL else 0.0
    return PLAIN_WORD + PLAIN_LETTER * max(letters - PLAIN_LETTERS, 0) + name


def _groups(classes: bytes, kind: bytes, size: int) -> int:
    """How many groups of at most `size` the runs of one class make."""
    for length in range(size, 1, -1):
        classes = classes.replace(kind * length, b"g")
    return classes.count(b"g") + classes.count(kind)


def _runs(classes: bytes, kind: bytes) -> int:
    """How many runs of one class there are; a long one may count as two."""
    for length in (4, 2):
        classes = classes.replace(kind * length, kind)
    return classes.count(kind)
