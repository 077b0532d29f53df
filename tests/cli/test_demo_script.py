"""The demo's model knows nothing that it was not given."""

import pytest

from cli.demo_script import TRACKING, answer_to
from llm.request import Message, ModelRequest


def asked(text: str, language: str = "en") -> str:
    return answer_to(ModelRequest("", (Message("user", text),), 100, language))


def test_asked_for_the_parcel_it_finds_it() -> None:
    assert TRACKING in asked("Check where the Chemitek parcel is")


@pytest.mark.parametrize("text", ["It should come Wednesday", "Where is my parcel?"])
def test_it_knows_of_the_parcel_only_from_what_it_is_given(text: str) -> None:
    assert TRACKING not in asked(text)
    assert "Wednesday is what UPS says" in asked(f"UPS {TRACKING}\n\n{text}")


def test_it_speaks_german() -> None:
    assert asked("?", "de").startswith("Ich weiß von")
