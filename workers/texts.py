"""What the workers say to people: English in the code, the rest from locales/*.po."""

from pathlib import Path

from infra.texts import Catalog

CATALOG = Catalog(Path(__file__).parent / "locales")
say, say_n, spoken = CATALOG.say, CATALOG.say_n, CATALOG.spoken
