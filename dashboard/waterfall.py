"""Where the time of a message went: spans from Telegram to the last part of the reply. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.lives import Sent
from schemas.life import TurnLife

type Step = Literal["telegram", "queue", "memory", "call", "tool", "commit", "outbox", "send"]

TONES: dict[Step, str] = {
    "telegram": "waiting", "queue": "waiting", "memory": "memory", "call": "running", "tool": "running",
    "commit": "answered", "outbox": "waiting", "send": "answered",
}  # fmt: skip
ENDED_WELL = frozenset({"answered", "tools", "truncated", "interrupted", "paused"})
"""Outcomes of a call that gave an answer (llm.request.Outcome)."""
MOST_MS = 7 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Span:
    """One step, ms since 1970."""

    step: Step
    from_ms: int
    to_ms: int
    tone: str
    name: str = ""
    """call: the model. tool: its name."""
    outcome: str = ""
    """call, tool: how it ended."""
    detail: str = ""

    @property
    def took_ms(self) -> int:
        return self.to_ms - self.from_ms


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the bar; together they are 100 %."""

    tone: str
    """ "": nothing was done."""
    step: str
    percent: float


@dataclass(frozen=True, slots=True)
class Fall:
    """A span as a line of the waterfall, percent of the whole."""

    span: Span
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All spans in the order in which they began."""

    spans: tuple[Span, ...]
    from_ms: int
    to_ms: int

    @property
    def total_ms(self) -> int:
        """From the person's message to the last part of the reply."""
        return self.to_ms - self.from_ms

    def lines(self) -> tuple[Fall, ...]:
        """For the side panel."""
        whole = max(1, self.total_ms)
        return tuple(
            Fall(
                one, round(100 * (one.from_ms - self.from_ms) / whole, 2), round(100 * one.took_ms / whole, 2)
            )
            for one in self.spans
        )

    def slices(self) -> tuple[Slice, ...]:
        """For one bar: what overlaps is cut, neighbours of one kind are one."""
        return tuple(_slices(self.spans, self.from_ms, max(1, self.total_ms)))


def waterfall(life: TurnLife, sents: Sequence[Sent] = (), *, ahead_ms: int = 0) -> Waterfall:
    """Of one turn. ahead_ms: by how much koi's clock is ahead of Telegram's (tests)."""
    spans = sorted(
        (one for one in (*_before(life, ahead_ms), *_work(life), *_after(life, sents)) if one.took_ms >= 0),
        key=lambda one: (one.from_ms, one.to_ms),
    )
    if not spans:
        return Waterfall((), life.committed_ms, life.committed_ms)
    return Waterfall(tuple(spans), spans[0].from_ms, max(one.to_ms for one in spans))


def _before(life: TurnLife, ahead_ms: int) -> Iterator[Span]:
    """Telegram's clock gives whole seconds and may go wrong: a span that cannot be is left out."""
    sent_ms = life.sent_ms + ahead_ms
    if life.sent_ms and 1000 <= life.received_ms - sent_ms <= MOST_MS:
        yield _span("telegram", sent_ms, life.received_ms)
    began = [one.ended_ms - one.took_ms for one in life.attempts]
    yield _span("queue", life.received_ms, max(life.received_ms, min([life.taken_ms, *began])))


def _work(life: TurnLife) -> Iterator[Span]:
    """Attempts of the turn before the last one stand where they were, with their calls."""
    if life.built_ms:
        yield _span("memory", life.taken_ms, life.built_ms)
    for one in life.attempts:
        tone = "running" if one.outcome in ENDED_WELL and _is_asked(life, one.model) else "fallback"
        yield Span("call", one.ended_ms - one.took_ms, one.ended_ms, tone, one.model, one.outcome, one.detail)
    for tool in life.tools:
        if tool.ended_ms:
            yield Span(
                "tool", tool.ended_ms - tool.took_ms, tool.ended_ms, TONES["tool"], tool.name, tool.outcome
            )
    ends = (
        life.taken_ms, life.built_ms, *(one.ended_ms for one in life.attempts), *(one.ended_ms for one in life.tools)
    )  # fmt: skip
    yield _span(
        "commit",
        max(end for end in ends if end <= life.committed_ms or end == life.taken_ms),
        life.committed_ms,
    )


def _is_asked(life: TurnLife, model: str) -> bool:
    return not life.asked or model == life.asked


def _after(life: TurnLife, sents: Iterable[Sent]) -> Iterator[Span]:
    for sent in sents:
        yield _span("outbox", life.committed_ms, sent.taken_ms)
        yield Span(
            "send", sent.taken_ms, max((*sent.sent_ms, sent.taken_ms)), TONES["send"], outcome=sent.outcome
        )


def _span(step: Step, from_ms: int, to_ms: int) -> Span:
    return Span(step, from_ms, to_ms, TONES[step])


def _slices(spans: Sequence[Span], from_ms: int, whole_ms: int) -> Iterator[Slice]:
    at = from_ms
    open_slice: Slice | None = None
    for span in spans:
        for tone, step, until in (("", "", span.from_ms), (span.tone, span.step, span.to_ms)):
            if until <= at:
                continue
            percent, at = 100 * (until - at) / whole_ms, until
            if open_slice is not None and (open_slice.tone, open_slice.step) == (tone, step):
                open_slice = Slice(tone, step, round(open_slice.percent + percent, 2))
                continue
            if open_slice is not None:
                yield open_slice
            open_slice = Slice(tone, step, round(percent, 2))
    if open_slice is not None:
        yield open_slice
