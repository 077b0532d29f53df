"""A line being typed, and how it looks."""

import pytest

from cli.line import Line, view

FAMILY = "👩‍👩‍👧‍👦"


def typed(text: str, *keys: str) -> Line:
    line = Line().typed(text)
    for key in keys:
        line = line.pressed(key)
    return line


@pytest.mark.parametrize(
    ("line", "text", "cursor"),
    [
        pytest.param(typed("ab", "backspace"), "a", 1, id="backspace takes the last character"),
        pytest.param(typed(f"a{FAMILY}", "backspace"), "a", 1, id="backspace takes a family whole"),
        pytest.param(
            typed(f"{FAMILY}b", "home", "right"), f"{FAMILY}b", len(FAMILY), id="right steps over a family"
        ),
        pytest.param(typed(f"{FAMILY}b", "home", "delete"), "b", 0, id="delete takes a family whole"),
        pytest.param(typed("one two ", "cut_word"), "one ", 4, id="ctrl-w cuts a word with its space"),
        pytest.param(
            typed("one two", "left", "left", "left", "cut_to_end"), "one ", 4, id="ctrl-k cuts to the end"
        ),
        pytest.param(typed("one two", "left", "cut_to_start"), "o", 0, id="ctrl-u cuts to the start"),
        pytest.param(typed("ab", "home", "left"), "ab", 0, id="nothing is left of the start"),
        pytest.param(typed("ab", "right"), "ab", 2, id="nothing is right of the end"),
        pytest.param(typed("", "backspace"), "", 0, id="nothing to take from nothing"),
        pytest.param(typed("ab", "f12"), "ab", 2, id="an unknown key changes nothing"),
    ],
)
def test_a_key_changes_the_line(line: Line, text: str, cursor: int) -> None:
    assert line == Line(text, cursor)


def test_typing_puts_text_in_at_the_cursor() -> None:
    assert typed("ac", "left").typed("b") == Line("abc", 2)


def test_a_line_wraps_below_its_prompt() -> None:
    seen = view(typed("abcdefgh"), prompt="> ", width=7, height=9)

    assert seen.rows == ("> abcd", "  efgh")
    assert (seen.row, seen.column) == (1, 6)


def test_wide_characters_never_cross_the_edge() -> None:
    seen = view(typed("日本語"), prompt="> ", width=7, height=9)

    assert seen.rows == ("> 日本", "  語")


def test_a_line_end_begins_a_row_and_control_characters_are_not_drawn() -> None:
    seen = view(typed("a\nb\x1b"), prompt="> ", width=20, height=9)

    assert seen.rows == ("> a", "  b·")


def test_of_a_long_paste_the_rows_around_the_cursor_are_shown() -> None:
    seen = view(typed("x" * 100_000), prompt="> ", width=42, height=5)

    assert len(seen.rows) == 5
    assert (seen.row, len(seen.rows[0])) == (4, 41)
