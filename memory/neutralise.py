"""Text of people and models must not close or imitate the tags that koi itself puts around things."""

import re
import unicodedata
from functools import lru_cache

import regex

from infra.clean import clean
from memory.summary import NOTHING

NAMES = (
    "conversationhistory",
    "conversationsummary",
    "systemprompt",
    "systemreminder",
    "systemmessage",
    "system",
)
"""Tag names that only koi may use, as `_folded` leaves them."""

ESCAPED = "&lt;"

LESS_THAN = "<＜﹤≮‹〈〈⟨˂ᐸ❮❬⧼《«≪"
BRACKETS = re.compile(f"[{LESS_THAN}]")
"""The less-than sign, its compatibility forms, and what looks like it."""

LOOKALIKES = str.maketrans(
    "аесһніімпоргѕтуѵαεηιονγυτᴀᴄᴇʜɪᴍɴᴏʀꜱᴛᴠʏı",
    "aechhiimnoprstyvaeniovyytacehimnorstvyi",
)
"""Cyrillic, Greek and small capitals that look like the letters of NAMES; compatibility forms (fullwidth, bold,
circled) are folded by NFKC instead."""

INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{C}\p{M}\u2800]")
JOINERS = frozenset("_-‐‑.")
"""Skipped within a name; what follows one still belongs to the same word (`<system_error>` is no tag of ours)."""

SEPARATORS = JOINERS | frozenset("–—·:/\\|!?*\"'`")
"""Skipped, as spaces are, before a name and within it: `</`, `< /`, `<|`, `conversation history`."""

HIDDEN = regex.compile(
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f)|[\U000e0000-\U000e007f]"
)
"""Tag characters, which write ASCII that nobody sees; group 1 is a flag of a region, their one honest use."""
HIDDEN_LEAD = b"\xf3\xa0"
"""How each of them begins in UTF-8: to look for that is a hundred times faster."""


def neutralise(text: str) -> str:
    """The text with `&lt;` for every less-than sign (or lookalike) that begins one of koi's tags, closing or opening.

    Case, spaces, invisible characters, fullwidth and similar-looking letters do not hide a tag. All else, other tags
    and code included, stays as it is, except hidden tag characters, which are dropped. Doing it again changes nothing.
    """
    return disarmed(clean(text))


def disarmed(text: str) -> str:
    """`neutralise` for a text that is clean (infra.clean), as everything in an exchange is: that takes half the time."""
    if text.isascii():
        may_begin = "<" in text
    else:
        if HIDDEN_LEAD in text.encode("utf-8", "surrogatepass"):
            text = HIDDEN.sub(lambda found: found[1] or "", text)
        may_begin = any(sign in text for sign in LESS_THAN)
    if not may_begin:
        return text
    return BRACKETS.sub(lambda found: ESCAPED if _begins_tag(text, found.end()) else found[0], text)


def for_model(text: str) -> str:
    """Neutral, and never blank: services refuse a message in which there is nothing."""
    return stored_for_model(clean(text))


def stored_for_model(text: str) -> str:
    """`for_model` for a text that is clean."""
    neutral = disarmed(text)
    return neutral if neutral.strip() else NOTHING


def _begins_tag(text: str, start: int) -> bool:
    """Whether a protected name and then no further letter or digit stands at `start`.

    Reads on only while what it has read begins a name, so a whole text is read about once for all its brackets.
    """
    read = ""
    for position in range(start, len(text)):
        character = _folded(text[position])
        if not character:
            continue
        if read in NAMES and not (text[position].isalnum() and _adjoins(text, position)):
            return True
        read += character
        if not any(name.startswith(read) for name in NAMES):
            return False
    return read in NAMES


def _adjoins(text: str, position: int) -> bool:
    """Whether the character before `position`, invisible ones aside, belongs to the same word."""
    while INVISIBLE.match(text[position - 1]):
        position -= 1
    before = text[position - 1]
    return before in JOINERS or not (before in SEPARATORS or before.isspace())


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    """What a reader takes the character for: lower case, without accents; "" if it is skipped."""
    if character in SEPARATORS or character.isspace():
        return ""
    folded = unicodedata.normalize("NFKD", character).casefold().translate(LOOKALIKES)
    return INVISIBLE.sub("", folded)
