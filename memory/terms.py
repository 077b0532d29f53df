"""Which words of a text count, in any language: no lists of words, no grammar. Pure.

A term is a word in lower case, cut to its first PREFIX characters: inflection mostly happens behind them. Scripts
that write no spaces between words (Han, kana, Thai and others), and Hangul, whose particles stick to the word, give
pairs of neighbouring characters instead.
"""

import re
import unicodedata

import regex

PREFIX = 5
"""Words cut to five characters serve retrieval in European languages about as well as stemmed ones do (McNamee and
Mayfield, "Character n-gram tokenization for European language text retrieval", 2004)."""

WORD = re.compile(r"\w+")
MARKED_WORD = regex.compile(r"\w+")
"""The same with the vowel signs of Arabic and Indic scripts, which `re` takes for the end of a word."""
UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー]+"
)
UNSPACED_FROM = "\u0e00"
"""The first character of those scripts."""
LENGTH_WEIGHTS = (0.05, 0.05, 0.1, 0.3, 0.6)
"""By characters: the shortest words of a language are mostly its grammar (Zipf). From five on: 1."""


def terms(sentence: str) -> tuple[list[str], set[str]]:
    """The terms of one sentence, each once, in order; and which of them name something.

    A name has a capital behind the first word, or a digit. (German nouns all have one, which is as well.)
    """
    words = WORD.findall(sentence) if sentence.isascii() else _foreign_words(sentence)
    found: dict[str, None] = {}
    names: set[str] = set()
    for position, word in enumerate(words):
        lower = word.lower()
        is_word = lower.isalpha()
        term = lower[:PREFIX] if is_word else lower
        found[term] = None
        if not is_word or (lower != word and (position or lower[1:] != word[1:])):
            names.add(term)
    return list(found), names


def length_weight(term: str) -> float:
    """How much a term counts by its length alone, 0…1. Numbers and characters that are words themselves count whole."""
    if len(term) >= PREFIX or term[0] >= UNSPACED_FROM or not term.isalpha():
        return 1.0
    return LENGTH_WEIGHTS[len(term)]


def _foreign_words(sentence: str) -> list[str]:
    sentence = unicodedata.normalize("NFKC", sentence)
    if max(sentence, default="") >= UNSPACED_FROM:
        sentence = UNSPACED.sub(_pairs, sentence)
    return MARKED_WORD.findall(sentence)


def _pairs(run: "regex.Match[str]") -> str:
    text = run[0]
    return f" {' '.join(text[at : at + 2] for at in range(max(1, len(text) - 1)))} "
