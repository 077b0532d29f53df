"""One completion on its way through the candidates."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from llm.call import NOTHING_SAID, Called, Calls, Link, Said, verbatim_of
from llm.candidates import Candidate
from llm.draft import Ended, Paused
from llm.errors import NoModelAnswered, NotAllowed, RequestRejected
from llm.failure import SKIP, Failure
from llm.media import unseen_by
from llm.request import UNKNOWN, Completion, Denied, Ending, ModelRequest, Skipped, Usage, add_usage
from llm.retry import BACKOFF_S, SHORTEST_CALL_S, Again, GiveUp, Next, Reject, next_step
from llm.standing import Closed, LastResort, Open, last_resorts, ready, skipped_by
from llm.toolless import Lesson, Toolless, learned, lesson_of, refused, without

MAX_PAUSES = 3
"""How often a model may ask to go on in another call."""


class Walk:
    """Those whose breaker is closed (or whom this turn probes) in the order of the chain; then, if nobody answered, the
    others as a last resort.
    """

    def __init__(
        self,
        links: Sequence[Link],
        request: ModelRequest,
        calls: Calls,
        chance: Callable[[], float],
        *,
        toolless: Toolless,
        asked: str,
    ) -> None:
        """links: in the order in which they are asked. asked: the model that the chain would have asked first."""
        self.links = links
        self.candidates = [candidate for candidate, _ in links]
        self.request = request
        self.calls = calls
        self.chance = chance
        self.toolless = toolless
        self.asked = asked
        self.at_start = dict(calls.states)
        self.now = asyncio.get_running_loop().time
        self.began = self.now()
        self.last_failures: dict[Candidate, Failure] = {}
        self.denied: dict[Candidate, str] = {}

    async def run(self) -> Completion:
        """Raises: see Chain.complete."""
        places = ready(self.candidates, self.at_start)
        for nth, at in enumerate(places):
            result = await self._ask(self.links[at], followers=len(places) - nth - 1)
            if isinstance(result, Completion):
                return result
            if isinstance(result, GiveUp):
                break
        return await self._last_resort()

    async def _last_resort(self) -> Completion:
        """No message fails while there is somebody to ask; but one that was slow to fail, or that asked to be left alone
        for longer than there is time, is asked only if nobody else was.
        """
        resorts = last_resorts(
            self.candidates, self.at_start, left_s=self._left_s(), passed_s=self.now() - self.began
        )
        for nth, resort in enumerate(resorts):
            made = bool(self.calls.made)
            if self._left_s() <= (SHORTEST_CALL_S if made else 0.0) or (made and not resort.hopeful):
                break
            await self._wait(resort)
            hopeful_after = sum(other.hopeful for other in resorts[nth + 1 :])
            result = await self._ask(self.links[resort.at], followers=hopeful_after)
            if isinstance(result, Completion):
                return result
        raise self._nobody()

    async def _wait(self, resort: LastResort) -> None:
        if resort.wait_s:
            await self.calls.terms.pause(resort.wait_s + self.chance() * BACKOFF_S)

    async def _ask(self, link: Link, followers: int) -> Completion | Next | GiveUp:
        """All tries of one candidate."""
        candidate = link[0]
        tries, was_closed = 0, isinstance(self.calls.states[candidate], Closed)
        while self._left_s() > 0:
            tries += 1
            result = await self._attempt_without(link, followers)
            if isinstance(result, Completion):
                return result
            if isinstance(result, Denied):
                self.denied[candidate] = result.reason
                return Next()
            self.last_failures[candidate] = result
            is_open = isinstance(self.calls.states[candidate], Open)
            step = next_step(
                result,
                tries=tries,
                left_s=self._left_s(),
                followers=followers,
                chance=self.chance(),
                once=is_open and (followers > 0 or not was_closed),
            )
            match step:
                case Again(delay_s=delay_s):
                    await self.calls.terms.pause(delay_s)
                case Next() | GiveUp():
                    return step
                case Reject():
                    raise self._rejected(candidate, result)
                case _:
                    assert_never(step)
        return GiveUp()

    async def _attempt_without(self, link: Link, followers: int) -> Completion | Failure | Denied:
        """One answer; if the service refuses the pictures or the tools, one without them: it says less, but it is an
        answer.
        """
        candidate, lessons = link[0], list[Lesson]()
        request = self.toolless.spared(candidate, self.request, self.now())
        result = await self._attempt(link, request, followers)
        while isinstance(result, Failure) and (extra := refused(candidate, request, result)) is not None:
            lessons.append(lesson_of(request, extra, result))
            request = without(request, extra)
            result = await self._attempt(link, request, followers)
        is_answer = isinstance(result, Completion) and result.ending != "stopped"
        if is_answer and not candidate.service.first_party:
            for extra in learned(lessons):
                self.toolless.learn(candidate, self.now(), extra)
        if not isinstance(result, Completion):
            return result
        return replace(result, unseen=unseen_by(candidate.service.can, self.request, request))

    async def _attempt(
        self, link: Link, request: ModelRequest, followers: int
    ) -> Completion | Failure | Denied:
        """One answer: one call, and more of the same model if it pauses. Text of a failed attempt is dropped, so two
        models or two attempts are never spliced.
        """
        candidate, said, usage = link[0], NOTHING_SAID, UNKNOWN
        for _ in range(1 + MAX_PAUSES):
            called = await self.calls.make(link, request, followers=followers, said=said)
            if isinstance(called, Denied):
                return (
                    self._completion(candidate, said, "interrupted", usage) if said.text.strip() else called
                )
            usage = add_usage(usage, called.draft.usage)
            said = said.then(called.draft.text, called.gathered.content)
            match called.verdict:
                case Failure():
                    return called.verdict
                case Ended(ending="tools"):
                    return self._tools_called(candidate, said, called, usage)
                case Ended(ending=ending):
                    shown = NOTHING_SAID if ending == "refused" else said
                    return self._completion(candidate, shown, ending, usage)
                case Paused():
                    pass
                case _:
                    assert_never(called.verdict)
        if not said.text.strip():
            return Failure("empty", "no text, it only paused")
        return self._completion(candidate, said, "interrupted", usage)

    def _left_s(self) -> float:
        return self.calls.terms.deadline_at - self.now()

    def _completion(self, candidate: Candidate, said: Said, ending: Ending, usage: Usage) -> Completion:
        before = self.candidates[: self.candidates.index(candidate)]
        return Completion(
            said.text,
            candidate.model,
            self.asked,
            ending,
            usage,
            tuple(self.calls.made),
            self._skipped(before),
        )

    def _tools_called(self, candidate: Candidate, said: Said, called: Called, usage: Usage) -> Completion:
        completion = self._completion(candidate, said, "tools", usage)
        return replace(completion, uses=called.gathered.uses, verbatim=verbatim_of(candidate, said.content))

    def _skipped(self, among: Sequence[Candidate]) -> tuple[Skipped, ...]:
        """Those that were not asked, and why."""
        skipped: list[Skipped] = []
        for candidate in among:
            state = self.at_start[candidate]
            if candidate in self.last_failures:
                continue
            if candidate in self.denied:
                why = self.denied[candidate]
                skipped.append(Skipped(candidate.service.name, candidate.model, "permit", why))
            elif isinstance(state, Open):
                skipped.append(skipped_by(candidate, state))
        return tuple(skipped)

    def _rejected(self, candidate: Candidate, failure: Failure) -> RequestRejected:
        return RequestRejected(
            tuple(self.calls.made),
            _line(candidate, failure),
            too_long=failure.kind == "too_long",
            limit_tokens=failure.limit_tokens,
        )

    def _nobody(self) -> NoModelAnswered | NotAllowed:
        if self.denied and not self.calls.made:
            return NotAllowed(next(iter(self.denied.values())))
        skipped = self._skipped(self.candidates)
        lines = [_line(*last) for last in self.last_failures.items()]
        lines += [
            f"{each.model}: not asked ({each.why})" for each in skipped if each.by == "breaker" or lines
        ]
        askable = [candidate for candidate in self.candidates if candidate not in self.denied]
        whys = [self._why(candidate) for candidate in askable]
        return NoModelAnswered(
            tuple(self.calls.made),
            "; ".join(lines) or "no time was left to ask a model",
            retry_after_s=self._wait_asked(askable),
            worth_retrying=any(why not in SKIP for why in whys),
            skipped=skipped,
        )

    def _why(self, candidate: Candidate) -> str:
        """The newest failure; "": there is none."""
        if candidate in self.last_failures:
            return self.last_failures[candidate].kind
        state = self.at_start[candidate]
        return state.why if isinstance(state, Open) else ""

    def _wait_asked(self, askable: Sequence[Candidate]) -> float | None:
        """The least of what the services asked for, if all of them did."""
        waits = [self._wait_of(candidate) for candidate in askable]
        asked = [wait_s for wait_s in waits if wait_s is not None]
        return min(asked) if asked and len(asked) == len(waits) else None

    def _wait_of(self, candidate: Candidate) -> float | None:
        if candidate in self.last_failures:
            return self.last_failures[candidate].retry_after_s
        state = self.at_start[candidate]
        return state.wait_ms / 1000 if isinstance(state, Open) and state.asked else None


def _line(candidate: Candidate, failure: Failure) -> str:
    return f"{candidate.model}: {failure.kind}" + (f" ({failure.detail})" if failure.detail else "")
