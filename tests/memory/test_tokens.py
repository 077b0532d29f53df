"""The estimate is near what large tokenizers count. Right values counted with o200k_base."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tokens import estimate_tokens

COUNTED = [
    ("English", "Each wire type carries a version, and a released field is never reinterpreted by later code.", 20),
    ("German", "Das Chemitek-Paket ist laut UPS unterwegs, die voraussichtliche Zustellung ist Mittwoch, der 09.04. "
               "zwischen 9 und 12 Uhr.", 34),
    ("Russian", "Посылка уже в пути, доставка ожидается в среду девятого апреля между девятью и двенадцатью часами.", 30),
    ("Chinese", "包裹已经在路上了，预计星期三，也就是四月九日上午九点到十二点之间送达。", 27),
    ("code", "def ms(duration: timedelta) -> int:\n    return duration // timedelta(milliseconds=1)\n", 18),
    ("JSON", '{"id":"8f3a","status":"in_transit","eta":"2026-04-09T12:00:00+02:00","qty":2,"price":19.99}', 43),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "tokens"), COUNTED, ids=[kind for kind, _, _ in COUNTED])
def test_the_estimate_is_within_a_quarter_of_the_count(kind: str, text: str, tokens: int) -> None:
    assert estimate_tokens(text) == pytest.approx(tokens, rel=0.25)


def test_only_nothing_has_no_tokens() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == 1
    assert estimate_tokens("👍") >= 1
    assert estimate_tokens("\ud83d") == 1


def test_longer_text_has_more_tokens() -> None:
    assert estimate_tokens("Paket " * 2000) == 2 * estimate_tokens("Paket " * 1000)


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("cat", "internationalisation"),
        ("cat", "кот"),
        ("ab", "a b"),
        ("123", "1234"),
        ("!!", "!!!"),
        ("a b", "a\nb"),
        ("a b", "a    b"),
        ("get", "getName"),
        ("好", "好的"),
        ("кот", "достопримечательность"),
        ("para", "przyszłość"),
        ("a", "a 👍"),
    ],
)  # fmt: skip
def test_what_costs_more_is_estimated_higher(shorter: str, longer: str) -> None:
    assert estimate_tokens(longer * 20) > estimate_tokens(shorter * 20)


@given(st.text())
def test_any_text_has_between_none_and_four_tokens_for_each_byte(text: str) -> None:
    assert bool(text) <= estimate_tokens(text) <= 1 + 4 * len(text.encode("utf-8", "replace"))


@given(st.text(), st.text())
def test_the_tokens_of_two_texts_are_about_those_of_both_together(one: str, other: str) -> None:
    apart = estimate_tokens(one) + estimate_tokens(other)

    assert estimate_tokens(f"{one}\n{other}") == pytest.approx(apart, rel=0.35, abs=6)


@pytest.mark.parametrize("kind", ["German", "Russian", "Chinese", "JSON"])
def test_a_text_has_no_more_tokens_than_its_sentences_summed_up(kind: str) -> None:
    sentence = next(text for name, text, _ in COUNTED if name == kind)

    assert estimate_tokens(" ".join(["Und " + sentence] * 20)) <= 20 * (
        estimate_tokens(f"Und {sentence}") + 0.5
    )
