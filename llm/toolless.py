"""Models that were asked with tools or pictures, refused, and answered without: remembered for an hour, in this process
only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from llm.candidates import Candidate
from llm.failure import Failure
from llm.media import holds_media, without_media
from llm.payload import holds_tools, offers_tools
from llm.request import ModelRequest

REMEMBERED_S = 3600.0
"""A local server may be started anew with a model or a template that has tools, or eyes."""

type Extra = Literal["media", "tools"]
"""What a request can do without: its answer says less, but it is an answer."""

EXTRAS: Sequence[Extra] = ("media", "tools")


@dataclass(slots=True)
class Toolless:
    """Times are seconds of a clock that never goes back."""

    until_s: dict[tuple[Candidate, Extra], float] = field(
        default_factory=dict[tuple[Candidate, Extra], float]
    )

    def knows(self, candidate: Candidate, now_s: float, extra: Extra = "tools") -> bool:
        """It is asked without."""
        return bool(self.until_s) and self.until_s.get((candidate, extra), now_s) > now_s

    def learn(self, candidate: Candidate, now_s: float, extra: Extra = "tools") -> None:
        """It refused them."""
        self.until_s[candidate, extra] = now_s + REMEMBERED_S

    def spared(self, candidate: Candidate, request: ModelRequest, now_s: float) -> ModelRequest:
        """The request without what it is known to refuse."""
        for extra in EXTRAS:
            if self.knows(candidate, now_s, extra):
                request = without(request, extra)
        return request


def without(request: ModelRequest, extra: Extra) -> ModelRequest:
    """The same without it."""
    return without_media(request) if extra == "media" else replace(request, tools=(), web=False)


def refused(candidate: Candidate, request: ModelRequest, failure: Failure) -> Extra | None:
    """What a service refused: it says so, or it may well be: a request with pictures or tools was refused, by a service
    that is not Anthropic itself; of tools also only if no earlier request of the conversation is known to have had any.
    """
    if failure.kind != "rejected":
        return None
    media, tools = holds_media(request), offers_tools(request, candidate.service)
    if failure.about_media and media:
        return "media"
    if failure.about_tools and tools:
        return "tools"
    if candidate.service.first_party:
        return None
    if media:
        return "media"
    return "tools" if tools and not holds_tools(request) else None


@dataclass(frozen=True, slots=True)
class Lesson:
    """A refusal."""

    extra: Extra
    sure: bool
    """The service named it."""
    general: bool
    """It holds for the model: of several pictures one may be too many, or at fault."""


def lesson_of(request: ModelRequest, extra: Extra, failure: Failure) -> Lesson:
    """What a refusal teaches, if there is an answer without."""
    images = sum(len(message.images) for message in request.messages)
    named = failure.about_media if extra == "media" else failure.about_tools
    return Lesson(extra, named, general=extra == "tools" or images == 1)


def learned(lessons: Sequence[Lesson]) -> list[Extra]:
    """What the model is known to refuse after them: what was named, and what it answered without in the end."""
    return [one.extra for one in lessons if one.general and (one.sure or one is lessons[-1])]
