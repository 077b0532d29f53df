import pytest

from infra.clean import clean
from llm.clean import BLANK, clean_messages
from llm.request import Message, ToolResult, ToolUse, Verbatim


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


LOOK = ToolUse("1", "look", "{}")
FOUND = ToolResult("1", "it\0")


def test_a_tool_call_keeps_its_result_and_neither_needs_a_text() -> None:
    messages = (Message("user", "a"), Message("assistant", uses=(LOOK,)), Message("user", results=(FOUND,)))

    assert clean_messages(messages) == (*messages[:2], Message("user", results=(ToolResult("1", "it"),)))


def test_a_call_without_its_result_and_a_result_without_its_call_are_left_out() -> None:  # C26
    orphaned = (
        Message("user", "a", results=(FOUND,)),
        Message("assistant", "b", uses=(LOOK,)),
        Message("user", "c"),
    )
    last = (Message("user", "a"), Message("assistant", uses=(LOOK,)))

    assert clean_messages(orphaned) == (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    assert clean_messages(last) == (Message("user", "a"), Message("assistant", BLANK))


def test_messages_that_are_joined_keep_all_their_calls_and_results() -> None:
    other, its = ToolUse("2", "look", "{}"), ToolResult("2", "")
    messages = (
        Message("user", "a"),
        Message("assistant", "b", uses=(LOOK,)),
        Message("assistant", uses=(other,)),
        Message("user", results=(ToolResult("1", "it"),)),
        Message("user", "c", results=(its,)),
    )

    assert clean_messages(messages)[1:] == (
        Message("assistant", "b", uses=(LOOK, other)),
        Message("user", "c", results=(ToolResult("1", "it"), its)),
    )


SAID = Verbatim("anthropic", "m", "[]")


def test_a_verbatim_answer_stays_as_long_as_all_its_calls_have_results() -> None:  # C26
    told = Message("user", results=(ToolResult("1", "it"),))
    whole = Message("assistant", uses=(LOOK,), verbatim=SAID)
    half = Message("assistant", uses=(LOOK, ToolUse("2", "look", "{}")), verbatim=SAID)

    assert clean_messages((Message("user", "a"), whole, told))[1] == whole
    assert clean_messages((Message("user", "a"), half, told))[1] == Message("assistant", uses=(LOOK,))
    assert clean_messages((Message("user", "a"), whole))[1] == Message("assistant", BLANK)


def test_answers_that_are_joined_are_not_verbatim_any_more() -> None:
    messages = (
        Message("user", "a"), Message("assistant", "b", verbatim=SAID), Message("assistant", "c"), Message("user", "d"),
    )  # fmt: skip

    assert clean_messages(messages)[1] == Message("assistant", "b\n\nc")


def test_an_answer_that_paused_stays_verbatim() -> None:
    paused = Message("assistant", "", verbatim=SAID)

    assert clean_messages((Message("user", "a"), paused))[1].verbatim == SAID
