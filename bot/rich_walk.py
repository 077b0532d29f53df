"""From event to event through a Markdown text, into the blocks of a rich message. Pure.

Blocks and texts are Telegram's InputRichBlock and RichText (Bot API 10.2), as plain values. None of them holds media: a
picture is a link to it, and what the model wrote as HTML is text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bot.code_file import fence
from bot.links import openable, told
from bot.markdown import named
from bot.rich_text import Json, one_text, plain_of, trimmed
from bot.source import BREAK, Events
from bot.split import PART_UNITS, units_of, visible
from bot.walk import NUMBER, PICTURE, SPOILER, STYLES

NOT_BEHIND = ("mailto:", "tel:")
"""Addresses for which a rich text has types of their own; they stand beside their text."""


@dataclass(frozen=True, slots=True)
class _Link:
    url: str
    title: str


class RichWalk:
    """What each event of the parser makes."""

    def __init__(self, source: bytes) -> None:
        self.blocks: list[Json] = []
        self.fits = True
        """False: something in it is better shown as an ordinary message."""
        self.gains = False
        """It has what an ordinary message can only imitate: a table, heading, nested list or formula."""
        self.drawn: list[str] = []
        """Addresses that are their own text."""
        self._source = source
        self._start = 0
        self._open: list[list[Json]] = [self.blocks]
        """Blocks of the open quotes and items, the innermost last."""
        self._texts: list[list[Any]] = []
        """Pieces of the open texts, the innermost last; none: the next piece begins a paragraph."""
        self._holds = ""
        """heading or cell, while one is open: then no block can be in there."""
        self._lists: list[list[Json]] = []
        """Items of the open lists."""
        self._numbered: list[bool] = []
        """For each of them."""
        self._items: list[Json] = []
        self._rows: list[list[Json]] = []
        self._sides: Sequence[str] = ()
        self._links: list[_Link] = []
        self._behind: list[str] = []
        self._code: list[str] | None = None
        self._language = ""

    def run(self, events: Events) -> None:
        """All of them."""
        for event, place in events:
            self._start = place["start"]
            name, value = named(event)
            if name in {"Start", "End"}:
                tag, value = named(value)
                handle = (BEGINS if name == "Start" else ENDS).get(tag)
                value = tag if tag in STYLES else value
            else:
                handle = INLINE.get(name)
            if handle is not None:
                handle(self, value)

    # ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────
    def add(self, block: Json) -> None:
        """It ends the paragraph before it."""
        self.paragraph_end()
        self._open[-1].append(block)

    def paragraph_end(self, _: Any = None) -> None:
        if self._holds or len(self._texts) != 1:
            return
        pieces = trimmed(self._texts.pop())
        if visible(plain_of(pieces)):
            self._open[-1].append({"type": "paragraph", "text": one_text(pieces)})

    def heading(self, _: Any) -> None:
        self.paragraph_end()
        self._texts.append([])
        self._holds, self.gains = "heading", True

    def heading_end(self, level: Any) -> None:
        pieces, self._holds = self._texts.pop(), ""
        if visible(plain_of(pieces)):
            self.add({"type": "heading", "text": one_text(pieces), "size": int(level[1:])})

    def rule(self, _: Any) -> None:
        self.add({"type": "divider"})

    def quote(self, _: Any) -> None:
        self.paragraph_end()
        self._open.append([])

    def quote_end(self, _: Any) -> None:
        self.paragraph_end()
        if blocks := self._open.pop():
            self.add({"type": "blockquote", "blocks": blocks})

    def list_begin(self, number: Any) -> None:
        self.paragraph_end()
        self.gains = self.gains or bool(self._lists)
        self._lists.append([])
        self._numbered.append(number is not None)

    def list_end(self, _: Any) -> None:
        self._numbered.pop()
        self.add({"type": "list", "items": self._lists.pop()})

    def item(self, _: Any) -> None:
        """Numbers are those of the source, in whatever order."""
        item: Json = {"blocks": []}
        if self._numbered[-1]:
            number = NUMBER.match(self._source, self._start)
            self.fits = self.fits and number is not None
            item |= {"value": int(number[0][:-1]) if number else 0, "type": "1"}
        self._items.append(item)
        self._open.append(item["blocks"])

    def item_end(self, _: Any) -> None:
        self.paragraph_end()
        if not self._open.pop():
            self.fits = False
        self._lists[-1].append(self._items.pop())

    def task(self, checked: Any) -> None:
        self._items[-1] |= {"has_checkbox": True, **({"is_checked": True} if checked else {})}

    def code_block(self, kind: Any) -> None:
        info = cast("Mapping[str, str]", kind)["Fenced"] if isinstance(kind, Mapping) else ""
        language, rest = fence(info)
        self.paragraph_end()
        if rest:
            self.add({"type": "paragraph", "text": rest})
        self._code, self._language = [], language

    def code_block_end(self, _: Any) -> None:
        code = "".join(self._code or []).removesuffix("\n")
        self._code = None
        if units_of(code) > PART_UNITS:  # becomes a file
            self.fits = False
        language = {"language": self._language} if self._language else {}
        if visible(code):
            self.add({"type": "pre", "text": code, **language})
        elif code or language:
            self.fits = False

    # ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────
    def table(self, sides: Any) -> None:
        self.paragraph_end()
        self._sides, self._rows, self.gains = sides, [], True

    def table_end(self, _: Any) -> None:
        self.add({"type": "table", "cells": self._rows, "is_bordered": True})

    def row(self, _: Any) -> None:
        self._rows.append([])

    def cell(self, _: Any) -> None:
        self._texts.append([])
        self._holds = "cell"

    def cell_end(self, _: Any) -> None:
        pieces, self._holds = self._texts.pop(), ""
        row = self._rows[-1]
        side = self._sides[len(row)].lower() if len(row) < len(self._sides) else "none"
        cell: Json = {
            "text": one_text(pieces), "align": "left" if side == "none" else side, "valign": "middle",
        }  # fmt: skip
        row.append({**cell, "is_header": True} if len(self._rows) == 1 else cell)

    # ── within a line ────────────────────────────────────────────────────────────────────────────────────────────
    def put(self, piece: Any) -> None:
        """A string, or one of Telegram's RichTexts."""
        if not self._texts:
            self._texts.append([])
        if piece != "":
            self._texts[-1].append(piece)

    def text(self, text: Any) -> None:
        if self._code is not None:
            self._code.append(text)
            return
        if self._holds != "cell" and SPOILER.search(text):
            self.fits = False
        self.put(text)

    def tag(self, tag: Any) -> None:
        """HTML that bot.source left: line breaks in cells."""
        self.put("\n" if BREAK.fullmatch(tag) else tag)

    def line_end(self, _: Any) -> None:
        self.put("\n")

    def style(self, _: Any) -> None:
        self.put("")
        self._texts.append([])

    def style_end(self, tag: Any) -> None:
        if pieces := self._texts.pop():
            self.put({"type": STYLES[tag], "text": one_text(pieces)})

    def code(self, code: Any) -> None:
        self.put({"type": "code", "text": code})

    def formula(self, tex: Any) -> None:
        self.gains = True
        self.put({"type": "mathematical_expression", "expression": tex} if tex.strip() else f"${tex}$")

    def formula_block(self, tex: Any) -> None:
        if self._holds or len(self._texts) > 1 or not tex.strip():
            self.formula(tex)
            return
        self.gains = True
        self.add({"type": "mathematical_expression", "expression": tex.strip("\n")})

    def link(self, link: Any) -> None:
        self.put("")
        self._links.append(_Link(link["dest_url"], link["title"]))
        self._texts.append([])

    def image(self, link: Any) -> None:
        """Named and linked, never shown: Telegram would fetch it from wherever the model says."""
        self.put(PICTURE)
        self.link(link)

    def link_end(self, _: Any) -> None:
        link, pieces = self._links.pop(), self._texts.pop()
        if self._links:
            self._behind.append(link.url)
            self._put_all(pieces)
        else:
            self._address(link.url, pieces)
        self.put(f" ({link.title})" if link.title else "")
        if not self._links:
            self.put("".join(f" ({url})" for url in self._behind))
            self._behind = []

    def _address(self, url: str, pieces: list[Any]) -> None:
        """Behind the text if Telegram opens it from there, else beside it."""
        text = plain_of(pieces)
        if told(text, url):
            self.drawn.append(url)
            self._put_all(pieces)
        elif not visible(text):
            self.put(url)
        elif openable(url) and not url.lower().startswith(NOT_BEHIND):
            self.put({"type": "url", "text": one_text(pieces), "url": url})
        else:
            self._put_all([*pieces, f" ({url})"])

    def _put_all(self, pieces: Sequence[Any]) -> None:
        for piece in pieces:
            self.put(piece)


type Handlers = Mapping[str, Callable[[RichWalk, Any], None]]

BEGINS: Handlers = {
    "BlockQuote": RichWalk.quote,
    "CodeBlock": RichWalk.code_block,
    "Heading": RichWalk.heading,
    "Image": RichWalk.image,
    "Item": RichWalk.item,
    "Link": RichWalk.link,
    "List": RichWalk.list_begin,
    "Paragraph": RichWalk.paragraph_end,
    "Table": RichWalk.table,
    "TableCell": RichWalk.cell,
    "TableHead": RichWalk.row,
    "TableRow": RichWalk.row,
    **dict.fromkeys(STYLES, RichWalk.style),
}
ENDS: Handlers = {
    "BlockQuote": RichWalk.quote_end,
    "CodeBlock": RichWalk.code_block_end,
    "Heading": RichWalk.heading_end,
    "Image": RichWalk.link_end,
    "Item": RichWalk.item_end,
    "Link": RichWalk.link_end,
    "List": RichWalk.list_end,
    "Paragraph": RichWalk.paragraph_end,
    "Table": RichWalk.table_end,
    "TableCell": RichWalk.cell_end,
    **dict.fromkeys(STYLES, RichWalk.style_end),
}
INLINE: Handlers = {
    "Code": RichWalk.code,
    "DisplayMath": RichWalk.formula_block,
    "HardBreak": RichWalk.line_end,
    "Html": RichWalk.tag,
    "InlineHtml": RichWalk.tag,
    "InlineMath": RichWalk.formula,
    "Rule": RichWalk.rule,
    "SoftBreak": RichWalk.line_end,
    "TaskListMarker": RichWalk.task,
    "Text": RichWalk.text,
}
