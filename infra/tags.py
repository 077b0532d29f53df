"""Tags that koi puts around texts: whatever stands between them must not close or imitate them."""

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

import regex

KOI_TAGS = (
    "conversationhistory",
    "conversationsummary",
    "systemprompt",
    "systemreminder",
    "systemmessage",
    "system",
)
"""Names that only koi may use, as `_folded` leaves them."""

ESCAPED = "&lt;"

LESS_THAN = "<＜﹤≮‹〈〈⟨˂ᐸ❮❬⧼《«≪"
BRACKETS = re.compile(f"[{LESS_THAN}]")
"""The less-than sign, its compatibility forms, and what looks like it."""

LOOKALIKES = str.maketrans(
    "аесһніімпоргѕтуѵαεηιονγυτᴀᴄᴇʜɪᴍɴᴏʀꜱᴛᴠʏı",
    "aechhiimnoprstyvaeniovyytacehimnorstvyi",
)
"""Cyrillic, Greek and small capitals that look like the letters of the names; compatibility forms (fullwidth, bold,
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


def disarmed(text: str, names: Collection[str] = KOI_TAGS) -> str:
    """A clean text (infra.clean) with `&lt;` for every less-than sign (or lookalike) that begins a tag of these names.

    names: as `_folded` leaves them: small letters without anything between.
    Case, spaces, invisible characters, fullwidth and similar-looking letters do not hide a tag. All else, other tags
    and code included, stays as it is, except hidden tag characters, which are dropped. Doing it again changes nothing.
    """
    if text.isascii():
        may_begin = "<" in text
    else:
        if HIDDEN_LEAD in text.encode("utf-8", "surrogatepass"):
            text = HIDDEN.sub(lambda found: found[1] or "", text)
        may_begin = any(sign in text for sign in LESS_THAN)
    if not may_begin:
        return text
    return BRACKETS.sub(lambda found: ESCAPED if _begins_tag(text, found.end(), names) else found[0], text)


def _begins_tag(text: str, start: int, names: Collection[str]) -> bool:
    """Whether a protected name and then no further letter or digit stands at `start`.

    Reads on only while what it has read begins a name, so a whole text is read about once for all its brackets.
    """
    read = ""
    for position in range(start, len(text)):
        character = _folded(text[position])
        if not character:
            continue
        if read in names and not (text[position].isalnum() and _adjoins(text, position)):
            return True
        read += character
        if not any(name.startswith(read) for name in names):
            return False
    return read in names


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
