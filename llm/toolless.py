"""Models that were asked with tools, refused, and answered without: remembered for an hour, in this process only."""

from dataclasses import dataclass, field

from llm.candidates import Candidate

REMEMBERED_S = 3600.0
"""A local server may be started anew with a model or a template that has tools."""


@dataclass(slots=True)
class Toolless:
    """Times are seconds of a clock that never goes back."""

    until_s: dict[Candidate, float] = field(default_factory=dict[Candidate, float])

    def knows(self, candidate: Candidate, now_s: float) -> bool:
        """It is asked without tools."""
        return bool(self.until_s) and self.until_s.get(candidate, now_s) > now_s

    def learn(self, candidate: Candidate, now_s: float) -> None:
        """It refused them."""
        self.until_s[candidate] = now_s + REMEMBERED_S
