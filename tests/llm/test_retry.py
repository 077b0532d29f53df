from typing import get_args

import pytest

from llm.failure import REJECT, SKIP, Failure, FailureKind
from llm.retry import Again, GiveUp, Next, Reject, Step, next_step

KINDS: tuple[FailureKind, ...] = get_args(FailureKind.__value__)
PASSING = tuple(kind for kind in KINDS if kind not in SKIP | REJECT)


def step(
    failure: Failure, *, tries: int = 1, left_s: float = 100, followers: int = 1, chance: float = 0.0
) -> Step:
    return next_step(failure, tries=tries, left_s=left_s, followers=followers, chance=chance)


@pytest.mark.parametrize("kind", sorted(REJECT))
def test_a_request_at_fault_is_never_tried_again_anywhere(kind: FailureKind) -> None:
    assert step(Failure(kind)) == Reject()
    assert step(Failure(kind), followers=0, left_s=0) == Reject()


@pytest.mark.parametrize("kind", sorted(SKIP))
def test_a_candidate_of_no_use_is_skipped_at_once(kind: FailureKind) -> None:
    assert step(Failure(kind)) == Next()
    assert step(Failure(kind), followers=0) == GiveUp()


@pytest.mark.parametrize("kind", PASSING)
def test_every_passing_failure_leads_on_after_two_tries(kind: FailureKind) -> None:  # C23
    assert step(Failure(kind), tries=2) == Next()
    assert step(Failure(kind), tries=2, followers=0) == GiveUp()


@pytest.mark.parametrize("kind", PASSING)
def test_the_last_candidate_is_tried_twice_whatever_passing_failure_it_had(kind: FailureKind) -> None:  # C23
    assert step(Failure(kind), followers=0) == Again(0.0)


@pytest.mark.parametrize("kind", ["timeout", "empty"])
def test_what_costs_time_and_repeats_is_not_tried_again_while_another_stands_by(kind: FailureKind) -> None:
    assert step(Failure(kind)) == Next()


def test_the_wait_before_the_second_try_has_full_jitter() -> None:
    waits = [step(Failure("overloaded"), chance=chance) for chance in (0.0, 0.5, 0.999)]

    assert waits == [Again(0.0), Again(0.5), Again(0.999)]


def test_retry_after_is_honoured_and_never_shortened() -> None:
    asked = Failure("rate_limited", retry_after_s=3.0)

    assert step(asked, chance=0.25) == Again(3.25)
    assert step(asked, followers=0, left_s=10) == Again(3.0)


def test_nobody_waits_ninety_seconds_while_another_model_stands_by() -> None:
    asked = Failure("rate_limited", retry_after_s=90.0)

    assert step(asked) == Next()
    assert step(asked, followers=0, left_s=100) == Again(90.0)


def test_a_wait_that_leaves_no_time_for_an_answer_is_not_begun() -> None:
    asked = Failure("rate_limited", retry_after_s=4.0)

    assert step(asked, left_s=4.5) == Next()
    assert step(asked, left_s=4.5, followers=0) == GiveUp()


def test_a_service_that_forbids_retries_is_not_tried_again() -> None:
    assert step(Failure("server_error", retry_same=False)) == Next()


def test_a_model_whose_breaker_is_open_is_called_once() -> None:
    overloaded = Failure("overloaded")

    assert next_step(overloaded, tries=1, left_s=100, followers=1, chance=0.0, once=True) == Next()
    assert next_step(overloaded, tries=1, left_s=100, followers=0, chance=0.0, once=True) == GiveUp()


def test_without_time_nobody_is_asked_any_more() -> None:
    assert step(Failure("overloaded"), left_s=0.9) == GiveUp()
    assert step(Failure("unauthorized"), left_s=0.9) == GiveUp()
