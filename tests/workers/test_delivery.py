"""What follows from an attempt to send a mail."""

import pytest

from schemas.mail import Mail
from workers.delivery import (
    FIRST_PAUSE_MS,
    GIVEN_UP_MS,
    LAST_PAUSE_MS,
    Delivery,
    Next,
    NotSent,
    Sent,
    Unsure,
    after,
    is_over,
    pause_ms,
)

MAIL = Mail(id="m", at_ms=1_000, subject="s", text="t")
TWICE = MAIL.model_copy(update={"unsure": 1})


@pytest.mark.parametrize(
    ("mail", "delivery", "age_ms", "expected"),
    [
        pytest.param(MAIL, Sent(), 0, Next(None), id="sent"),
        pytest.param(MAIL, NotSent("x"), 0, Next(MAIL, FIRST_PAUSE_MS), id="refused"),
        pytest.param(TWICE, NotSent("x"), 0, Next(TWICE, FIRST_PAUSE_MS), id="refused after an unknown end"),
        pytest.param(MAIL, NotSent("x", hopeless=True), 0, Next(None, lost=True), id="refused for good"),
        pytest.param(MAIL, NotSent("x"), GIVEN_UP_MS, Next(None, lost=True), id="refused for a day"),
        pytest.param(MAIL, Unsure("x"), 0, Next(TWICE, FIRST_PAUSE_MS), id="unknown"),
        pytest.param(TWICE, Unsure("x"), 0, Next(None, lost=True), id="unknown twice"),
    ],
)
def test_what_becomes_of_a_mail(mail: Mail, delivery: Delivery, age_ms: int, expected: Next) -> None:
    assert after(delivery, mail, mail.at_ms + age_ms) == expected


def test_pauses_double_up_to_an_hour() -> None:
    ages = [0, FIRST_PAUSE_MS, 2 * FIRST_PAUSE_MS, 4 * FIRST_PAUSE_MS, GIVEN_UP_MS]

    assert [pause_ms(age) for age in ages] == [30_000, 30_000, 60_000, 120_000, LAST_PAUSE_MS]


def test_a_mail_is_over_after_a_day_or_two_unknown_ends() -> None:
    assert not is_over(TWICE, TWICE.at_ms + GIVEN_UP_MS - 1)
    assert is_over(MAIL, MAIL.at_ms + GIVEN_UP_MS)
    assert is_over(MAIL.model_copy(update={"unsure": 2}), MAIL.at_ms)
