"""Names and codes of languages. Pure."""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from babel import Locale, UnknownLocaleError

from infra.texts import ENGLISH
from workers.texts import CATALOG, spoken

KOI_SPEAKS = tuple(sorted(CATALOG.languages()))
"""Languages that koi's own lines are written in."""


def two_letters(language: str) -> str:
    """ "pt-BR" → "pt"."""
    return language.replace("_", "-").partition("-")[0].lower()


def language_name(code: str, language: str) -> str:
    """ "de" in "de" → "Deutsch", in "en" → "German"; the code itself, if nobody knows it. In English where koi does not
    speak `language`.
    """
    return _names(spoken(language)).get(two_letters(code), code)


@lru_cache(maxsize=256)
def english_name(code: str) -> str:
    """For the model; "English" for what is no language."""
    return _names(ENGLISH).get(two_letters(code), "English")


def own_name(code: str) -> str:
    """ "de" → "Deutsch": as its speakers call it."""
    try:
        name = Locale(code).get_language_name(code) or code
    except (UnknownLocaleError, ValueError):
        return language_name(code, ENGLISH)
    return name[:1].upper() + name[1:]


def code_of(argument: str, language: str) -> str | None:
    """ "de", "de-AT", "German", "Deutsch" → "de": a code of two letters, or a name in English, in `language` or in one that
    koi speaks. None: no language.
    """
    wanted = argument.strip().casefold()
    if (code := two_letters(wanted)) in _names(ENGLISH) and len(code) == 2:
        return code
    for spoken_in in dict.fromkeys((ENGLISH, two_letters(language), *KOI_SPEAKS)):
        for code, name in _names(spoken_in).items():
            if name.casefold() == wanted:
                return code
    return None


@lru_cache(maxsize=16)
def _names(language: str) -> dict[str, str]:
    """Code of two letters → name in `language`; empty if babel does not know it."""
    try:
        names = cast("Mapping[str, str]", Locale(language).languages)
    except (UnknownLocaleError, ValueError):
        return {}
    return {code: name for code, name in names.items() if len(code) == 2}
