"""Asking with buttons, and ending a conversation."""

import pytest

from tests.tools.stage import Given, call
from tools.tool import Refused

QUESTION: Given = {"question": "Which Friday?", "options": ["4 Dec", "11 Dec"]}


def test_a_question_ends_the_turn_with_its_answers() -> None:  # C44
    ran = call("ask_clarification", question=" Which Friday? ", options=["4 Dec", " 11\nDec "])

    assert (ran.then, ran.question, ran.options) == ("ask", "Which Friday?", ("4 Dec", "11 Dec"))
    assert (ran.put, ran.drop, ran.effects) == ((), (), ())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"options": ["yes"]}, "options has 1 items; it must have at least 2."),
        ({"options": list("abcdefg")}, "options has 7 items; it must have at most 6."),
        ({"options": ["yes", "x" * 41]}, "options.1 has 41 characters; it must have at most 40."),
        ({"options": ["yes", " "]}, "options.1 has 0 characters; it must have at least 1."),
        ({"options": ["yes", "YES "]}, "Two options are the same; each must be another answer."),
        ({"options": "yes or no"}, 'options is "yes or no"; it must be an array.'),
        ({"options": [1, 2]}, "options.0 is 1; it must be a string."),
        ({"question": "x" * 501}, "question has 501 characters; it must have at most 500."),
    ],
    ids=["one", "seven", "long", "blank", "twice", "a text", "numbers", "long question"],
)
def test_a_question_that_fits_no_buttons_is_refused(arguments: Given, said: str) -> None:
    with pytest.raises(Refused) as refused:
        call("ask_clarification", **QUESTION | arguments)

    assert str(refused.value) == said


def test_a_conversation_ends_and_changes_nothing_that_is_kept() -> None:
    ran = call("end_conversation")

    assert (ran.then, ran.put, ran.drop, ran.effects) == ("end", (), (), ())
