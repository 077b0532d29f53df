"""The correction of the estimate learns each model's own way of counting, and nothing nonsensical."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ratio import (
    FIRST_MARGIN,
    FIRST_R,
    LEAST_MARGIN,
    RESERVE,
    Ratio,
    estimate_room,
    factor,
    learn,
    pack,
    start,
    unpack,
)

ESTIMATED = 1_000
turns = st.lists(st.tuples(st.integers(-10, 10**7), st.none() | st.integers(-10, 10**12)), max_size=30)
ratios = st.builds(Ratio, st.floats(0.4, 3.0), st.floats(0, 1), st.integers(0, 10**6))


def learned(*actual: int | None) -> Ratio:
    ratio = start()
    for tokens in actual:
        ratio = learn(ratio, ESTIMATED, tokens)
    return ratio


def test_before_anything_is_known_the_estimate_is_rather_too_high() -> None:
    assert factor(start()) == pytest.approx(FIRST_R * (1 + FIRST_MARGIN))


@pytest.mark.parametrize("real", [700, 1_000, 1_300, 1_690])
def test_a_constant_factor_is_learned_within_three_turns(real: int) -> None:
    ratio = learned(real, real, real)

    assert ratio.r == pytest.approx(real / ESTIMATED, rel=0.05)
    assert ratio.seen == 3


@given(st.floats(0.6, 2.0))
def test_whatever_the_factor_the_fourth_turn_is_not_far_under(real: float) -> None:
    actual = round(ESTIMATED * real)

    assert ESTIMATED * factor(learned(actual, actual, actual)) > 0.95 * actual


def test_when_estimates_are_right_for_long_only_the_least_margin_remains() -> None:
    ratio = learned(*[1_100] * 30)

    assert factor(ratio) == pytest.approx(1.1 * (1 + LEAST_MARGIN))


def test_estimates_that_were_off_widen_the_margin() -> None:
    steady, swinging = learned(*[1_000] * 10), learned(*[800, 1_250] * 5)

    assert factor(swinging) / swinging.r > factor(steady) / steady.r


@pytest.mark.parametrize("actual", [None, 0, -5], ids=["unknown", "zero", "negative"])
def test_usage_that_says_nothing_teaches_nothing(actual: int | None) -> None:
    assert learned(1_200, actual) == learned(1_200)


def test_nothing_is_learned_of_an_empty_estimate() -> None:
    assert learn(start(), 0, 500) == start()


def test_an_absurd_number_moves_the_ratio_by_a_step_and_is_forgotten_again() -> None:
    shaken = learned(*[1_000] * 5, 10**9)

    assert shaken.r < 1.7
    assert learn(learn(shaken, ESTIMATED, 1_000), ESTIMATED, 1_000).r == pytest.approx(1.0, rel=0.12)


@given(turns)
def test_no_usage_makes_the_factor_negative_or_no_number(usages: list[tuple[int, int | None]]) -> None:
    ratio = start()
    for estimated, actual in usages:
        ratio = learn(ratio, estimated, actual)

    assert isfinite(factor(ratio))
    assert 0.4 <= factor(ratio) <= 6
    assert unpack(pack(ratio)).seen == ratio.seen


@given(ratios)
def test_a_packed_ratio_comes_back(ratio: Ratio) -> None:
    again = unpack(pack(ratio))

    assert (again.r, again.error) == pytest.approx((ratio.r, ratio.error), abs=1e-4)
    assert again.seen == ratio.seen
    assert unpack(pack(ratio).encode()) == again


@pytest.mark.parametrize("text", [None, "", b"", "x", "1 2", "nan 0 1", "inf 0 1", "1.2 0.1 many"])
def test_what_is_no_ratio_is_a_new_start(text: str | bytes | None) -> None:
    assert unpack(text) == start()


def test_a_stored_ratio_out_of_range_is_brought_back() -> None:
    assert unpack("900 -3 -1") == Ratio(3.0, 0.0, 0)


def test_the_room_leaves_the_reserve_free() -> None:
    ratio = learned(*[1_300] * 30)

    assert estimate_room(6_000, ratio) * factor(ratio) == pytest.approx(6_000 * (1 - RESERVE), abs=2)
    assert estimate_room(0, ratio) == 0
