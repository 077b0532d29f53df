"""What follows a failure or a death."""

import pytest

from lanes.retry import BACKOFF_LAST_MS, Again, Bury, Next, Split, after_deaths, after_failure


@pytest.mark.parametrize(
    ("failures", "items", "final", "asked_ms", "expected"),
    [
        pytest.param(1, 1, False, None, Again(1000), id="first failure backs off a second"),
        pytest.param(2, 1, False, None, Again(4000), id="the second four times as long"),
        pytest.param(1, 1, False, 250, Again(250), id="who failed may say when"),
        pytest.param(3, 1, False, None, Bury(), id="the last attempt is given up"),
        pytest.param(1, 1, True, None, Bury(), id="what cannot work is given up at once"),
        pytest.param(3, 2, False, None, Split(), id="a batch is split before anything is given up"),
    ],
)
def test_after_a_failure(
    failures: int, items: int, final: bool, asked_ms: int | None, expected: Next
) -> None:
    decision = after_failure(
        failures=failures, attempts=3, items=items, final=final, asked_ms=asked_ms, chance=1
    )

    assert decision == expected


def test_the_back_off_has_an_end() -> None:
    decision = after_failure(failures=30, attempts=99, items=1, final=False, asked_ms=None, chance=1)

    assert decision == Again(BACKOFF_LAST_MS)


@pytest.mark.parametrize(
    ("deaths", "items", "expected"),
    [
        pytest.param(5, 1, None, id="a message survives five deaths"),
        pytest.param(6, 1, Bury(), id="the sixth is its end"),
        pytest.param(2, 3, None, id="a batch survives two"),
        pytest.param(3, 3, Split(), id="at the third it is split"),
    ],
)
def test_after_deaths(deaths: int, items: int, expected: Split | Bury | None) -> None:
    assert after_deaths(deaths=deaths, limit=6, items=items) == expected
