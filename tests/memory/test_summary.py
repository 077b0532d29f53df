"""A summary is never empty, within its length, and ends where a reader would end it."""

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from infra.clean import clean
from infra.cut import NOTHING, cut, shorten
from memory.summary import summarise

FAMILY = "👨‍👩‍👧‍👦"
TEXTS = st.text(
    st.sampled_from([*"ab \n\r\té1-漢字は", "\u0301", "\u200d", "\u200b", "👩", "👧", "🇩", "🇪", "\ud83d"]),
    max_size=80,
)


def graphemes_of(text: str) -> set[int]:
    return {found.end() for found in regex.finditer(r"\X", text)} | {0}


def test_an_answer_whose_first_line_has_400_characters_leaves_a_summary_cut_at_a_word() -> None:
    first_line = ("Das Paket ist unterwegs und kommt am Mittwoch. " * 9)[:400]

    summary = summarise(first_line + "\nZweite Zeile", 300)

    assert 200 < len(summary) <= 300
    assert first_line.startswith(summary)
    assert first_line[len(summary)] == " "


def test_whole_lines_are_taken_while_they_fit() -> None:
    assert summarise("one\ntwo\nthree", 9) == "one\ntwo"
    assert summarise("one\ntwo\nthree", 7) == "one\ntwo"
    assert summarise("one\n\ntwo\nthree", 6) == "one"
    assert summarise("\n \n  one\ntwo", 300) == "one\ntwo"


@pytest.mark.parametrize("reply", ["", " \n\t ", "\u200b", "\x00\x07", "\u200b\n" * 400, "\u200e" * 400])
def test_a_reply_in_which_there_is_nothing_to_see_gets_a_visible_placeholder(reply: str) -> None:
    assert summarise(reply, 300) == NOTHING


@pytest.mark.parametrize(
    ("text", "most", "left"),
    [
        ("the quick brown fox", 12, "the quick"),
        ("the quick brown fox", 15, "the quick brown"),
        ("a https://example.org/very/long/path", 20, "a https://example.or"),
        ("x" * 50, 20, "x" * 20),
        ("你好 今天天气很好我们出去玩吧", 10, "你好 今天天气很好我"),
        ("a" + FAMILY * 3, 14, "a" + FAMILY),
        (FAMILY + "a", 6, NOTHING),
        ("🇩🇪🇦🇹🇨🇭", 3, "🇩🇪"),
        ("e" + "\u0301" * 400, 300, NOTHING),
        ("Soll\r\nMittwoch\rkommen", 300, "Soll\nMittwoch\nkommen"),
    ],
)
def test_a_longer_text_ends_at_a_word_and_never_inside_a_character(text: str, most: int, left: str) -> None:
    assert cut(text, most) == left


def test_what_was_left_out_shows_when_people_read_a_shortened_text() -> None:
    assert shorten("the quick brown fox", 12) == "the quick…"
    assert shorten("the quick", 12) == "the quick"
    assert shorten("e" + "\u0301" * 40, 12) == "…"


@given(TEXTS, st.integers(1, 40))
@example("\u200b\n" + "a" * 50, 40)
@example("👩" + "\u200d👧" * 30, 12)
def test_every_summary_is_a_visible_beginning_that_breaks_no_grapheme(reply: str, most: int) -> None:
    summary = summarise(reply, most)
    whole = clean(reply)

    assert 1 <= len(summary) <= most
    assert regex.search(r"[^\p{Z}\p{C}]", summary)
    summary.encode()
    if summary != NOTHING:
        start = whole.index(summary)
        assert not regex.search(r"[^\p{Z}\p{C}]", whole[:start])
        assert start + len(summary) in graphemes_of(whole)


@given(TEXTS, st.integers(1, 40))
def test_every_cut_is_a_beginning_that_breaks_no_grapheme(text: str, most: int) -> None:
    left = cut(text, most)
    whole = clean(text).strip()

    assert len(left) <= most
    assert left == NOTHING or (whole.startswith(left) and len(left) in graphemes_of(whole))


def test_a_hundred_thousand_characters_are_cut_quickly() -> None:
    for text in ("a" * 100_000, "e" + "\u0301" * 100_000, FAMILY * 14_000, "\n" * 100_000 + "x"):
        assert len(cut(text, 4000)) <= 4000
        assert 1 <= len(summarise(text, 300)) <= 300


def test_clean_text_has_no_controls_and_no_lone_surrogates() -> None:
    assert clean("a\x00b\x07c\x7f\x1b[31m\x9b2J") == "abc[31m2J"
    assert clean("\ud83d\ude00 \ud83d!") == "😀 \ufffd!"
    assert clean("a\r\nb\rc\x0bd\te\x85\n") == "a\nb\nc\nd\te\n\n"
    assert clean("שלום 👨‍👩‍👧‍👦") == "שלום 👨‍👩‍👧‍👦"
