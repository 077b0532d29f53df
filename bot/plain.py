"""What is sent instead of a part that Telegram refuses: its words, as plain as can be. Pure."""

from collections.abc import Sequence

from bot.progress import KeptPart
from bot.render import render
from bot.split import Entity, Part, split


def plainer(part: KeptPart) -> tuple[Part, ...]:
    """A rich message as ordinary ones, a file as messages, a message without entities and with its addresses written out;
    nothing if it is plain already.
    """
    if part.rich:
        return render(part.text)
    if part.file:
        return split(part.text)
    return split(_with_addresses(part)) if part.entities else ()


def _with_addresses(part: KeptPart) -> str:
    units = part.text.encode("utf-16-le")
    pieces: list[bytes] = []
    at = 0
    for end, url in _addresses(part.entities):
        pieces += [units[at : end * 2], f" ({url})".encode("utf-16-le")]
        at = end * 2
    return b"".join([*pieces, units[at:]]).decode("utf-16-le", "replace")


def _addresses(entities: Sequence[Entity]) -> list[tuple[int, str]]:
    """Where links end, in UTF-16 units, and where they lead, in order."""
    return sorted((e["offset"] + e["length"], e["url"]) for e in entities if e["type"] == "text_link")
