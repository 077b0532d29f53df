"""The calls of one completion: each is permitted before it is made, recorded when it is over, and told to the breaker."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from llm.blocks import NOTHING, TEXT, Content, Gathered, as_json, resumable
from llm.breaker import Breaker
from llm.candidates import Candidate
from llm.draft import Draft, Ended, Paused, Verdict, verdict_on
from llm.failure import Failure
from llm.halt import Halt
from llm.patience import patience_for
from llm.payload import effort_for, offers_tools, web_reach
from llm.provider import Provider, ShowText, listen
from llm.request import (
    UNKNOWN,
    Allowed,
    CallEnded,
    CallPlanned,
    Denied,
    Ending,
    Message,
    ModelRequest,
    Outcome,
    Permit,
    Verbatim,
)
from llm.standing import SAYS_NOTHING, Signal, State, signal_of

type Link = tuple[Candidate, Provider]
"""Who is asked, and through what."""

type OnCall = Callable[[CallEnded], Awaitable[None]]
"""Gets each call when it is over, in order, also if the turn was cancelled meanwhile; what it raises ends the walk."""

type BeforeCall = Callable[[CallPlanned], Awaitable[Permit]]
"""Asked before each call. A call that it allowed always ends in OnCall, under the same id. If it is cancelled itself, or
raises, there is no call: what it reserved by then is its own to give back.
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for all calls of one completion."""

    deadline_at: float
    """Seconds of the running loop's `time()`."""
    on_call: OnCall
    on_text: ShowText | None = None
    before_call: BeforeCall | None = None
    halt: Halt | None = None

    @property
    def halted(self) -> bool:
        return self.halt is not None and self.halt.is_set()

    async def pause(self, seconds: float) -> None:
        """Sleep; not after it was halted."""
        await (asyncio.sleep(seconds) if self.halt is None else self.halt.pause(seconds))


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said before it paused."""

    text: str = ""
    content: tuple[Content, ...] = ()
    """The same with all that is not text, if there is any."""

    def then(self, text: str, content: tuple[Content, ...]) -> "Said":
        """And what it said in the next call."""
        if not self.content and not content:
            return Said(self.text + text)
        before = self.content or _plain(self.text)
        return Said(self.text + text, (*before, *(content or _plain(text))))


NOTHING_SAID = Said()
STOPPED = Ended("stopped")
"""What was said by then stands, however little it is."""
OUTCOMES: Mapping[Ending, Outcome] = {
    "complete": "answered", "tools": "tools", "truncated": "truncated", "refused": "refused",
    "interrupted": "interrupted", "stopped": "interrupted",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Called:
    """One call that is over."""

    draft: Draft
    verdict: Verdict
    gathered: Gathered


@dataclass(slots=True)
class Calls:
    """What was called so far, and how the models stand."""

    terms: Terms
    new_id: Callable[[], str]
    breaker: Breaker | None
    states: dict[Candidate, State]
    made: list[CallEnded] = field(default_factory=list[CallEnded])

    async def make(
        self, link: Link, request: ModelRequest, *, followers: int, said: Said = NOTHING_SAID
    ) -> Called | Denied:
        """One call; none, once it was halted. `said`: what the model said before it paused. `followers`: who can be asked
        after it.
        """
        candidate, provider = link
        if self.terms.halted:
            return Called(Draft(), STOPPED, NOTHING)
        planned = _planned(self.new_id(), candidate, _continued(request, said, candidate))
        permit = None if self.terms.before_call is None else await self.terms.before_call(planned)
        if isinstance(permit, Denied):
            return permit
        now = asyncio.get_running_loop().time
        started, draft = now(), Draft()
        ended = _abandoned(planned, candidate)
        patience = patience_for(now=started, deadline_at=self.terms.deadline_at, followers=followers)
        try:
            events = provider.stream(candidate.model, _within(planned.request, permit))
            failure = await listen(events, draft, patience, self._shower(said.text), self.terms.halt)
        except BaseException as error:  # noqa: BLE001 (raised again below)
            try:
                await self._over(ended, draft, now() - started)
                await self._tell(candidate, SAYS_NOTHING)
            finally:
                raise error  # a cancellation above all, also if the record failed
        called, took_s = _called(draft, failure, request, candidate, said), now() - started
        verdict = called.verdict
        detail = failure.detail if failure else verdict.detail if isinstance(verdict, Failure) else ""
        await self._over(replace(ended, outcome=_outcome(verdict), detail=detail), draft, took_s)
        await self._tell(candidate, _signal(called, took_s))
        return called

    async def _over(self, ended: CallEnded, draft: Draft, took_s: float) -> None:
        self.made.append(replace(ended, took_ms=round(took_s * 1000), usage=draft.usage))
        await self.terms.on_call(self.made[-1])

    async def _tell(self, candidate: Candidate, signal: Signal) -> None:
        if self.breaker is not None:
            self.states[candidate] = await self.breaker.tell(candidate, self.states[candidate], signal)

    def _shower(self, said: str) -> ShowText | None:
        on_text = self.terms.on_text
        if on_text is None or not said:
            return on_text

        async def show(text: str) -> None:
            await on_text(said + text)

        return show


def _planned(call_id: str, candidate: Candidate, request: ModelRequest) -> CallPlanned:
    searches, web_tokens = web_reach(request, candidate.service)
    return CallPlanned(call_id, candidate.service.name, candidate.model, request, searches, web_tokens)


def _called(
    draft: Draft, failure: Failure | None, request: ModelRequest, candidate: Candidate, said: Said
) -> Called:
    gathered = NOTHING
    if draft.acts and draft.ended:
        taken = {use.id for message in request.messages for use in message.uses}
        gathered = draft.gather(taken=taken, calls=offers_tools(request, candidate.service))
    if draft.halted:
        return Called(draft, STOPPED, gathered)
    verdict = verdict_on(
        draft,
        failure,
        before=said.text,
        calls=bool(gathered.uses),
        after_tools=bool(request.messages[-1].results),
    )
    return Called(draft, verdict, gathered)


def _signal(called: Called, took_s: float) -> Signal:
    if called.draft.halted and not called.draft.heard:
        return SAYS_NOTHING
    return signal_of(called.verdict, heard=called.draft.heard, took_s=took_s)


def _abandoned(planned: CallPlanned, candidate: Candidate) -> CallEnded:
    """How the call ends if nobody waits for it any more."""
    effort = effort_for(planned.request, candidate.service, candidate.model) or ""
    return CallEnded(planned.id, planned.service, planned.model, "abandoned", 0, UNKNOWN, effort=effort)


def _continued(request: ModelRequest, said: Said, candidate: Candidate) -> ModelRequest:
    """After a pause: the same request with what was said so far as the model's beginning."""
    if said == NOTHING_SAID:
        return request
    verbatim = (
        verbatim_of(candidate, resumable(said.content))
        if any(block.get("type") != TEXT for block in said.content)
        else None
    )
    return replace(request, messages=(*request.messages, Message("assistant", said.text, verbatim=verbatim)))


def verbatim_of(candidate: Candidate, content: tuple[Content, ...]) -> Verbatim:
    """For the way back to who said it."""
    return Verbatim(candidate.service.name, candidate.model, as_json(content))


def _plain(text: str) -> tuple[Content, ...]:
    return ({"type": TEXT, "text": text},) if text.strip() else ()


def _within(request: ModelRequest, permit: Allowed | None) -> ModelRequest:
    if permit is None or permit.max_tokens >= request.max_tokens:
        return request
    return replace(request, max_tokens=max(1, permit.max_tokens))


def _outcome(verdict: Verdict) -> Outcome:
    match verdict:
        case Failure(kind=kind):
            return kind
        case Paused():
            return "paused"
        case Ended(ending=ending):
            return OUTCOMES[ending]
        case _:
            assert_never(verdict)
