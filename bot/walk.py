"""From event to event through a Markdown text. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bot.code_file import fence
from bot.formula import readable
from bot.lines import Lines
from bot.links import openable, told
from bot.page import Page
from bot.source import BREAK
from bot.table import write_table

HEADINGS = {"H1": ("bold", "underline"), "H2": ("bold",), "H3": ("bold",)}
SMALL_HEADING = ("italic",)
STYLES = {"Strong": "bold", "Emphasis": "italic", "Strikethrough": "strikethrough"}
BULLETS = "•◦▪"
INDENT = "   "
INNER_QUOTE = "» "
PICTURE = "🖼 "
RULE = "———"
CHECKED, UNCHECKED = "☑ ", "☐ "
LONG_QUOTE_CHARS, LONG_QUOTE_LINES = 300, 6
"""A quote of more shows its beginning only, until it is tapped."""
NUMBER = re.compile(rb"\d{1,9}[.)]")
SPOILER = re.compile(r"\|\|")


@dataclass(frozen=True, slots=True)
class _Link:
    url: str
    title: str
    start: int
    """Where its text begins."""


class Walk:
    """What each event of the parser writes; bot.markdown tells which. A block, when it begins, ends the line before it."""

    def __init__(self, source: bytes) -> None:
        self.lines = Lines()
        self.drawn: list[str] = []
        self.spoilers: list[tuple[int, int]] = []
        """Where `||` stands."""
        self._source = source
        self._start = 0
        """Where in the source the event stands."""
        self._block_start = -1
        """Where the last block began."""
        self._numbered: list[bool] = []
        """For each open list."""
        self._quotes: list[int] = []
        """Where the open ones begin on the page."""
        self._links: list[_Link] = []
        self._behind: list[str] = []
        """Addresses of pictures within a link."""
        self._sides: Sequence[str] = ()
        self._rows: list[list[Page]] = []
        """Of the open table."""
        self._code: list[str] | None = None
        self._language = ""

    def at(self, start: int) -> None:
        """Where in the source the next event stands."""
        self._start = start

    # ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────
    def block(self, _: Any = None) -> None:
        self.lines.block(after_blank=self._after_blank_line())
        self._block_start = self._start

    def _after_blank_line(self) -> bool:
        """Whether a blank line stands before the block, signs of quotes and indentation aside."""
        ends, at = 0, self._start - 1
        while at > self._block_start and self._source[at] in b" \t>\n":
            ends += self._source[at] == ord("\n")
            if ends > 1:
                return True
            at -= 1
        return False

    def paragraph(self, _: Any) -> None:
        """The first one of an item stands behind the bullet."""
        if self.lines.waits:
            self._block_start = self._start
        else:
            self.block()

    def heading(self, value: Any) -> None:
        self.block()
        for style in HEADINGS.get(value["level"], SMALL_HEADING):
            self.lines.open(style)

    def heading_end(self, level: Any) -> None:
        for _ in HEADINGS.get(level, SMALL_HEADING):
            self.lines.close()

    def rule(self, _: Any) -> None:
        self.block()
        self.lines.put(RULE)

    def list_begin(self, number: Any) -> None:
        self.block()
        self._numbered.append(number is not None)

    def list_end(self, _: Any) -> None:
        self._numbered.pop()

    def item(self, _: Any) -> None:
        self.block()
        number = NUMBER.match(self._source, self._start) if self._numbered[-1] else None
        bullet = number[0].decode() if number else BULLETS[min(len(self._numbered), len(BULLETS)) - 1]
        self.lines.bullet(f"{bullet} ", INDENT)

    def item_end(self, _: Any) -> None:
        self.lines.outdent()

    def task(self, checked: Any) -> None:
        self.lines.instead(CHECKED if checked else UNCHECKED)

    def quote(self, _: Any) -> None:
        self.block()
        if self._quotes:
            self.lines.indent(INNER_QUOTE)
        else:
            self.lines.line()
        self._quotes.append(self.lines.page.size)

    def quote_end(self, _: Any) -> None:
        start = self._quotes.pop()
        if self._quotes:
            self.lines.outdent()
            return
        said = self.lines.page.since(start)
        is_long = len(said) > LONG_QUOTE_CHARS or said.count("\n") >= LONG_QUOTE_LINES
        self.lines.page.mark("expandable_blockquote" if is_long else "blockquote", start)

    def code_block(self, kind: Any) -> None:
        """What is written behind the language, other than hints for a compiler, is shown above the code."""
        self.block()
        info = cast("Mapping[str, str]", kind)["Fenced"] if isinstance(kind, Mapping) else ""
        language, rest = fence(info)
        self._code, self._language = [], language
        self.lines.put(rest)

    def code_block_end(self, _: Any) -> None:
        code = "".join(self._code or []).removesuffix("\n")
        self._code = None
        if code:
            self.lines.alone()
            self.lines.marked("pre", code, language=self._language)

    # ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────
    def table(self, sides: Any) -> None:
        self.block()
        self.lines.line()
        self._sides, self._rows = sides, []

    def table_end(self, _: Any) -> None:
        written = Page()
        write_table(written, self._rows, self._sides)
        self.lines.put_page(written)

    def row(self, _: Any) -> None:
        self._rows.append([])

    def cell(self, _: Any) -> None:
        self.lines.page = Page()

    def cell_end(self, _: Any) -> None:
        self._rows[-1].append(self.lines.page)
        self.lines.page = self.lines.body

    # ── within a line ────────────────────────────────────────────────────────────────────────────────────────────
    def text(self, text: Any) -> None:
        if self._code is not None:
            self._code.append(text)
            return
        self.lines.line()
        at = self.lines.page.size
        self.lines.put(text)
        if not self.lines.in_cell:
            self.spoilers += [(at + found.start(), at + found.end()) for found in SPOILER.finditer(text)]

    def tag(self, tag: Any) -> None:
        """HTML that bot.source left: line breaks in cells."""
        if BREAK.fullmatch(tag) and self.lines.in_cell:
            self.lines.page.write("\n")
        else:
            self.lines.put(tag)

    def line_end(self, _: Any) -> None:
        self.lines.ends()

    def style(self, tag: Any) -> None:
        self.lines.open(STYLES[tag])

    def style_end(self, _: Any) -> None:
        self.lines.close()

    def code(self, code: Any) -> None:
        self.lines.marked("code", code)

    def formula(self, tex: Any) -> None:
        shown = readable(tex)
        if shown is None:
            self.lines.marked("code", tex)
        else:
            self.drawn.append(tex)
            self.lines.put(" ; ".join(shown.splitlines()))

    def formula_block(self, tex: Any) -> None:
        if self.lines.in_cell:
            self.formula(tex)
            return
        self.lines.alone()
        shown = readable(tex)
        if shown is None:
            self.lines.marked("pre", tex.strip("\n"), language="latex")
        else:
            self.drawn.append(tex)
            self.lines.put(shown)
        self.lines.breaks()

    def link(self, link: Any) -> None:
        self.lines.line()
        self._links.append(_Link(link["dest_url"], link["title"], self.lines.page.size))

    def image(self, link: Any) -> None:
        self.lines.put(PICTURE)
        self.link(link)

    def link_end(self, _: Any) -> None:
        link = self._links.pop()
        if self._links:
            self._behind.append(link.url)
        else:
            self._address(link)
        self.lines.put(f" ({link.title})" if link.title else "")
        if not self._links:
            self.lines.put("".join(f" ({url})" for url in self._behind))
            self._behind = []

    def _address(self, link: _Link) -> None:
        """Behind the text if Telegram opens it from there, else beside it."""
        text = self.lines.page.since(link.start)
        if told(text, link.url):
            self.drawn.append(link.url)
        elif not text.strip():
            self.lines.put(link.url)
        elif openable(link.url):
            self.lines.page.mark("text_link", link.start, url=link.url)
        else:
            self.lines.put(f" ({link.url})")
