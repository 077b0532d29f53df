"""What follows a failure or a death."""

import pytest

from lanes.claim import Claim, Item
from lanes.retry import BACKOFF_LAST_MS, Again, Bury, Next, Split, after_deaths, after_failure


@pytest.mark.parametrize(
    ("failures", "can_split", "final", "asked_ms", "expected"),
    [
        pytest.param(1, False, False, None, Again(1000), id="first failure backs off a second"),
        pytest.param(2, False, False, None, Again(4000), id="the second four times as long"),
        pytest.param(1, False, False, 250, Again(250), id="who failed may say when"),
        pytest.param(3, False, False, None, Bury(), id="the last attempt is given up"),
        pytest.param(1, False, True, None, Bury(), id="what cannot work is given up at once"),
        pytest.param(3, True, False, None, Split(), id="a batch is split before anything is given up"),
        pytest.param(1, True, True, None, Split(), id="also if it cannot work at all"),
        pytest.param(1, True, False, None, Again(1000), id="a batch is tried again like a message"),
    ],
)
def test_after_a_failure(
    failures: int, can_split: bool, final: bool, asked_ms: int | None, expected: Next
) -> None:
    decision = after_failure(
        failures=failures, attempts=3, can_split=can_split, final=final, asked_ms=asked_ms, chance=1
    )

    assert decision == expected


def test_the_back_off_has_an_end() -> None:
    decision = after_failure(failures=30, attempts=99, can_split=False, final=False, asked_ms=None, chance=1)

    assert decision == Again(BACKOFF_LAST_MS)


@pytest.mark.parametrize(
    ("deaths", "can_split", "expected"),
    [
        pytest.param(5, False, None, id="a message survives five deaths"),
        pytest.param(6, False, Bury(), id="the sixth is its end"),
        pytest.param(2, True, None, id="a batch survives two"),
        pytest.param(3, True, Split(), id="at the third it is split"),
    ],
)
def test_after_deaths(deaths: int, can_split: bool, expected: Split | Bury | None) -> None:
    assert after_deaths(deaths=deaths, limit=6, can_split=can_split) == expected


@pytest.mark.parametrize(
    ("items", "kept", "expected"),
    [
        pytest.param(1, {}, False, id="a message has no parts"),
        pytest.param(2, {}, True, id="a batch has"),
        pytest.param(2, {"round:1": b"{}"}, False, id="what has been done holds it together"),
    ],
)
def test_what_can_be_split(items: int, kept: dict[str, bytes], expected: bool) -> None:
    waiting = tuple(Item(f"7:{number}", b"{}") for number in range(items))

    assert Claim("in:7:42:0", "token", "turn", waiting, "0", kept=kept).can_split is expected
