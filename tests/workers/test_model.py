"""/model shows who answers and why, and understands what is chosen."""

from typing import get_args

import pytest

from infra.effect import Effect
from llm.routing import Models, Why
from workers.model import (
    WHY,
    ModelState,
    Wish,
    choice_effect,
    chosen_text,
    model_buttons,
    model_text,
    not_understood_text,
    wanted_of,
    why_words,
    wish_of,
)

BOTH = Models(("sonnet", "opus"), "haiku")


def test_every_reason_has_its_words_in_both_languages() -> None:
    assert set(WHY) == set(get_args(Why.__value__))
    for why in WHY:
        assert why_words(why, "en") != why_words(why, "de")


def test_a_reason_of_another_version_has_no_words() -> None:
    assert not why_words("", "en")
    assert not why_words("moon_phase", "de")


@pytest.mark.parametrize(
    ("argument", "wish"),
    [
        ("light", "light"),
        (" Strong ", "strong"),
        ("AUTO", "auto"),
        ("leicht", "light"),
        ("stark", "strong"),
        ("automatisch", "auto"),
        ("", None),
        ("opus", None),
        ("light please", None),
    ],
)
def test_a_choice_is_understood_in_english_and_german(argument: str, wish: Wish | None) -> None:
    assert wish_of(argument) == wish


@pytest.mark.parametrize("wish", ["light", "strong"])
def test_a_choice_is_kept_for_the_chat(wish: Wish) -> None:
    effect = choice_effect("7001:5:0", wish)

    assert effect == Effect("SET", "koi:choice:7001:5:0", (wish,))
    assert wanted_of(wish) == wanted_of(wish.encode()) == wish


def test_choosing_automatic_removes_what_was_kept() -> None:
    assert choice_effect("7001:5:0", "auto") == Effect("DEL", "koi:choice:7001:5:0")
    assert wanted_of(None) is wanted_of(b"auto") is None


def test_it_shows_the_models_who_chooses_and_why_the_last_one_answered() -> None:
    state = ModelState(BOTH, "en", last_model="haiku", last_why="short_request")

    assert model_text(state) == (
        "Light model: haiku\n"
        "Strong model: sonnet, opus\n"
        "I choose by what you write: small requests go to the light model.\n"
        "The last answer here is from haiku: a small request.\n"
        "To choose: /model light, /model strong, or /model auto."
    )


def test_it_shows_what_was_chosen_in_german() -> None:
    state = ModelState(BOTH, "de", wanted="strong", last_model="sonnet")

    assert model_text(state) == (
        "Leichtes Modell: haiku\n"
        "Starkes Modell: sonnet, opus\n"
        "Du hast gewählt: stark.\n"
        "Die letzte Antwort hier ist von sonnet.\n"
        "Zum Wählen: /model leicht, /model stark oder /model automatisch."
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (ModelState(Models(("sonnet",)), "en"), "KOI_LIGHT_MODEL"),
        (ModelState(Models(("sonnet",)), "en"), "the owner of this bot can do that"),
        (ModelState(Models(("sonnet",)), "en", is_owner=True), "You can change that: set KOI_LIGHT_MODEL"),
        (ModelState(Models((), "haiku"), "en", by_plan=True), "Your plan allows no other kind."),
        (ModelState(Models(()), "en"), "answered by offline"),
    ],
    ids=["no light model", "of another", "of the owner", "plan", "offline"],
)
def test_where_there_is_no_choice_it_says_why(state: ModelState, expected: str) -> None:
    assert expected in model_text(state)
    assert expected in chosen_text(state, "light")
    assert "To choose" not in model_text(state)
    assert model_buttons(state) == ()


@pytest.mark.parametrize(
    ("wish", "expected"), [("light", "haiku"), ("strong", "sonnet"), ("auto", "I choose")]
)
def test_a_choice_is_confirmed(wish: Wish, expected: str) -> None:
    assert expected in chosen_text(ModelState(BOTH, "en"), wish)


def test_something_else_is_answered_with_what_there_is() -> None:
    text = not_understood_text(ModelState(BOTH, "en"), "gpt")

    assert text.startswith("“gpt” is none of the kinds I know.")
    assert "Strong model: sonnet" in text


@pytest.mark.parametrize(
    ("state", "texts"),
    [
        (ModelState(BOTH, "en"), ["light", "strong", "✓ automatic"]),
        (ModelState(BOTH, "de", wanted="light"), ["✓ leicht", "stark", "automatisch"]),
    ],
)
def test_three_buttons_choose_and_the_one_in_force_is_marked(state: ModelState, texts: list[str]) -> None:
    (row,) = model_buttons(state)

    assert [button.text for button in row] == texts
    assert [wish_of(button.command.removeprefix("/model")) for button in row] == ["light", "strong", "auto"]
