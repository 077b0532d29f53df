"""Which addresses Telegram opens behind a text. Pure."""

import re

OPENABLE = re.compile(
    r"(?:https?://(?:[^\s/?#@:]+\.[^\s/?#@:.]+)(?::\d{1,5})?(?:[/?#]\S*)?|(?:tg|ton)://\S+|mailto:\S+@\S+|tel:\S+)",
    re.IGNORECASE,
)
"""Web addresses need a host with a dot (TDLib, LinkManager::check_link); others are dropped or refused with their text."""
MOST_CHARS = 2_000


def openable(url: str) -> bool:
    """Whether it may stand behind other words; else it must be shown."""
    return len(url) <= MOST_CHARS and OPENABLE.fullmatch(url) is not None


def told(text: str, url: str) -> bool:
    """Whether a text already is its address, as people write it; also if there is none."""
    shown, address = text.strip().casefold(), url.casefold()
    return shown in {address, address.removeprefix("mailto:")} or not address
