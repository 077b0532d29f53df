from typing import get_args

import pytest

from llm.candidates import OFFLINE, Candidate, Service
from llm.draft import Ended, Paused, Verdict
from llm.failure import Failure, FailureKind
from llm.standing import (
    ASKED_LONGEST_MS,
    CLOSED,
    REFUSED_OPEN_MS,
    SAYS_NOTHING,
    SILENT_S,
    THRESHOLD,
    Closed,
    Fails,
    Open,
    Probe,
    State,
    Works,
    last_resorts,
    ready,
    signal_of,
)

KINDS: tuple[FailureKind, ...] = get_args(FailureKind.__value__)
SERVICE = Service("compatible", "http://127.0.0.1:1")
A, B, C, D = (Candidate(SERVICE, model) for model in "abcd")
OFF = Candidate(OFFLINE, "offline")


def signal(verdict: Verdict, *, heard: bool = True, took_s: float = 1.0) -> object:
    return signal_of(verdict, heard=heard, took_s=took_s)


def opened(why: str, wait_ms: int = 30_000, *, asked: bool = False) -> Open:
    return Open(1_000, why, 2_000, wait_ms, asked)


@pytest.mark.parametrize(
    ("kind", "threshold"),
    [
        ("overloaded", THRESHOLD),
        ("server_error", THRESHOLD),
        ("timeout", THRESHOLD),
        ("broken", THRESHOLD),
        ("malformed", THRESHOLD),
        ("rate_limited", THRESHOLD),
        ("forbidden", THRESHOLD),
        ("unauthorized", 1),
        ("unpaid", 1),
        ("unknown_model", 1),
        ("rejected", 0),
        ("too_long", 0),
        ("empty", 0),
        ("deadline", 0),
    ],
)
def test_each_failure_counts_as_often_as_it_says_something_about_the_model(
    kind: FailureKind, threshold: int
) -> None:
    said = signal(Failure(kind))

    assert (said.threshold if isinstance(said, Fails) else 0) == threshold
    assert said == SAYS_NOTHING or threshold


def test_every_kind_of_failure_was_thought_of() -> None:
    for kind in KINDS:
        signal(Failure(kind))


@pytest.mark.parametrize("ending", ["complete", "truncated", "interrupted", "refused"])
def test_a_model_that_spoke_works(ending: str) -> None:
    assert signal(Ended(ending)) == Works()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert signal(Paused()) == Works()


def test_what_only_a_person_can_mend_opens_for_minutes() -> None:
    said = signal(Failure("unauthorized"))

    assert isinstance(said, Fails)
    assert said.open_ms == REFUSED_OPEN_MS


def test_a_wait_that_a_service_asks_for_opens_at_once_and_for_as_long_as_it_says() -> None:
    assert signal(Failure("rate_limited", retry_after_s=90)) == Fails(
        "rate_limited", threshold=1, asked_ms=90_000
    )
    assert signal(Failure("overloaded", retry_after_s=6)) == Fails("overloaded", threshold=1, asked_ms=6_000)


def test_a_wait_of_a_few_seconds_is_waited_out_and_only_counted() -> None:
    assert signal(Failure("rate_limited", retry_after_s=5)) == Fails("rate_limited")


def test_a_daily_limit_is_probed_every_hour() -> None:
    said = signal(Failure("rate_limited", retry_after_s=80_000))

    assert isinstance(said, Fails)
    assert said.asked_ms == ASKED_LONGEST_MS


def test_the_turns_own_deadline_says_something_only_after_a_long_silence() -> None:
    late = Failure("deadline")

    assert signal(late, heard=False, took_s=SILENT_S) == Fails("deadline")
    assert signal(late, heard=False, took_s=SILENT_S - 1) == SAYS_NOTHING
    assert signal(late, heard=True, took_s=100) == SAYS_NOTHING


def test_models_whose_breaker_is_open_are_not_ready() -> None:
    states: dict[Candidate, State] = {
        A: opened("timeout"),
        B: Probe(1, "broken", 2),
        C: Closed(2),
        OFF: CLOSED,
    }

    assert ready([A, B, C, OFF], states) == [1, 2, 3]
    assert [resort.at for resort in last_resorts([A, B, C, OFF], states, left_s=100, passed_s=0)] == [0]


def test_the_last_resorts_begin_with_what_fails_fast_and_end_with_what_needs_the_owner() -> None:
    states: dict[Candidate, State] = {
        A: opened("unpaid"),
        B: opened("timeout"),
        C: opened("rate_limited", 20_000, asked=True),
        D: opened("broken"),
    }

    resorts = last_resorts([A, B, C, D], states, left_s=100, passed_s=0)

    assert [(resort.at, resort.hopeful) for resort in resorts] == [
        (3, True),
        (2, True),
        (1, False),
        (0, False),
    ]


def test_a_wait_that_was_asked_for_is_kept_if_it_fits_and_what_passed_of_it_counts() -> None:
    states: dict[Candidate, State] = {A: opened("rate_limited", 20_000, asked=True)}

    (fits,) = last_resorts([A], states, left_s=30, passed_s=5)
    (over,) = last_resorts([A], states, left_s=30, passed_s=25)
    (does_not,) = last_resorts([A], states, left_s=21, passed_s=0)

    assert (fits.wait_s, fits.hopeful) == (15.0, True)
    assert (over.wait_s, over.hopeful) == (0.0, True)
    assert (does_not.wait_s, does_not.hopeful) == (0.0, False)
