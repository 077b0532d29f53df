"""Lines as they are written: what stands before each of them (indentation, bullets), and the styles that are open. Pure."""

from bot.page import Page

MOST_INDENTS = 5


class Lines:
    """Writes on a page. Whatever ends a line leaves the indentation of the next one to what comes there."""

    def __init__(self) -> None:
        self.body = self.page = Page()
        self._fresh = True
        """Nothing was written in this line but what stands before a text."""
        self._prefix = ""
        self._outer: list[str] = []
        """Prefixes to return to."""
        self._marker = ""
        """The bullet whose text has not begun."""
        self._breaks = False
        """What follows stands on a new line."""
        self._styles: list[tuple[str, int | None]] = []

    @property
    def in_cell(self) -> bool:
        """A table's cell is a page of its own, of one line."""
        return self.page is not self.body

    @property
    def waits(self) -> bool:
        """Whether a bullet waits for its text."""
        return bool(self._marker)

    # ── between lines ────────────────────────────────────────────────────────────────────────────────────────────
    def block(self, *, after_blank: bool) -> None:
        """A block begins: on a new line, unless the line holds nothing but a bullet; maybe after a blank one."""
        self._breaks = False
        if self._marker:
            self.line()
        if not self._fresh:
            self.page.write("\n" * max(0, (2 if after_blank else 1) - self.page.line_ends))

    def line(self) -> None:
        """Write what stands before a text: the end of the last line, indentation, the bullet."""
        if self.in_cell:
            return
        if self._breaks:
            self.page.write("\n")
            self._breaks = False
        if not self.page.size or self.page.line_ends:
            self.page.write(self._outer[-1] if self._marker else self._prefix)
            self._fresh = True
        if self._marker:
            self.page.write(self._marker)
            self._marker, self._fresh = "", True

    def ends(self) -> None:
        """The line ends here."""
        if self.in_cell:
            self.page.write(" ")
        elif not self._breaks:
            self.line()
            self.page.write("\n")

    def alone(self) -> None:
        """What comes stands on a line of its own: `breaks` ends it."""
        self.line()
        if not self._fresh:
            self.page.write("\n")

    def breaks(self) -> None:
        """Whatever is written next stands on a new line."""
        self._breaks = True

    def indent(self, more: str) -> None:
        """Further lines begin with this too; not deeper than a phone is wide."""
        self._outer.append(self._prefix)
        if len(self._outer) <= MOST_INDENTS:
            self._prefix += more

    def outdent(self) -> None:
        if self._marker:
            self.line()
        self._prefix = self._outer.pop()

    def bullet(self, marker: str, indent: str) -> None:
        """An item begins."""
        self._marker = marker
        self.indent(indent)

    def instead(self, marker: str) -> None:
        """Another bullet than the one that waits."""
        self._marker = marker

    # ── within a line ────────────────────────────────────────────────────────────────────────────────────────────
    def put(self, text: str) -> None:
        if text:
            self.line()
            self.page.write(text)
            self._fresh = False

    def marked(self, kind: str, text: str, **more: str) -> None:
        """A text and an entity over it."""
        self.line()
        start = self.page.size
        self.page.write(text)
        self.page.mark(kind, start, **more)
        self._fresh = self._fresh and not text

    def put_page(self, page: Page) -> None:
        """All of another page, as it stands."""
        self.line()
        self.page.append(page)
        self._fresh = self._fresh and not page.size

    def open(self, style: str) -> None:
        self.line()
        is_open = any(name == style and start is not None for name, start in self._styles)
        self._styles.append((style, None if is_open else self.page.size))

    def close(self) -> None:
        """The style that was opened last."""
        style, start = self._styles.pop()
        if start is not None:
            self.page.mark(style, start)
