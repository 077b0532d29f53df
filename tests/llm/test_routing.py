"""Small requests go to the light model, demanding ones to the strong one, in any language; one model per segment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.features import Features, features_of
from llm.routing import CACHE_MS, Asked, Choice, Models, Segment, Tier, Why, reason, route
from tests.llm.routing_pairs import PAIRS

NOW_MS = 1_796_000_000_000
BOTH = Models(("sonnet", "opus"), "haiku").tiers
SMALL, DEMANDING = "Add bread", "Reorganise my week's tasks by priority"
LOG = "2026-11-30 09:14:02 ERROR 5f2c timed out\n2026-11-30 09:14:03 INFO retrying"


def why(text: str, *, attachments: int = 0, tool_rounds: int = 0) -> Why:
    return reason(Asked(features_of(text), attachments, tool_rounds))


def choose(text: str, segment: Segment | None = None, wanted: Tier | None = None) -> Choice:
    return route(Asked(features_of(text)), segment or Segment(), BOTH, now_ms=NOW_MS, wanted=wanted)


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{pair.language}: {pair.light}" for pair in PAIRS])
def test_each_side_of_a_pair_goes_its_way(pair: tuple[str, str, str]) -> None:  # C57
    _, light, strong = pair

    assert choose(light).tier == "light"
    assert choose(strong).tier == "strong"


@pytest.mark.parametrize(
    "question", ["bu hata neden oluyor?", "woran liegt das?", "为什么会这样？", "почему?"]
)
def test_a_hard_question_is_one_in_every_language_when_a_log_stands_below(question: str) -> None:  # C57
    assert choose(question).tier == "light"
    assert choose(f"{question}\n\n{LOG}") == Choice("strong", None, "code")


@pytest.mark.parametrize(
    "text",
    [
        "Fix it\n```\nx = 1\n```",
        "why?\nTraceback (most recent call last):\nKeyError: 'a'",
        'at this\n  File "a.py", line 3, in run',
        "java says\n  at shop.Cart.total(Cart.java:12)",
        "for (i = 0; i < n; i++) { a[i] = 0; }",
        "rename user_id to account_id",
        "what does fetchAll(rows) return in db.query(sql)?",
        "--- a/x.py\n+++ b/x.py",
        '{"id": 3, "tags": ["a", "b"]}',
    ],
)
def test_code_is_for_the_strong_model(text: str) -> None:
    assert why(text) == "code"


@pytest.mark.parametrize(
    "text",
    ["My iPhone is dead :(", "Thanks!!! :-) :-)", "*** done ***", "user raj_brown_5782", "a/b or c/d?"],
)
def test_what_only_looks_a_little_like_code_is_none(text: str) -> None:
    assert why(text) == "short_request"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read https://example.org/a", "link"),
        ("so it was that we all got up at ten and had a bun or two", "long"),
        ("Book it. Tell Maria about it? And when does it open?", "several_requests"),
        ("Chemitek anrufen, Rechnung prüfen, Termin absagen", "several_requests"),
        ("- Chemitek anrufen\n- Rechnung", "several_requests"),
        ("3 for 10 at 12:30 or 4?", "constraints"),
        (DEMANDING, "demanding"),
        (SMALL, "short_request"),
        ("", "short_request"),
        ("Brot, Milch, Eier", "short_request"),
        ("Ja. Gut. Danke!", "short_request"),
    ],
)  # fmt: skip
def test_the_reason_says_what_was_seen(text: str, expected: Why) -> None:
    assert why(text) == expected


@pytest.mark.parametrize(
    "text", ["Prove that √2 is irrational", "Why is this unfair?", "Beweise das", "详细解释"]
)
def test_a_hard_question_in_a_few_plain_words_is_taken_for_a_small_one(text: str) -> None:
    """What the shape of a message cannot tell; /model strong is for that."""
    assert why(text) == "short_request"


def test_what_is_sent_along_is_for_the_strong_model() -> None:
    assert why("and?", attachments=1) == "attachment"


def test_an_answer_that_took_many_tools_is_gone_on_with_by_the_strong_model() -> None:
    assert why("and?", tool_rounds=2) == "short_request"
    assert why("and?", tool_rounds=3) == "tools"


# ── segments ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_small_message_stays_with_the_strong_model_while_its_cache_is_warm() -> None:
    warm = Segment("strong", NOW_MS - CACHE_MS + 1)

    assert choose(SMALL, warm) == Choice("strong", None, "ongoing_strong")
    assert choose(DEMANDING, warm).why == "demanding"


@pytest.mark.parametrize(
    "segment", [Segment("strong", NOW_MS - CACHE_MS), Segment()], ids=["cold", "beginning"]
)
def test_it_goes_to_the_light_model_when_there_is_no_cache_to_lose(segment: Segment) -> None:
    assert choose(SMALL, segment) == Choice("light", "low", "short_request")


def test_a_light_segment_goes_over_to_strong_at_once() -> None:
    assert choose(DEMANDING, Segment("light", NOW_MS - 1)).tier == "strong"
    assert choose(SMALL, Segment("light", NOW_MS - 1)).tier == "light"


# ── what a person or a plan says ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("wanted", ["light", "strong"])
@pytest.mark.parametrize("text", [SMALL, DEMANDING])
def test_what_a_person_asked_for_is_done(text: str, wanted: Tier) -> None:
    choice = choose(text, Segment("strong", NOW_MS), wanted)

    assert (choice.tier, choice.why) == (wanted, "asked_for")


@pytest.mark.parametrize(
    ("models", "tier"),
    [
        (Models(("sonnet",)), "strong"),
        (Models(("sonnet", "opus"), "sonnet"), "strong"),
        (Models(("sonnet",), "haiku").allowed(("haiku",)), "light"),
        (Models(("sonnet",), "haiku").allowed(("sonnet",)), "strong"),
        (Models(()), "strong"),
    ],
    ids=["no light model", "the same model", "plan: light only", "plan: strong only", "offline"],
)
def test_where_there_is_one_kind_there_is_no_choice(models: Models, tier: Tier) -> None:
    for wanted in (None, "light", "strong"):
        choice = route(Asked(features_of(SMALL)), Segment(), models.tiers, now_ms=NOW_MS, wanted=wanted)

        assert (choice.tier, choice.why) == (tier, "only_model")


def test_a_light_model_that_fails_is_followed_by_the_strong_ones_but_never_the_other_way_round() -> None:
    models = Models(("sonnet", "opus"), "haiku")

    assert models.chain("light") == ("haiku", "sonnet", "opus")
    assert models.chain("strong") == ("sonnet", "opus")
    assert Models(("sonnet", "haiku"), "haiku").chain("light") == ("haiku", "sonnet")


def test_a_plan_narrows_the_models() -> None:
    models = Models(("sonnet", "opus"), "haiku")

    assert models.allowed(()) == models
    assert models.allowed(("opus", "haiku")) == Models(("opus",), "haiku")
    assert models.allowed(("haiku",)).chain("light") == ("haiku",)
    assert models.allowed(("mistral",)) == Models(("mistral",))


# ── features ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_message_is_counted_by_words_weight_and_parts() -> None:
    assert features_of("Book it, please. At 8:30 or 9?") == Features(
        words=5, weight=4, parts=3, questions=1, items=0, numbers=2, links=0, code=False
    )


@pytest.mark.parametrize(
    ("text", "words", "weight"),
    [("明天提醒我", 3, 5), ("ありがとう", 2, 2.5), ("내일 알려 줘", 3, 2), ("พรุ่งนี้เตือน", 4, 6.5)],
    ids=["Chinese", "Japanese", "Korean", "Thai"],
)
def test_scripts_with_other_words_are_measured_by_their_characters(
    text: str, words: int, weight: float
) -> None:
    found = features_of(text)

    assert (found.words, found.weight) == (words, weight)


@given(st.text(max_size=300))
def test_more_text_never_makes_a_message_lighter(text: str) -> None:
    before, after = features_of(text), features_of(f"{text} и ещё несколько слов, которых не было")

    assert after.words >= before.words
    assert after.weight >= before.weight


@given(st.text(), st.sampled_from(["", "light", "strong"]), st.integers(0, 10**7))
def test_every_message_gets_an_answerer(text: str, tier: Tier, ago_ms: int) -> None:
    choice = choose(text, Segment(tier, NOW_MS - ago_ms))

    assert (choice.tier == "light") == (choice.why == "short_request")


def test_a_very_long_text_is_looked_at_only_at_its_beginning() -> None:
    assert features_of("wort " * 100_000) == features_of("wort " * 200)
