"""Which option of a question a typed answer means. Pure."""

import re
from collections.abc import Sequence

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6,
    "eins": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "erst": 1, "zweit": 2, "dritt": 3, "viert": 4, "fünft": 5, "sechst": 6,
    "last": -1, "letzt": -1,
}  # fmt: skip
"""German ones without their endings."""
ENDINGS = ("es", "er", "en", "em", "e", "")
FILLERS = frozenset({
    "the", "one", "option", "number", "no", "nr", "answer", "please",
    "die", "der", "das", "den", "dem", "nummer", "möglichkeit", "antwort", "bitte", "variante",
})  # fmt: skip
POINTING = frozenset(
    {"option", "number", "no", "nr", "nummer", "möglichkeit", "variante", "answer", "antwort"}
)
"""Behind these a number can only be the place of an option."""
NUMBER = re.compile(r"([1-9][0-9]?)(?:st|nd|rd|th|te[rsn]?)?")
WORD = re.compile(r"\w+")


def option_of(text: str, options: Sequence[str]) -> str | None:
    """The option that `text` names: by its words in any case, or by its place: "2", "2.", "option 2", "zweite", "die
    zweite bitte". None: it names none, or it cannot be told which.
    """
    said = _words(text)
    same = [option for option in options if _words(option) == said]
    if same:
        return same[0]
    rest = [word for word in said if word not in FILLERS] or [word for word in said if word in NUMBERS]
    if len(rest) != 1:
        return None
    word = rest[0]
    place = _place(word)
    if place is None:
        return None
    holding = [option for option in options if word in _words(option)]
    if holding and not POINTING.intersection(said):  # "2" of "2 pizzas" and "3 pizzas"
        return holding[0] if len(holding) == 1 else None
    if abs(place) > len(options):
        return None
    return options[place - 1 if place > 0 else place]


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _place(word: str) -> int | None:
    """The number that a word is, counted from 1; -1 is the last."""
    if digits := NUMBER.fullmatch(word):
        return int(digits[1])
    stems = (word.removesuffix(ending) for ending in ENDINGS if word.endswith(ending))
    return next((NUMBERS[stem] for stem in stems if stem in NUMBERS), None)


YES = frozenset({
    "yes", "yes please", "ok", "okay", "confirm", "sure", "do it", "please do", "👍", "✓",
    "ja", "ja bitte", "gern", "gerne", "ja gern", "ja gerne", "bestätigen", "passt", "mach das", "mach es", "in ordnung",
    "oui", "sí", "si", "sì", "да", "evet", "tak", "sim", "はい", "是", "好",
})  # fmt: skip
"""What people type instead of tapping Confirm; anything else goes to the model."""


def is_yes(text: str) -> bool:
    """A typed yes to what was shown."""
    said = " ".join(text.casefold().strip(" .!,\n").replace(",", " ").split())
    return said in YES
