"""The texts and blocks of rich messages (RichText, InputRichBlock): put together, read, measured. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

type Json = dict[str, Any]

STYLES_OF_TEXT = frozenset({"bold", "italic", "strikethrough", "code", "url"})
APART = frozenset({"blocks", "items", "cells"})
"""Fields that hold what stands on lines of its own."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much blocks or texts hold."""

    blocks: int = 0
    depth: int = 0
    columns: int = 0


def one_text(pieces: Sequence[Any]) -> Any:
    """Pieces as one RichText; strings that follow each other are one."""
    joined: list[Any] = []
    for piece in pieces:
        if joined and isinstance(piece, str) and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    if not joined:
        return ""
    return joined[0] if len(joined) == 1 else joined


def trimmed(pieces: list[Any]) -> list[Any]:
    """Without line ends at both ends (they stood around a formula)."""
    while pieces and pieces[0] == "\n":
        del pieces[0]
    while pieces and pieces[-1] == "\n":
        del pieces[-1]
    return pieces


def plain_of(text: Any) -> str:
    """What people read of a RichText."""
    match text:
        case str():
            return text
        case list():
            return "".join(plain_of(piece) for piece in cast("list[Any]", text))
        case _:
            return plain_of(text.get("text", text.get("expression", "")))


def said_of(value: Any) -> str:
    """The words and addresses of blocks or texts, as they are read."""
    match value:
        case str():
            return value
        case list():
            return "".join(said_of(one) for one in cast("list[Any]", value))
        case dict():
            return _said_of_fields(cast("Json", value))
        case _:
            return ""


def _said_of_fields(value: Json) -> str:
    said = f"{value['value']}. " if "value" in value else ""
    said += f"{value['language']}\n" if "language" in value else ""
    for field in ("text", "expression", "blocks", "items", "cells"):
        found = value.get(field, "")
        if field in APART:
            said += "".join(f"{_line(one)}\n" for one in found)
        else:
            said += said_of(found)
    return said + (f" {value['url']} " if "url" in value else "")


def _line(value: Any) -> str:
    """A block or item; of a row its cells."""
    return " ".join(map(said_of, cast("list[Any]", value))) if isinstance(value, list) else said_of(value)


def size_of(value: Any) -> Size:
    """How much blocks or texts hold, styles and cells within their depth."""
    match value:
        case list():
            sizes = [size_of(one) for one in cast("list[Any]", value)]
            return Size(
                sum(size.blocks for size in sizes),
                max((size.depth for size in sizes), default=0),
                max((size.columns for size in sizes), default=0),
            )
        case dict():
            return _size_of_fields(cast("Json", value))
        case _:
            return Size()


def _size_of_fields(value: Json) -> Size:
    inner = size_of([value.get(field, "") for field in ("text", "blocks", "items", "cells")])
    rows: list[list[Json]] = value.get("cells", [])
    is_block = value.get("type") not in STYLES_OF_TEXT and "align" not in value
    return Size(
        inner.blocks + is_block + len(rows),
        inner.depth + 1 + bool(rows),
        max(inner.columns, *(len(row) for row in rows), 0),
    )
