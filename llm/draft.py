"""What one call has said so far, and what it amounts to when it is over. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import assert_never

from infra.clean import clean
from llm.blocks import NOTHING, SERVER_TOOL_USE, TEXT, TOOL_USE, Block, Gathered, gather, grow, opened
from llm.events import LAST_BLOCK, Finished, Grew, Heard, Opened, Stopped, Text, Used, Working
from llm.failure import REJECT, Failure
from llm.request import UNKNOWN, Ending, Usage

CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons of an answer that ends in the middle."""
BYTES_PER_TOKEN = 4
"""Of English; other languages have fewer bytes a token, so that theirs count as too few rather than too many."""
QUIET = frozenset({TEXT, "thinking", "redacted_thinking"})


@dataclass(slots=True)
class Draft:
    """Grows with each event. A call that is cut off leaves here what it had come to."""

    pieces: list[str] = field(default_factory=list[str])
    usage: Usage = UNKNOWN
    stop_reason: str = ""
    finished: bool = False
    heard: bool = False
    """Anything at all."""
    blocks: list[Block] = field(default_factory=list[Block])
    """Content blocks in the order in which they began."""
    speaking: bool = False
    """Text or a call of a tool has begun."""
    searching: bool = False
    """A tool of the service is at work: nothing comes until it is done."""
    acts: bool = False
    """There is a block that is neither text nor thought."""
    halted: bool = False
    """Whoever asked did not want to hear more (llm.halt)."""

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
                self._say(text)
            case Opened():
                self._open(heard)
            case Grew():
                grow(self.blocks, heard)
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

    def halt(self) -> None:
        """No more is heard. The service bills what was written by then, but says how much only at the end: it counts as at
        least what came, so that nobody's use escapes a plan by being stopped.
        """
        if self.ended:
            return
        self.halted = True
        if self.usage != UNKNOWN:
            written = max(self.usage.output_tokens or 0, -(-self._bytes // BYTES_PER_TOKEN))
            self.usage = replace(self.usage, output_tokens=written)

    @property
    def _bytes(self) -> int:
        """Of all text, thoughts and arguments so far, in UTF-8."""
        grown = (piece for block in self.blocks for pieces in block.grown.values() for piece in pieces)
        texts = (piece for piece in (*self.pieces, *grown) if isinstance(piece, str))
        return sum(len(text.encode("utf-8", "replace")) for text in texts)

    def gather(self, *, taken: Collection[str], calls: bool) -> Gathered:
        """See llm.blocks.gather. Costs nothing where there is nothing but text."""
        if not self.acts:
            return NOTHING
        return gather(self.blocks, self.pieces, taken=taken, calls=calls, cut=self.stop_reason in CUT)

    def _say(self, text: str) -> None:
        """Some servers begin no block for it."""
        if not self.blocks or self.blocks[-1].kind != TEXT:
            self._open(Opened(LAST_BLOCK, {"type": TEXT}))
        self.pieces.append(text)
        self.speaking = True

    def _open(self, event: Opened) -> None:
        block = opened(event, at=len(self.pieces))
        self.blocks.append(block)
        self.speaking = self.speaking or block.kind == TOOL_USE
        self.searching = block.kind == SERVER_TOOL_USE
        self.acts = self.acts or block.kind not in QUIET


@dataclass(frozen=True, slots=True)
class Ended:
    """The text and the calls stand."""

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
        max(known.web_searches, heard.web_searches),
    )


def verdict_on(
    draft: Draft, failure: Failure | None, *, before: str = "", calls: bool = False, after_tools: bool = False
) -> Verdict:
    """What a call came to. `before`: the text of the calls that paused before it. `calls`: it calls tools, whole.
    `after_tools`: it was told what came of tools.

    - Text that was still coming when the deadline came is kept: another attempt would be cut at the same place.
    - A stalled or broken call's text is dropped: half an answer is worse than a whole one a little later.
    - A refusal stands, and is not carried to another model: whoever set up the chain wanted an answer for outages,
      not a way around a no. What was said before it is dropped, as the API's documentation asks.
    - Tools are run whatever the stop reason says: services that translate say "end_turn" too.
    - Blank text is a failure: a person can do nothing with it. Only a model that was told what its tools did may be
      content with that.
    """
    has_text = bool(before.strip()) or any(piece.strip() for piece in draft.pieces)
    if failure is not None and not draft.ended:
        late = failure.kind == "deadline" and has_text
        cannot_go_on = failure.kind in REJECT and bool(before.strip())
        return Ended("interrupted") if late or cannot_go_on else failure
    if draft.stop_reason == "refusal":
        return Ended("refused")
    if calls:
        return Ended("tools")
    if draft.stop_reason == "pause_turn" and (has_text or draft.acts):
        return Paused()
    if not has_text and (draft.stop_reason in {*CUT, "pause_turn"} or not after_tools):
        return _without_text(draft.stop_reason)
    return Ended("truncated" if draft.stop_reason in CUT else "complete")


def _without_text(stop_reason: str) -> Failure:
    """A context window that was full before the first word: less has to be sent."""
    kind = "too_long" if stop_reason == "model_context_window_exceeded" else "empty"
    return Failure(kind, f"no text, stop reason {stop_reason or 'none'}")
