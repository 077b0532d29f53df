"""Telegram's rules for a rich message made of blocks, strictly: no media, nothing empty, no field that does not belong.

Source: Bot API 10.3, "Rich Message Limits", InputRichMessage, InputRichBlock and RichText; td_api's inputRichMessage counts
blocks, list items and table rows together.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tests.fakes.telegram_rules import WEB, visible

MAX_CHARS = 32_768
MAX_BLOCKS = 500
MAX_DEPTH = 16
MAX_COLUMNS = 20

type Json = Mapping[str, Any]

STYLES = {"bold", "italic", "underline", "strikethrough", "spoiler", "code"}
BLOCKS: Mapping[str, tuple[set[str], set[str]]] = {
    "paragraph": ({"text"}, set()),
    "heading": ({"text", "size"}, set()),
    "pre": ({"text"}, {"language"}),
    "divider": (set(), set()),
    "mathematical_expression": ({"expression"}, set()),
    "list": ({"items"}, set()),
    "blockquote": ({"blocks"}, {"credit"}),
    "table": ({"cells"}, {"is_bordered", "is_striped", "caption", "is_compact"}),
}
"""Fields that each must and may have. Those with media are not here: koi sends none."""
ITEM = {"blocks", "has_checkbox", "is_checked", "value", "type"}
CELL = {"text", "align", "valign", "is_header"}


class _Wrong(Exception):
    pass


class _Count:
    def __init__(self) -> None:
        self.chars = 0
        self.blocks = 0

    def message(self, message: Json) -> None:
        _must(set(message) <= {"blocks", "is_rtl", "skip_entity_detection"}, "unknown field")
        _must(bool(message.get("blocks")), "RICH_MESSAGE_EMPTY")
        for block in message["blocks"]:
            self.block(block, 1)
        _must(self.chars <= MAX_CHARS, "RICH_MESSAGE_TEXT_TOO_LONG")
        _must(self.blocks <= MAX_BLOCKS, "RICH_MESSAGE_BLOCKS_TOO_MUCH")

    def block(self, block: Json, depth: int) -> None:
        kind = block.get("type")
        _must(kind in BLOCKS, f"unknown block {kind}")
        must, may = BLOCKS[str(kind)]
        _must(must <= set(block) - {"type"} <= must | may, f"fields of {kind}")
        self.blocks += 1
        if "text" in block:
            _must(visible(said(block["text"])), f"{kind} is empty")
            self.text(block["text"], depth + 1)
        self.formula(block.get("expression"))
        for inner in block.get("blocks", ()):
            self.block(inner, depth + 1)
        for item in _filled(block, "items"):
            self.item(item, depth + 1)
        for row in _filled(block, "cells"):
            self.row(row, depth + 1)
        _must(kind != "heading" or block["size"] in range(1, 7), "size of a heading")
        _must(kind != "blockquote" or bool(block["blocks"]), "blockquote is empty")

    def item(self, item: Json, depth: int) -> None:
        _must(set(item) <= ITEM and bool(item.get("blocks")), "item")
        _must(item.get("type", "1") in {"1", "a", "A", "i", "I"}, "label of an item")
        self.blocks += 1
        for block in item["blocks"]:
            self.block(block, depth + 1)

    def row(self, row: Sequence[Json], depth: int) -> None:
        _must(0 < len(row) <= MAX_COLUMNS, "RICH_MESSAGE_TABLE_COLUMNS_TOO_MUCH")
        self.blocks += 1
        for cell in row:
            _must(CELL - {"is_header"} <= set(cell) <= CELL, "fields of a cell")
            _must(cell["align"] in {"left", "center", "right"}, "align")
            self.text(cell["text"], depth + 1)

    def text(self, text: Any, depth: int) -> None:
        _must(depth <= MAX_DEPTH, "RICH_MESSAGE_DEPTH")
        if isinstance(text, str):
            self.chars += len(text)
        elif isinstance(text, list):
            for piece in cast("list[Any]", text):
                _must(piece != "", "an empty piece")
                self.text(piece, depth)
        else:
            self.styled(text, depth)

    def styled(self, text: Json, depth: int) -> None:
        kind = text.get("type")
        if kind == "mathematical_expression":
            _must(set(text) == {"type", "expression"}, "fields of a formula")
            self.formula(text["expression"])
            return
        _must(kind in STYLES or kind == "url", f"unknown text {kind}")
        _must(
            set(text) == ({"type", "text", "url"} if kind == "url" else {"type", "text"}), f"fields of {kind}"
        )
        _must(kind != "url" or WEB.fullmatch(text["url"]) is not None, "wrong url")
        _must(said(text["text"]) != "", f"{kind} is empty")
        self.text(text["text"], depth + 1)

    def formula(self, expression: str | None) -> None:
        if expression is not None:
            _must(bool(expression.strip()), "formula is empty")
            self.chars += len(expression)


def rich_fault(message: Any) -> str | None:
    """Why Telegram refuses this InputRichMessage, or None."""
    if not isinstance(message, Mapping):
        return "object expected as rich message"
    try:
        _Count().message(cast("Json", message))
    except _Wrong as wrong:
        return f"can't parse rich message: {wrong}"
    return None


def said(value: Any) -> str:
    """What people read of a rich message, a block or a text, in order, a line for each block; addresses too."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(said(one) for one in cast("list[Any]", value))
    found = cast("Json", value)
    lines = [said(block) for block in found.get("blocks", ())]
    lines += [
        f"{item['value']}. {said(item)}" if "value" in item else said(item) for item in found.get("items", ())
    ]
    lines += [" | ".join(said(cell["text"]) for cell in row) for row in found.get("cells", ())]
    own = said(found.get("text", "")) + str(found.get("expression", ""))
    address = f" {found['url']} " if "url" in found else ""
    return (
        f"{found.get('language', '')} " * ("language" in found)
        + own
        + address
        + "".join(f"{line}\n" for line in lines)
    )


def _filled(block: Json, field: str) -> Sequence[Any]:
    """Raises: _Wrong: there, and empty."""
    _must(block.get(field) != [], f"{field} is empty")
    return block.get(field, ())


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise _Wrong(what)
