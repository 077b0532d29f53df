"""Whoever asked wants no more: the answer ends at once, with what was said."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from infra.redis_port import RedisPort
from llm.breaker import Breaker
from llm.call import BeforeCall
from llm.candidates import Candidate
from llm.chain import Chain
from llm.events import Finished, Grew, Heard, Opened, Stopped, Text, Used
from llm.failure import Failure
from llm.halt import Halt
from llm.request import Allowed, CallEnded, CallPlanned, Completion, Permit, ToolUse, Usage
from llm.standing import Closed
from tests.llm.scripted import (
    HELLO,
    OVERLOADED,
    SERVICE,
    USED,
    ScriptedProvider,
    Step,
    jumping,
    says,
    silent,
)

SLOWLY = (USED, Text("one "), 1.0, Text("two "), 100.0, Text("three"), Stopped("end_turn"), Finished())


@dataclass
class Halted:
    """A chain that is halted after some seconds."""

    scripts: tuple[tuple[tuple[Step, ...], ...], ...]
    after_s: float
    recorded: list[CallEnded] = field(default_factory=list[CallEnded])
    took_s: float = -1.0
    providers: list[ScriptedProvider] = field(default_factory=list[ScriptedProvider])
    before_call: BeforeCall | None = None
    breaker: Breaker | None = None

    async def ask(self) -> Completion:
        self.providers = [ScriptedProvider(each) for each in self.scripts]
        links = [(Candidate(SERVICE, model), one) for model, one in zip("ab", self.providers, strict=False)]
        chain = Chain(links, chance=lambda: 0.5, new_id=lambda: "call", breaker=self.breaker)
        halt, loop = Halt(), asyncio.get_running_loop()
        started = loop.time()
        if self.after_s:
            loop.call_later(self.after_s, halt.set)
        else:
            halt.set()
        try:
            return await chain.complete(
                HELLO, deadline_at=started + 120, on_call=self.record, before_call=self.before_call, halt=halt
            )
        finally:
            self.took_s = loop.time() - started

    async def record(self, ended: CallEnded) -> None:
        self.recorded.append(ended)

    @property
    def asked(self) -> list[int]:
        return [len(one.requests) for one in self.providers]


def test_what_was_said_stays_and_nobody_else_is_asked() -> None:
    it = Halted(((SLOWLY,), (says("no"),)), after_s=5)

    completion = jumping(it.ask())

    assert (completion.text, completion.ending, completion.model) == ("one two ", "stopped", "a")
    assert it.took_s == pytest.approx(5, abs=0.1)
    assert it.asked == [1, 0]
    assert [call.outcome for call in it.recorded] == ["interrupted"]
    assert completion.usage.input_tokens == 10


def test_a_model_that_was_still_silent_leaves_no_text() -> None:
    it = Halted(((silent(100),), (says("no"),)), after_s=5)

    completion = jumping(it.ask())

    assert (completion.text, completion.ending) == ("", "stopped")
    assert it.took_s == pytest.approx(5, abs=0.1)
    assert it.asked == [1, 0]


def test_halted_before_it_began_nobody_is_asked() -> None:
    it = Halted(((says("no"),),), after_s=0)

    assert jumping(it.ask()) == Completion("", "a", "a", "stopped", Usage(), ())
    assert it.asked == [0]


def test_no_second_try_is_made_and_the_wait_before_it_ends() -> None:
    it = Halted((((Failure("rate_limited", retry_after_s=60),), says("no")),), after_s=5)

    completion = jumping(it.ask())

    assert (completion.text, completion.ending) == ("", "stopped")
    assert [call.outcome for call in completion.calls] == ["rate_limited"]
    assert it.took_s == pytest.approx(5, abs=0.1)
    assert it.asked == [1]


def test_text_of_a_failed_try_is_not_what_was_said() -> None:
    it = Halted((((USED, Text("wrong"), OVERLOADED), (USED, Text("right"), 100.0)),), after_s=5)

    completion = jumping(it.ask())

    assert (completion.text, completion.ending) == ("right", "stopped")


def test_what_was_said_before_a_pause_is_kept() -> None:
    first = (USED, Text("one "), Stopped("pause_turn"), Finished())
    it = Halted(((first, (USED, Text("two"), 100.0)),), after_s=5)

    assert jumping(it.ask()).text == "one two"


def test_a_call_that_was_permitted_meanwhile_is_ended_at_once() -> None:
    async def slowly(planned: CallPlanned) -> Permit:
        await asyncio.sleep(10)
        return Allowed(planned.request.max_tokens)

    it = Halted((((100.0,),),), after_s=5, before_call=slowly)  # not one event

    assert jumping(it.ask()).ending == "stopped"
    assert it.took_s == pytest.approx(10, abs=0.1)
    assert [call.outcome for call in it.recorded] == ["interrupted"]  # a permit is always settled


def test_an_answer_that_was_whole_is_whole() -> None:
    it = Halted((((*says("yes"), 100.0),),), after_s=0.2)

    assert jumping(it.ask()).ending == "complete"


def test_half_a_call_of_a_tool_is_no_call() -> None:
    tool: tuple[Heard, ...] = (
        Opened(0, {"type": "tool_use", "id": "t1", "name": "x", "input": {}}),
        Grew(0, "input", '{"a'),
    )
    it = Halted((((USED, *tool, 100.0),),), after_s=5)

    completion = jumping(it.ask())

    assert (completion.ending, completion.uses) == ("stopped", tuple[ToolUse, ...]())


def test_what_was_written_is_billed_though_the_service_did_not_say_how_much() -> None:
    begun = Used(Usage(10, 0, 0, 1))
    it = Halted((((begun, Text("x" * 4_000), Grew(0, "thinking", "?"), 100.0),),), after_s=5)

    assert jumping(it.ask()).usage.output_tokens == 1000
    assert it.recorded[0].usage == Usage(10, 0, 0, 1000)


def test_of_a_service_that_counts_nothing_nothing_is_invented() -> None:
    it = Halted((((Text("x" * 4_000), 100.0),),), after_s=5)

    jumping(it.ask())

    assert it.recorded[0].usage == Usage()


@pytest.mark.parametrize(("script", "left"), [(SLOWLY, 0), (((100.0),), 1)], ids=["it spoke", "silent"])
async def test_the_breaker_hears_of_no_failure(redis: RedisPort, script: tuple[Step, ...], left: int) -> None:
    breaker = Breaker(redis)
    candidate = Candidate(SERVICE, "a")
    fails = Halted(
        (((Failure("overloaded"),),),), after_s=0.2, breaker=breaker
    )  # halted before the second try
    await fails.ask()
    assert (await breaker.read([candidate]))[candidate] == Closed(1)

    await replace(fails, scripts=((script,),), recorded=[]).ask()

    assert (await breaker.read([candidate]))[candidate] == Closed(left)
