"""What came of handing a mail to a server, and what follows from it. Pure."""

from dataclasses import dataclass
from typing import assert_never

from schemas.mail import Mail

GIVEN_UP_MS = 24 * 3_600_000
"""Older news help nobody."""
FIRST_PAUSE_MS, LAST_PAUSE_MS = 30_000, 3_600_000
UNSURE_MAX = 2
"""How often a mail is handed over at most when the server's answer is lost each time."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The server took it."""


@dataclass(frozen=True, slots=True)
class NotSent:
    """The server did not take it."""

    reason: str
    hopeless: bool = False
    """It wants none of this mail, ever."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """It was handed over, and no answer came."""

    reason: str


type Delivery = Sent | NotSent | Unsure


@dataclass(frozen=True, slots=True)
class Next:
    """What to do with the mail."""

    keep: Mail | None
    """As it waits on; None: it is done with."""
    pause_ms: int = 0
    """How long the server is left alone."""
    lost: bool = False
    """Done with, without knowing that it arrived."""


def after(delivery: Delivery, mail: Mail, now_ms: int) -> Next:
    """mail: as it was before this attempt."""
    age_ms = now_ms - mail.at_ms
    match delivery:
        case Sent():
            return Next(None)
        case NotSent(hopeless=hopeless):
            if hopeless or age_ms >= GIVEN_UP_MS:
                return Next(None, lost=True)
            return Next(mail, pause_ms(age_ms))
        case Unsure():
            asked = mail.model_copy(update={"unsure": mail.unsure + 1})
            if is_over(asked, now_ms):
                return Next(None, lost=True)
            return Next(asked, pause_ms(age_ms))
        case _:
            assert_never(delivery)


def is_over(mail: Mail, now_ms: int) -> bool:
    """Whether it is not worth, or not allowed, another attempt."""
    return now_ms - mail.at_ms >= GIVEN_UP_MS or mail.unsure >= UNSURE_MAX


def pause_ms(age_ms: int) -> int:
    """As long again as the oldest mail has waited, so that the pauses double."""
    return min(LAST_PAUSE_MS, max(FIRST_PAUSE_MS, age_ms))
