"""How long to listen to one call, so that a silent model leaves time for the next one. Pure.

All times are seconds of the event loop's clock.
"""

from dataclasses import dataclass

STALL_S = 15.0
"""Longest silence once text has begun. Tokens come several a second, also from a small machine."""
SEARCH_S = 45.0
"""Longest silence while a tool of the service searches or reads the web."""
DRAIN_S = 0.5
"""For the end of the response after its last event, so that the connection can be used again."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits of one call."""

    deadline_at: float
    text_by: float
    """Text must have begun: a model that only thinks must leave time too."""
    silence_s: float
    """Between events before the first text. Pings are no events: a dead model can ping."""

    def first(self, now: float) -> float:
        """Until when to wait for the first event."""
        return min(self.deadline_at, self.text_by, now + self.silence_s)

    def until(self, now: float, *, speaking: bool, ended: bool, searching: bool = False) -> float:
        """Until when to wait for the event after one that came `now`."""
        if ended:
            return min(self.deadline_at, now + DRAIN_S)
        if searching:
            return min(self.deadline_at, now + SEARCH_S)
        if speaking:
            return min(self.deadline_at, now + STALL_S)
        return self.first(now)


def patience_for(*, now: float, deadline_at: float, followers: int) -> Patience:
    """The last candidate may be silent until the deadline (a small machine reads long before it writes). One with
    `followers` gets an equal share of the time for its silence, the last one counted twice, and half of the time for
    its thoughts; once it writes it may go on to the deadline.
    """
    left_s = deadline_at - now
    if not followers:
        return Patience(deadline_at, deadline_at, left_s)
    return Patience(deadline_at, now + left_s / 2, left_s / (followers + 2))
