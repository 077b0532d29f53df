"""The calls of one completion: each is permitted before it is made, recorded when it is over, and told to the breaker."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from llm.breaker import Breaker
from llm.candidates import Candidate
from llm.draft import Draft, Ended, Paused, Verdict, verdict_on
from llm.failure import Failure
from llm.patience import patience_for
from llm.payload import effort_for
from llm.provider import Provider, ShowText, listen
from llm.request import (
    UNKNOWN,
    Allowed,
    CallEnded,
    CallPlanned,
    Denied,
    Message,
    ModelRequest,
    Outcome,
    Permit,
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


@dataclass(slots=True)
class Calls:
    """What was called so far, and how the models stand."""

    terms: Terms
    new_id: Callable[[], str]
    breaker: Breaker | None
    states: dict[Candidate, State]
    made: list[CallEnded] = field(default_factory=list[CallEnded])

    async def make(
        self, link: Link, request: ModelRequest, *, followers: int, said: str
    ) -> tuple[Draft, Verdict] | Denied:
        """One call. `said`: what the model said before it paused. `followers`: who can be asked after it."""
        candidate, provider = link
        planned = _planned(self.new_id(), candidate, _continued(request, said))
        permit = None if self.terms.before_call is None else await self.terms.before_call(planned)
        if isinstance(permit, Denied):
            return permit
        now = asyncio.get_running_loop().time
        started, draft = now(), Draft()
        ended = _abandoned(planned, candidate)
        patience = patience_for(now=started, deadline_at=self.terms.deadline_at, followers=followers)
        try:
            events = provider.stream(candidate.model, _within(planned.request, permit))
            failure = await listen(events, draft, patience, self._shower(said))
        except BaseException as error:  # noqa: BLE001 (raised again below)
            try:
                await self._over(ended, draft, now() - started)
                await self._tell(candidate, SAYS_NOTHING)
            finally:
                raise error  # a cancellation above all, also if the record failed
        verdict, took_s = verdict_on(draft, failure, before=said), now() - started
        detail = failure.detail if failure else verdict.detail if isinstance(verdict, Failure) else ""
        await self._over(replace(ended, outcome=_outcome(verdict), detail=detail), draft, took_s)
        await self._tell(candidate, signal_of(verdict, heard=draft.heard, took_s=took_s))
        return draft, verdict

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
    return CallPlanned(call_id, candidate.service.name, candidate.model, request)


def _abandoned(planned: CallPlanned, candidate: Candidate) -> CallEnded:
    """How the call ends if nobody waits for it any more."""
    effort = effort_for(planned.request, candidate.service, candidate.model) or ""
    return CallEnded(planned.id, planned.service, planned.model, "abandoned", 0, UNKNOWN, effort=effort)


def _continued(request: ModelRequest, said: str) -> ModelRequest:
    """After a pause: the same request with what was said so far as the model's beginning."""
    if not said:
        return request
    return replace(request, messages=(*request.messages, Message("assistant", said)))


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
            return "answered" if ending == "complete" else ending
        case _:
            assert_never(verdict)
