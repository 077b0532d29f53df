"""What the bot process says, to people in Telegram and on the console (German: locales/de.po)."""

from pathlib import Path

from infra.texts import Catalog

CATALOG = Catalog(Path(__file__).parent / "locales")
say, say_n = CATALOG.say, CATALOG.say_n
