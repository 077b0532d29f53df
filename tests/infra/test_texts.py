"""What koi says: catalogs, their fallbacks, and whether every sentence has its translation."""

import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po

from infra.texts import Catalog

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(folder.parent.name for folder in ROOT.glob("*/locales"))
KEYWORDS = {"say": (2,), "say_n": (2, 3), "translated": (2,), "later": (1,)}
IN_TEMPLATES = {"say": (1,), "say_n": (1, 2)}
"""There the language is that of the page."""

DE_PO = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "Good morning, {name}!"
msgstr "Guten Morgen, {name}!"

msgid "{n} entry"
msgid_plural "{n} entries"
msgstr[0] "{n} Eintrag"
msgstr[1] "{n} Einträge"

#, fuzzy
msgid "Good night"
msgstr "Gute Reise"

msgid "Not yet"
msgstr ""
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "de.po").write_text(DE_PO, "utf-8")
    return Catalog(tmp_path)


@pytest.mark.parametrize("language", ["de", "de-AT", "de_CH", "DE"])
def test_a_sentence_is_said_in_the_language_of_the_person(catalog: Catalog, language: str) -> None:
    assert catalog.say(language, "Good morning, {name}!", name="Jo") == "Guten Morgen, Jo!"


@pytest.mark.parametrize("language", ["en", "fr", "", "../../etc/passwd", "d\0e"])
def test_an_unknown_language_is_english(catalog: Catalog, language: str) -> None:
    assert catalog.say(language, "Good morning, {name}!", name="Jo") == "Good morning, Jo!"


@pytest.mark.parametrize("msgid", ["Never seen", "Not yet", "Good night"], ids=["missing", "empty", "fuzzy"])
def test_a_sentence_without_translation_is_english(catalog: Catalog, msgid: str) -> None:
    assert catalog.say("de", msgid) == msgid


@pytest.mark.parametrize(
    ("language", "n", "said"),
    [("de", 1, "1 Eintrag"), ("de", 0, "0 Einträge"), ("en", 1, "1 entry"), ("en", 3, "3 entries")],
)
def test_counted_things_take_the_plural_of_the_language(
    catalog: Catalog, language: str, n: int, said: str
) -> None:
    assert catalog.say_n(language, "{n} entry", "{n} entries", n) == said


def test_braces_in_a_value_are_text(catalog: Catalog) -> None:
    assert catalog.say("de", "Good morning, {name}!", name="{0} {name}") == "Guten Morgen, {0} {name}!"


def test_the_languages_are_those_with_a_file(catalog: Catalog) -> None:
    assert catalog.languages() == ("en", "de")


# ── every sentence of the sources ────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Said:
    """One sentence in the sources: `(singular, plural)` for counted things."""

    where: str
    msgid: str | tuple[str, ...]


def said_in(package: Path) -> Iterator[Said]:
    for file in sorted(package.rglob("*.py")):
        for line, msgid, _comments, _context in extract_from_file("python", file, KEYWORDS):
            yield Said(f"{file.relative_to(package.parent)}:{line}", msgid)
    for file in sorted(package.rglob("templates/*.html")):
        for line, msgid, _comments, _context in extract_from_file(
            "jinja2.ext:babel_extract", file, IN_TEMPLATES
        ):
            yield Said(f"{file.relative_to(package.parent)}:{line}", msgid)


def places(text: str) -> set[str]:
    return {name for _text, name, _format, _conversion in string.Formatter().parse(text) if name is not None}


def translations(file: Path) -> dict[str | tuple[str, ...], tuple[str, ...]]:
    with file.open("rb") as source:
        catalog = read_po(source, locale=file.stem)
    return {
        message.id if isinstance(message.id, str) else tuple(message.id): (
            (message.string,) if isinstance(message.string, str) else tuple(message.string or ())
        )
        for message in catalog
        if message.id and not message.fuzzy
    }


def faults(package: Path, file: Path) -> list[str]:
    """One line for each sentence of a package that `file` does not say rightly, or says though nobody asks."""
    said, known = list(said_in(package)), translations(file)
    wrong = [f"unused: {msgid!r}" for msgid in known.keys() - {sentence.msgid for sentence in said}]
    for sentence in said:
        forms = known.get(sentence.msgid, ())
        source = sentence.msgid if isinstance(sentence.msgid, str) else sentence.msgid[-1]
        if not forms or not all(forms):
            wrong.append(f"{sentence.where}: untranslated: {sentence.msgid!r}")
        elif any(places(form) - {"n"} != places(source) - {"n"} for form in forms):
            wrong.append(f"{sentence.where}: other placeholders in the translation of {sentence.msgid!r}")
    return wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_every_sentence_is_translated_with_its_placeholders(package: str) -> None:
    wrong = [
        f"{file.name}: {fault}"
        for file in sorted((ROOT / package / "locales").glob("*.po"))
        for fault in faults(ROOT / package, file)
    ]

    assert not wrong, "\n".join(wrong)


def test_the_check_sees_missing_unused_and_differing_sentences(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "greet.py").write_text(
        'CATALOG.say(language, "Not yet")\n'
        'CATALOG.say(language, "Good morning, {name}!", name=name)\n'
        'CATALOG.say_n(language, "{n} entry", "{n} entries", n)\n'
        'TABLE = {"x": later("In a table")}\n'
    )
    (tmp_path / "de.po").write_text(DE_PO.replace("Guten Morgen, {name}", "Guten Morgen, {nom}"), "utf-8")

    assert faults(package, tmp_path / "de.po") == [
        "package/greet.py:1: untranslated: 'Not yet'",
        "package/greet.py:2: other placeholders in the translation of 'Good morning, {name}!'",
        "package/greet.py:4: untranslated: 'In a table'",
    ]
    (package / "greet.py").write_text("")
    assert "unused: 'Not yet'" in faults(package, tmp_path / "de.po")
