"""Each call is asked for before it is made, and ends in its record: what reservations of money rely on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from llm.call import BeforeCall
from llm.errors import NoModelAnswered, NotAllowed
from llm.request import (
    Allowed,
    CallEnded,
    CallPlanned,
    Completion,
    Denied,
    ModelRequest,
    Permit,
    Skipped,
)
from tests.llm.scripted import HELLO, OVERLOADED, ScriptedProvider, Step, asking, jumping, says


@dataclass
class Purse:
    """Denies these models."""

    denied: frozenset[str] = frozenset()
    most_tokens: int = 1000
    planned: list[CallPlanned] = field(default_factory=list[CallPlanned])

    async def __call__(self, planned: CallPlanned) -> Permit:
        self.planned.append(planned)
        if planned.model in self.denied:
            return Denied(f"{planned.model} is not in the plan")
        return Allowed(self.most_tokens)


def permitted(
    purse: BeforeCall, *scripts: Sequence[Sequence[Step]]
) -> tuple[list[ScriptedProvider], list[CallEnded], Completion]:
    it = asking(*scripts)

    async def ask() -> Completion:
        deadline_at = asyncio.get_running_loop().time() + 120
        return await it.chain().complete(HELLO, deadline_at=deadline_at, on_call=it.record, before_call=purse)

    return it.providers, it.recorded, jumping(ask())


def test_each_call_is_permitted_before_it_is_made_under_the_id_it_ends_with() -> None:
    purse = Purse()

    providers, recorded, _ = permitted(purse, [[OVERLOADED]], [says("yes")])

    assert [planned.id for planned in purse.planned] == [ended.id for ended in recorded]
    assert [(planned.service, planned.model) for planned in purse.planned] == [
        ("compatible", "a"), ("compatible", "a"), ("compatible", "b"),
    ]  # fmt: skip
    assert purse.planned[0].request == providers[0].requests[0] == HELLO


@pytest.mark.parametrize(("allowed", "sent"), [(40, 40), (0, 1), (5000, HELLO.max_tokens)])
def test_a_permit_may_shorten_the_answer_but_not_lengthen_it(allowed: int, sent: int) -> None:
    providers, _, _ = permitted(Purse(most_tokens=allowed), [says("yes")])

    assert providers[0].requests[0].max_tokens == sent


def test_a_model_that_is_denied_leads_to_the_next_one_and_is_told() -> None:
    providers, recorded, completion = permitted(Purse(frozenset("a")), [says("no")], [says("yes")])

    assert completion.text == "yes"
    assert completion.skipped == (Skipped("compatible", "a", "permit", "a is not in the plan"),)
    assert providers[0].requests == []
    assert [ended.model for ended in recorded] == ["b"]


def test_when_every_model_is_denied_nobody_is_called() -> None:
    with pytest.raises(NotAllowed, match="a is not in the plan"):
        permitted(Purse(frozenset("ab")), [says("no")], [says("no")])


def test_a_failure_before_a_denial_stays_a_failure() -> None:
    with pytest.raises(NoModelAnswered) as nobody:
        permitted(Purse(frozenset("b")), [[OVERLOADED]], [says("no")])

    assert nobody.value.reason == "a: overloaded (HTTP 529); b: not asked (b is not in the plan)"
    assert nobody.value.worth_retrying


def test_a_model_that_paused_and_may_not_go_on_is_interrupted() -> None:
    asked: list[CallPlanned] = []

    async def once(planned: CallPlanned) -> Permit:
        asked.append(planned)
        return Allowed(100) if len(asked) == 1 else Denied("used up")

    _, _, completion = permitted(once, [says("so far", "pause_turn"), says("no")])

    assert (completion.text, completion.ending) == ("sofar", "interrupted")
    assert asked[1].request.messages[-1].text == "sofar"


def test_a_permitted_call_ends_in_its_record_also_when_the_turn_is_cancelled() -> None:
    it = asking([(1000.0,)])
    purse = Purse()

    async def cancelled() -> None:
        deadline_at = asyncio.get_running_loop().time() + 120
        async with asyncio.timeout(10):
            await it.chain().complete(HELLO, deadline_at=deadline_at, on_call=it.record, before_call=purse)

    with pytest.raises(TimeoutError):
        jumping(cancelled())
    assert [(ended.id, ended.outcome) for ended in it.recorded] == [(purse.planned[0].id, "abandoned")]


def test_what_goes_wrong_while_asking_for_a_permit_ends_the_turn_without_a_call() -> None:
    async def broken(planned: CallPlanned) -> Permit:
        raise OSError(planned.id)

    it = asking([says("no")])
    with pytest.raises(OSError, match="call-0"):
        jumping(it.chain().complete(HELLO, deadline_at=1e12, on_call=it.record, before_call=broken))
    assert it.recorded == []
    assert it.providers[0].requests == []


def test_the_record_says_which_effort_was_told() -> None:
    request = ModelRequest("", HELLO.messages, 100, effort="high")
    it = asking([says("yes")])

    jumping(it.ask(request))

    assert it.recorded[0].effort == ""  # a compatible service is not told
