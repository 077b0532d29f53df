"""Which words count, without knowing the language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.terms import length_weight, terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the weaknesses of a journalist", "his weakness as journalists"),
        ("die Lieferungen verzögerten sich", "eine Lieferung verzögert"),
        ("посылку доставили", "посылка доставлена"),
        ("我的包裹在哪里", "包裹已经到了"),
        ("荷物はどこですか", "荷物が届いた"),
        ("소포가 도착했다", "소포는 어디에"),
        ("พัสดุอยู่ที่ไหน", "พัสดุมาถึงแล้ว"),
        ("الطرود وصلت", "الطرود هنا"),
    ],
    ids=["English", "German", "Russian", "Chinese", "Japanese", "Korean", "Thai", "Arabic"],
)
def test_inflected_words_meet_in_any_language(one: str, other: str) -> None:
    shared = set(terms(one)[0]) & set(terms(other)[0])

    assert any(length_weight(term) == 1 for term in shared)


def test_what_names_something_has_a_capital_inside_the_sentence_or_a_digit() -> None:
    found, names = terms("Where did UPS leave parcel 1Z999AA10, says Anna?")

    assert names == {"ups", "1z999aa10", "anna"}
    assert found == ["where", "did", "ups", "leave", "parce", "1z999aa10", "says", "anna"]


def test_each_term_stands_once_and_mixed_text_is_taken_apart() -> None:
    assert terms("Docker 容器 docker")[0] == ["docke", "容器"]
    assert terms("ＡＢＣ12 ß")[0] == ["abc12", "ß"]


def test_short_words_count_little_except_where_they_are_whole_words() -> None:
    assert length_weight("of") < length_weight("cat") < length_weight("code") < length_weight("parce")
    assert length_weight("7") == length_weight("包裹") == 1


@given(st.text(max_size=80))
def test_any_text_has_terms_without_spaces(text: str) -> None:
    found, names = terms(text)

    assert len(set(found)) == len(found)
    assert names <= set(found)
    assert not any(term.split() != [term] for term in found)
