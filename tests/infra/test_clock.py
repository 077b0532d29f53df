"""The time that people live by."""

import time
from datetime import timedelta

import pytest

from infra.clock import ms, offset_ms, system_clock


def test_the_clock_gives_the_time_of_the_machine_in_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KOI_CLOCK_OFFSET", raising=False)
    before = time.time_ns() // 1_000_000

    now = system_clock()()

    assert before <= now <= time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("offset", "shift_ms"), [("3000", 3_000_000), ("-1.5", -1_500), ("", 0), ("0", 0), ("1e3", 1_000_000)]
)
def test_an_offset_shifts_it_by_seconds(monkeypatch: pytest.MonkeyPatch, offset: str, shift_ms: int) -> None:
    monkeypatch.setenv("KOI_CLOCK_OFFSET", offset)
    before = time.time_ns() // 1_000_000

    now = system_clock()()

    assert before + shift_ms <= now <= time.time_ns() // 1_000_000 + shift_ms
    assert offset_ms() == shift_ms


def test_a_clock_keeps_the_offset_that_it_was_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOI_CLOCK_OFFSET", "86400")
    clock = system_clock()
    monkeypatch.setenv("KOI_CLOCK_OFFSET", "0")

    assert clock() - time.time_ns() // 1_000_000 > 86_000_000


def test_durations_in_ms() -> None:
    assert ms(timedelta(hours=24)) == 86_400_000
    assert ms(timedelta(microseconds=1999)) == 1
