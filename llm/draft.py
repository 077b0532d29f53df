"""What one call has said so far, and what it amounts to when it is over. Pure."""

from dataclasses import dataclass, field
from typing import assert_never

from infra.clean import clean
from llm.events import Finished, Heard, Stopped, Text, Used, Working
from llm.failure import REJECT, Failure
from llm.request import UNKNOWN, Ending, Usage


@dataclass(slots=True)
class Draft:
    """Grows with each event. A call that is cut off leaves here what it had come to."""

    pieces: list[str] = field(default_factory=list[str])
    usage: Usage = UNKNOWN
    stop_reason: str = ""
    finished: bool = False
    heard: bool = False
    """Anything at all."""

    @property
    def text(self) -> str:
        """All pieces, clean."""
        return clean("".join(self.pieces))

    @property
    def ended(self) -> bool:
        """The model was done: whatever happens to the connection now does not matter."""
        return self.finished or self.stop_reason != ""

    def hear(self, heard: Heard) -> None:
        """Take one event in."""
        self.heard = True
        match heard:
            case Text(text=text):
                self.pieces.append(text)
            case Used(usage=usage):
                self.usage = newer(self.usage, usage)
            case Stopped(reason=reason):
                self.stop_reason = reason
            case Finished():
                self.finished = True
            case Working():
                pass
            case _:
                assert_never(heard)


@dataclass(frozen=True, slots=True)
class Ended:
    """The text stands."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Paused:
    """The model wants to go on in another call."""


type Verdict = Ended | Paused | Failure


def newer(known: Usage, heard: Usage) -> Usage:
    """Counts of a stream are totals: what is heard replaces what was known."""

    def pick(a: int | None, b: int | None) -> int | None:
        return a if b is None else b

    return Usage(
        pick(known.input_tokens, heard.input_tokens),
        pick(known.cache_write_tokens, heard.cache_write_tokens),
        pick(known.cache_read_tokens, heard.cache_read_tokens),
        pick(known.output_tokens, heard.output_tokens),
    )


def verdict_on(draft: Draft, failure: Failure | None, *, before: str = "") -> Verdict:
    """What a call came to. `before`: the text of the calls that paused before it.

    - Text that was still coming when the deadline came is kept: another attempt would be cut at the same place.
    - A stalled or broken call's text is dropped: half an answer is worse than a whole one a little later.
    - A refusal stands, and is not carried to another model: whoever set up the chain wanted an answer for outages,
      not a way around a no. What was said before it is dropped, as the API's documentation asks.
    - Blank text is a failure, whatever the stop reason: a person can do nothing with it.
    """
    has_text = bool(before.strip()) or any(piece.strip() for piece in draft.pieces)
    if failure is not None and not draft.ended:
        late = failure.kind == "deadline" and has_text
        cannot_go_on = failure.kind in REJECT and bool(before.strip())
        return Ended("interrupted") if late or cannot_go_on else failure
    if draft.stop_reason == "refusal":
        return Ended("refused")
    if not has_text:
        return _without_text(draft.stop_reason)
    if draft.stop_reason == "pause_turn":
        return Paused()
    if draft.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
        return Ended("truncated")
    return Ended("complete")


def _without_text(stop_reason: str) -> Failure:
    """A context window that was full before the first word: less has to be sent."""
    kind = "too_long" if stop_reason == "model_context_window_exceeded" else "empty"
    return Failure(kind, f"no text, stop reason {stop_reason or 'none'}")
