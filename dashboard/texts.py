"""What the dashboard says to people: English in the code and templates, the rest from locales/*.po."""

from pathlib import Path

from infra.texts import Catalog

CATALOG = Catalog(Path(__file__).parent / "locales")
say, say_n, spoken, languages = CATALOG.say, CATALOG.say_n, CATALOG.spoken, CATALOG.languages
