"""Walks the candidates until one answers, under one deadline for the whole turn."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import assert_never
from uuid import uuid4

from infra.settings import Settings
from llm.candidates import OFFLINE_MODEL, Candidate, Service, candidates_from
from llm.draft import Draft, Ended, Paused, Verdict, verdict_on
from llm.errors import NoModelAnswered, RequestRejected
from llm.failure import SKIP, Failure
from llm.lazy import LazyProvider
from llm.offline import OfflineProvider
from llm.patience import patience_for
from llm.provider import Provider, ShowText, listen
from llm.request import (
    UNKNOWN,
    CallEnded,
    Completion,
    Ending,
    Message,
    ModelRequest,
    Outcome,
    Usage,
    add_usage,
)
from llm.retry import Again, GiveUp, Next, Reject, next_step

type OnCall = Callable[[CallEnded], Awaitable[None]]
"""Gets each call when it is over, in order, also if the turn was cancelled meanwhile; what it raises ends the walk."""

MAX_PAUSES = 3
"""How often a model may ask to go on in another call."""


class Chain:
    """The models of one bot, first choice first. Shared by all its turns."""

    def __init__(
        self,
        links: Iterable[tuple[Candidate, Provider]],
        *,
        chance: Callable[[], float] = random.random,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self.links = tuple(links)
        self.chance = chance
        self.new_id = new_id

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Who is asked, in order."""
        return tuple(candidate for candidate, _ in self.links)

    @property
    def offline(self) -> bool:
        """Only the built-in model answers."""
        return all(candidate.model == OFFLINE_MODEL for candidate in self.candidates)

    async def prepare(self) -> None:
        """Load what the first call needs (seconds of CPU, in a thread); without it the first call does."""
        for _, provider in self.links:
            await provider.prepare()

    async def aclose(self) -> None:
        """Close all connections."""
        for _, provider in self.links:
            await provider.aclose()

    async def complete(
        self, request: ModelRequest, *, deadline_at: float, on_call: OnCall, on_text: ShowText | None = None
    ) -> Completion:
        """One answer, from one model. `deadline_at`: seconds of the running loop's `time()`.

        Raises: RequestRejected, NoModelAnswered: see there. May be cancelled at any await.
        """
        return await _Walk(self, request, deadline_at, on_call, on_text).run()


def build_chain(settings: Settings, models: tuple[str, ...] = ()) -> Chain:
    """The chain for `models` (a bot's own), or for the settings' own; one provider per service.

    Raises: NotConfigured.
    """
    candidates = candidates_from(settings, models)
    providers = {candidate.service: provider_for(candidate.service) for candidate in candidates}
    return Chain((candidate, providers[candidate.service]) for candidate in candidates)


def provider_for(service: Service) -> Provider:
    """No connection is opened yet."""
    return OfflineProvider() if service.name == "offline" else LazyProvider(service)


class _Walk:
    """One completion on its way."""

    def __init__(
        self,
        chain: Chain,
        request: ModelRequest,
        deadline_at: float,
        on_call: OnCall,
        on_text: ShowText | None,
    ) -> None:
        self.chain = chain
        self.request = request
        self.deadline_at = deadline_at
        self.on_call = on_call
        self.on_text = on_text
        self.now = asyncio.get_running_loop().time
        self.calls: list[CallEnded] = []
        self.last_failures: dict[Candidate, Failure] = {}

    async def run(self) -> Completion:
        for position, (candidate, provider) in enumerate(self.chain.links):
            followers = len(self.chain.links) - position - 1
            completion = await self._ask(candidate, provider, followers)
            if completion is not None:
                return completion
        raise self._nobody()

    async def _ask(self, candidate: Candidate, provider: Provider, followers: int) -> Completion | None:
        """All tries of one candidate; None: go on to the next."""
        tries = 0
        while self.now() < self.deadline_at:
            tries += 1
            result = await self._attempt(candidate, provider, followers)
            if isinstance(result, Completion):
                return result
            self.last_failures[candidate] = result
            step = next_step(
                result,
                tries=tries,
                left_s=self.deadline_at - self.now(),
                followers=followers,
                chance=self.chain.chance(),
            )
            match step:
                case Again(delay_s=delay_s):
                    await asyncio.sleep(delay_s)
                case Next():
                    return None
                case Reject():
                    reason = _line(candidate, result)
                    raise RequestRejected(tuple(self.calls), reason, too_long=result.kind == "too_long")
                case GiveUp():
                    break
                case _:
                    assert_never(step)
        raise self._nobody()

    async def _attempt(
        self, candidate: Candidate, provider: Provider, followers: int
    ) -> Completion | Failure:
        """One answer: one call, and more of the same model if it pauses. Text of a failed attempt is dropped, so two
        models or two attempts are never spliced.
        """
        said, usage = "", UNKNOWN
        for _ in range(1 + MAX_PAUSES):
            draft, verdict = await self._call(candidate, provider, followers, said)
            usage = add_usage(usage, draft.usage)
            said += draft.text
            match verdict:
                case Failure():
                    return verdict
                case Ended(ending=ending):
                    return self._completion(candidate, "" if ending == "refused" else said, ending, usage)
                case Paused():
                    pass
                case _:
                    assert_never(verdict)
        return self._completion(candidate, said, "interrupted", usage)

    async def _call(
        self, candidate: Candidate, provider: Provider, followers: int, said: str
    ) -> tuple[Draft, Verdict]:
        """One call, recorded however it ends."""
        started = self.now()
        draft, call_id = Draft(), self.chain.new_id()
        patience = patience_for(now=started, deadline_at=self.deadline_at, followers=followers)
        ended = CallEnded(call_id, candidate.service.name, candidate.model, "abandoned", 0, UNKNOWN)
        try:
            events = provider.stream(candidate.model, _continued(self.request, said))
            failure = await listen(events, draft, patience, self._shower(said))
        except BaseException as error:  # noqa: BLE001 (raised again below)
            try:
                await self._record(ended, draft, started)
            finally:
                raise error  # a cancellation above all, also if the record failed
        verdict = verdict_on(draft, failure, before=said)
        detail = failure.detail if failure else verdict.detail if isinstance(verdict, Failure) else ""
        await self._record(replace(ended, outcome=_outcome(verdict), detail=detail), draft, started)
        return draft, verdict

    async def _record(self, ended: CallEnded, draft: Draft, started: float) -> None:
        took_ms = round((self.now() - started) * 1000)
        self.calls.append(replace(ended, took_ms=took_ms, usage=draft.usage))
        await self.on_call(self.calls[-1])

    def _shower(self, said: str) -> ShowText | None:
        on_text = self.on_text
        if on_text is None or not said:
            return on_text

        async def show(text: str) -> None:
            await on_text(said + text)

        return show

    def _completion(self, candidate: Candidate, text: str, ending: Ending, usage: Usage) -> Completion:
        asked = self.chain.links[0][0].model
        return Completion(text, candidate.model, asked, ending, usage, tuple(self.calls))

    def _nobody(self) -> NoModelAnswered:
        failures = self.last_failures.values()
        waits = [failure.retry_after_s for failure in failures if failure.retry_after_s is not None]
        return NoModelAnswered(
            tuple(self.calls),
            "; ".join(_line(*last) for last in self.last_failures.items())
            or "no time was left to ask a model",
            retry_after_s=min(waits) if waits and len(waits) == len(self.chain.links) else None,
            worth_retrying=len(failures) < len(self.chain.links)
            or any(failure.kind not in SKIP for failure in failures),
        )


def _continued(request: ModelRequest, said: str) -> ModelRequest:
    """After a pause: the same request with what was said so far as the model's beginning."""
    if not said:
        return request
    return replace(request, messages=(*request.messages, Message("assistant", said)))


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


def _line(candidate: Candidate, failure: Failure) -> str:
    return f"{candidate.model}: {failure.kind}" + (f" ({failure.detail})" if failure.detail else "")
