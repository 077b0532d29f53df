"""The search language."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.query import FIELDS, Found, NotUnderstood, Query, matches, matches_text, parse

NOW_MS = round(datetime(2026, 11, 30, 12, 30, tzinfo=UTC).timestamp() * 1000)
BERLIN = ZoneInfo("Europe/Berlin")
FOUND = Found(
    ("fallback", "answered"), NOW_MS - 60_000, ("anna", "1001", "7:1001:0"), ("anna", "1001"), ("home", "7"),
    ("claude-haiku-5-5", "claude-sonnet-5-5"), ("host-1-ab:1", "7:1"), ("tasks_add",),
)  # fmt: skip


def query(said: str) -> Query:
    found = parse(said, NOW_MS, BERLIN)
    assert isinstance(found, Query), found
    return found


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ("", True),
        ("chat:anna", True),
        ("chat:Anna", True),
        ("chat:ben", False),
        ("chat:ben chat:anna", True),
        ("chat:anna state:failed", False),
        ("state:answered", True),
        ("zustand:ersatz", True),
        ("model:haiku", True),
        ("modell:haiku", True),
        ("-model:haiku", False),
        ("bot:home person:1001", True),
        ("tool:tasks", True),
        ("tool:memo", False),
        ("id:7:1", True),
        ("id:7", False),
        ('chat:"anna"', True),
        ('chat:"anna', True),
        ("after:2h", True),
        ("after:30s", False),
        ("before:13:29", False),
        ("before:13:30", True),
        ("after:2026-11-30", True),
        ("after:today before:yesterday", False),
        ("-before:2h", True),
        ("after:2026-11-30T12:29:00Z", True),
    ],
)
def test_a_query_finds_what_it_says(said: str, fits: bool) -> None:
    assert matches(query(said), FOUND) is fits


@pytest.mark.parametrize(
    ("said", "text", "fits"),
    [
        ("boiler", "Is the Boiler on?", True),
        ('text:"the boiler"', "Is the Boiler on?", True),
        ("boiler off", "Is the Boiler on?", False),
        ("-boiler", "Is the Boiler on?", False),
        ("boiler", None, False),
        ("-boiler", None, False),
        ("chat:anna", None, True),
        ("straße", "STRASSE", True),
    ],
)
def test_words_are_looked_for_in_the_text_and_never_found_in_what_is_not_kept(
    said: str, text: str | None, fits: bool
) -> None:
    assert matches_text(query(said), text) is fits


@pytest.mark.parametrize(
    ("said", "what"),
    [("colour:red", "colour"), ("state:happy", "happy"), ("before:soon", "soon"), ("chat:", "chat"), ("before:", "before"),
     ("after:9999999d", "9999999d")],
)  # fmt: skip
def test_what_is_not_understood_is_named(said: str, what: str) -> None:
    found = parse(said, NOW_MS, BERLIN)

    assert isinstance(found, NotUnderstood)
    assert found.what == what
    assert what in found.sentence.format(what=found.what, known=found.known)


def test_a_very_long_query_is_refused() -> None:
    assert isinstance(parse("a " * 400, NOW_MS, BERLIN), NotUnderstood)


def test_a_day_begins_at_midnight_of_the_house() -> None:
    assert query("after:today").after_ms == round(datetime(2026, 11, 30, tzinfo=BERLIN).timestamp() * 1000)


def test_of_two_ends_in_time_the_narrower_one_counts() -> None:
    assert query("after:2h after:1h before:1d before:2d").after_ms == NOW_MS - 3_600_000
    assert query("before:1d before:2d").before_ms == NOW_MS - 2 * 86_400_000


PIECES = st.one_of(
    st.sampled_from(
        [*(f"{one}:" for one in FIELDS), "-", '"', ":", " ", "2h", "failed", "2026-11-30", "\0", "👍🏽"]
    ),
    st.text(max_size=12),
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_nothing_that_is_written_breaks_it(said: str) -> None:
    found = parse(said, NOW_MS, BERLIN)

    if isinstance(found, Query):
        assert matches(found, FOUND) in {True, False}
        assert matches_text(found, "some text") in {True, False}
    else:
        assert found.sentence.format(what=found.what, known=found.known)
