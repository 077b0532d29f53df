"""Where the time of a message went, and what the model was given."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.lives import Sent
from dashboard.waterfall import waterfall
from dashboard.xray import xray
from schemas.life import Attempt, ToolUse
from schemas.turn import LeftOut, Part, PartKind, TurnRecord
from tests.dashboard.house import NOW_MS
from tests.dashboard.records import attempt, fallback, turn

SENT = Sent(NOW_MS + 100, (NOW_MS + 200, NOW_MS + 400), NOW_MS + 450, "sent", 0, 0)


def test_the_spans_of_a_plain_answer_stand_in_the_order_of_its_way() -> None:
    falls = waterfall(turn(1), [SENT])

    assert [(one.step, one.took_ms) for one in falls.spans] == [
        ("telegram", 1000), ("queue", 200), ("memory", 100), ("call", 1500), ("commit", 100), ("outbox", 100), ("send", 300),
    ]  # fmt: skip
    assert falls.total_ms == 3400


def test_a_fallback_shows_who_failed_and_who_answered() -> None:
    calls = [one for one in waterfall(fallback(1)).spans if one.step == "call"]

    assert [(one.name, one.outcome, one.tone) for one in calls] == [
        ("sonnet", "rate_limited", "fallback"),
        ("haiku", "answered", "fallback"),
    ]


def test_a_model_that_was_asked_and_answered_is_blue() -> None:
    assert [one.tone for one in waterfall(turn(1)).spans if one.step == "call"] == ["running"]


def test_telegrams_clock_of_whole_seconds_makes_no_span_below_one() -> None:
    steps = {one.step for one in waterfall(turn(1, sent_ms=NOW_MS - 2_900)).spans}
    ahead = {one.step for one in waterfall(turn(1, sent_ms=NOW_MS + 5_000)).spans}

    assert "telegram" not in steps | ahead


def test_an_earlier_attempt_of_the_turn_stands_before_its_last_one() -> None:
    life = turn(1, attempts=(attempt(NOW_MS - 1_900, outcome="timeout", took_ms=50), attempt(NOW_MS - 100)))

    spans = waterfall(life).spans

    assert [one.took_ms for one in spans if one.step == "queue"] == [50]
    assert [one.outcome for one in spans if one.step == "call"] == ["timeout", "answered"]


def test_a_line_of_koi_has_neither_model_nor_memory() -> None:
    falls = waterfall(turn(1, state="line", attempts=(), built_ms=0, model="", asked=""))

    assert {one.step for one in falls.spans} == {"telegram", "queue", "commit"}


STAMPS = st.integers(NOW_MS - 10_000, NOW_MS)


@given(
    st.tuples(STAMPS, STAMPS, STAMPS, STAMPS),
    st.lists(st.tuples(STAMPS, st.integers(0, 5_000)), max_size=5),
    st.lists(st.tuples(STAMPS, st.integers(0, 5_000)), max_size=5),
)
def test_the_slices_fill_the_bar_whatever_the_stamps_are(
    stamps: tuple[int, int, int, int], calls: list[tuple[int, int]], tools: list[tuple[int, int]]
) -> None:
    received_ms, taken_ms, built_ms, sent_ms = stamps
    life = turn(
        1, received_ms=received_ms, taken_ms=taken_ms, built_ms=built_ms, sent_ms=sent_ms,
        attempts=tuple(Attempt(model="m", outcome="answered", ended_ms=end, took_ms=took) for end, took in calls),
        tools=tuple(ToolUse(name="t", outcome="done", ended_ms=end, took_ms=took) for end, took in tools),
    )  # fmt: skip

    falls = waterfall(life, [SENT])

    assert all(one.took_ms >= 0 for one in falls.spans)
    assert all(one.percent >= 0 for one in falls.slices())
    assert abs(sum(one.percent for one in falls.slices()) - 100) < 1
    assert all(0 <= one.left <= 100 and one.left + one.width <= 100.1 for one in falls.lines())


# ── context ──────────────────────────────────────────────────────────────────────────────────────────────────────
def record(
    *parts: tuple[PartKind, int], left_out: tuple[LeftOut, ...] = (), correction: float = 1.0
) -> TurnRecord:
    return TurnRecord(
        id="t", lane="7:1:0", owner="o", bot="home", user_id="1", at_ms=1, oldest_ms=1, took_ms=1, message_ids=(),
        asked="m", model="m", tier="light", why="", budget_tokens=1000, estimated_tokens=0, correction=correction,
        parts=tuple(Part(kind=kind, tokens=tokens) for kind, tokens in parts), left_out=left_out, ending="answered",
    )  # fmt: skip


def test_parts_of_one_kind_stand_together_in_a_fixed_order_corrected() -> None:
    found = xray(
        record(
            ("message", 40), ("system", 100), ("exchange", 30), ("exchange", 30), ("note", 10), correction=1.5
        )
    )

    assert [(one.group, one.tokens) for one in found.shares] == [
        ("instructions", 150), ("earlier", 90), ("message", 75),
    ]  # fmt: skip
    assert (found.tokens, found.budget, found.is_over) == (315, 1000, False)
    assert found.free_percent == 68.5


def test_more_than_the_budget_fills_the_bar_and_says_so() -> None:
    found = xray(record(("system", 1500), ("message", 500)))

    assert found.is_over
    assert [one.percent for one in found.shares] == [75.0, 25.0]
    assert found.free_percent == 0


def test_what_was_left_out_is_grouped_by_kind_and_reason() -> None:
    left = (
        LeftOut(kind="entry", tokens=10, why="no_room"), LeftOut(kind="exchange", tokens=200, why="folded"),
        LeftOut(kind="entry", tokens=30, why="no_room"), LeftOut(kind="entry", tokens=5, why="older"),
    )  # fmt: skip

    found = xray(record(("system", 10), left_out=left)).dropped

    assert [(one.kind, one.why, one.count, one.tokens) for one in found] == [
        ("exchange", "folded", 1, 200), ("entry", "no_room", 2, 40), ("entry", "older", 1, 5),
    ]  # fmt: skip
