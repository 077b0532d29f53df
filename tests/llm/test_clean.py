import pytest

from infra.clean import clean
from llm.clean import BLANK, clean_messages
from llm.request import Message


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        (
            "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}\N{RIGHT-TO-LEFT MARK}",
            "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}\N{RIGHT-TO-LEFT MARK}",
        ),
        ("a\0b", "ab"),
        ("half \ud83d here", "half � here"),
        ("pair \ud83d\ude00 joined", "pair 😀 joined"),
        ("\ude00\ud83d", "��"),
        ("", ""),
    ],
)
def test_text_becomes_what_utf8_can_carry(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_messages_of_one_role_in_a_row_become_one() -> None:
    messages = (Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("user", "d"))

    assert clean_messages(messages) == (
        Message("user", "a\n\nb"),
        Message("assistant", "c"),
        Message("user", "d"),
    )


def test_a_message_without_a_visible_character_is_not_sent_blank() -> None:
    assert clean_messages((Message("user", "\0 \n"),)) == (Message("user", BLANK),)


def test_a_beginning_for_the_model_does_not_end_in_white_space() -> None:
    messages = (Message("user", "a"), Message("assistant", "so far \n"))

    assert clean_messages(messages)[-1] == Message("assistant", "so far")


def test_no_messages_stay_no_messages() -> None:
    assert clean_messages(()) == ()
