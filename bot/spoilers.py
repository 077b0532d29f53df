"""`||hidden||`, which the parser does not know. Pure."""

from collections.abc import Sequence

from bot.page import edited, end_of
from bot.split import Entity

CODE = {"code", "pre", "table"}


def with_spoilers(
    text: str, entities: list[Entity], signs: Sequence[tuple[int, int]]
) -> tuple[str, list[Entity]]:
    """Hidden what stands between two signs, if they touch it; code in there is hidden instead of monospaced, as Telegram does
    not take both. signs: where `||` stands outside of code, in order.
    """
    edits: list[tuple[int, int, str]] = []
    hidden: list[Entity] = []
    opened: tuple[int, int] | None = None
    for start, end in signs:
        if opened is None or start <= opened[1]:
            opened = (start, end) if text[end : end + 1].strip() else None
        elif text[start - 1].strip():
            edits += [(*opened, ""), (start, end, "")]
            hidden.append({"type": "spoiler", "offset": opened[1], "length": start - opened[1]})
            opened = None
    if not hidden:
        return text, entities
    readable = [
        e for e in entities if e["type"] not in CODE or not any(_meet(e, spoiler) for spoiler in hidden)
    ]
    return edited(text, [*readable, *hidden], edits)


def _meet(one: Entity, other: Entity) -> bool:
    return one["offset"] < end_of(other) and other["offset"] < end_of(one)
