"""What the workers say to people: English in the code, the rest from locales/*.po."""

from pathlib import Path

from infra.texts import ENGLISH, Catalog

CATALOG = Catalog(Path(__file__).parent / "locales")
say, say_n = CATALOG.say, CATALOG.say_n

_LANGUAGES = frozenset(CATALOG.languages())


def spoken(language: str) -> str:
    """The language that `say` answers in when asked for this one."""
    code = language.replace("_", "-").partition("-")[0].lower()
    return code if code in _LANGUAGES else ENGLISH
