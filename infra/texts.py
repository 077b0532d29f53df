"""What koi says to people: English in the code, other languages from `<package>/locales/<language>.po`.

    CATALOG = Catalog(Path(__file__).parent / "locales")
    CATALOG.say("de", "Forgot {title}.", title="Chemitek")
    CATALOG.say_n("de", "Forgot {n} entry.", "Forgot {n} entries.", 3)

The .po files are read once, when a language is first spoken; no .mo files exist. tests/infra/test_texts.py fails if a
msgid lacks its translation or the two differ in their placeholders.
"""

from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

ENGLISH = "en"


class Catalog:
    """The translations of one package. A language without a file, or a msgid without a translation, is English."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = frozenset(self.languages())
        self._spoken: dict[str, NullTranslations] = {}

    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that can be spoken, English first."""
        return (ENGLISH, *sorted(file.stem for file in self._folder.glob("*.po")))

    def spoken(self, language: str) -> str:
        """The language that `say` answers in when asked for this one."""
        code = _code(language)
        return code if code in self._known else ENGLISH

    def say(self, language: str, msgid: str, /, **values: object) -> str:
        """`msgid` in `language` ("de", "de-AT", "pt_BR"), its {named} places filled by `str.format`.

        Raises: KeyError: a place has no value.
        """
        return self._translations(language).gettext(msgid).format(**values)

    def say_n(self, language: str, singular: str, plural: str, n: int, /, **values: object) -> str:
        """The form that `language` uses for `n` things; {n} is filled too.

        Raises: KeyError: a place has no value.
        """
        return self._translations(language).ngettext(singular, plural, n).format(n=n, **values)

    def _translations(self, language: str) -> NullTranslations:
        code = _code(language)
        if code not in self._spoken:
            self._spoken[code] = _read(self._folder / f"{code}.po", code)
        return self._spoken[code]


def _code(language: str) -> str:
    """ "de" of "de-AT"."""
    return language.replace("_", "-").partition("-")[0].lower()


def later(msgid: str) -> str:
    """Marks a msgid that stands in a table and is said elsewhere, so that the tests see it."""
    return msgid


def _read(file: Path, code: str) -> NullTranslations:
    """The translations of one file, fuzzy ones left out; none if there is no such file."""
    if not code.isalpha() or not file.is_file():
        return NullTranslations()
    with file.open("rb") as source:
        catalog = read_po(source, locale=code)
    compiled = BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return GNUTranslations(compiled)
