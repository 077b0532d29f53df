"""A table as people can read it on a phone. Pure."""

import unicodedata
from collections.abc import Sequence

from bot.page import Page

COLUMNS = 40
"""What a phone shows of a monospaced line, about."""
SEPARATOR = " | "
MOST_GROWTH, GROWTH_CHARS = 3, 1_000
"""The headings before every value must not make a table longer than so many times its own text, and this."""

type Row = Sequence[Page]


def write_table(page: Page, rows: Sequence[Row], sides: Sequence[str]) -> None:
    """The first row is the heading. sides: per column "None", "Left", "Center" or "Right".

    Aligned and monospaced if it is narrow; else a line "heading: value" for each value, which keeps links and styles; or a
    line per row, if the headings would take over.
    """
    lines = None if any(_is_rich(cell) for row in rows for cell in row) else _aligned(rows, sides)
    start = page.size
    if lines is not None:
        page.write("\n".join(lines))
        page.mark("table", start)
        return
    own = sum(cell.size for row in rows for cell in row)
    listed = sum(cell.size for cell in rows[0]) * (len(rows) - 1) + own
    if len(rows) == 1 or listed > MOST_GROWTH * own + GROWTH_CHARS:
        _write_rows(page, rows)
    else:
        _write_list(page, rows[0], rows[1:])


def _is_rich(cell: Page) -> bool:
    """Monospaced text would break or lose what is in it."""
    return "\n" in cell.text or any(e["type"] in {"text_link", "spoiler"} for e in cell.entities)


def _aligned(rows: Sequence[Row], sides: Sequence[str]) -> list[str] | None:
    """The lines; None if they are too wide."""
    texts = [[cell.text.strip() for cell in row] for row in rows]
    count = max(map(len, texts))
    widths = [max(_width(row[i]) if i < len(row) else 0 for row in texts) for i in range(count)]
    if sum(widths) + len(SEPARATOR) * (count - 1) > COLUMNS:
        return None
    lines: list[str] = []
    for row in texts:
        cells = [_padded(row[i] if i < len(row) else "", widths[i], sides[i:]) for i in range(count)]
        lines.append(SEPARATOR.join(cells).rstrip())
    if len(lines) > 1:
        lines.insert(1, "-+-".join("-" * width for width in widths))
    return lines


def _padded(text: str, width: int, sides: Sequence[str]) -> str:
    room = width - _width(text)
    match sides[0] if sides else "None":
        case "Right":
            return " " * room + text
        case "Center":
            return " " * (room // 2) + text + " " * (room - room // 2)
        case _:
            return text + " " * room


def _width(text: str) -> int:
    """Columns of a monospaced font."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def _write_list(page: Page, heading: Row, rows: Sequence[Row]) -> None:
    for number, row in enumerate(rows):
        page.write("\n\n" if number else "")
        first = True
        for i, cell in enumerate(row):
            if not cell.text.strip():
                continue
            page.write("" if first else "\n")
            first = False
            if i < len(heading) and (name := heading[i].text.strip()):
                start = page.size
                page.write(f"{' '.join(name.split())}:")
                page.mark("bold", start)
                page.write(" ")
            page.append(cell)


def _write_rows(page: Page, rows: Sequence[Row]) -> None:
    for number, row in enumerate(rows):
        page.write("\n" if number else "")
        for i, cell in enumerate(row):
            page.write(SEPARATOR if i else "")
            page.append(cell)
