"""How the chain walks: pure asyncio on a clock that jumps, so the waits are real and cost nothing."""

import asyncio
from dataclasses import replace

import pytest

from infra.settings import Settings
from llm.chain import Chain, build_chain
from llm.errors import NoModelAnswered, RequestRejected
from llm.events import Finished, Stopped, Text
from llm.failure import Failure
from llm.request import CallEnded, Completion, Message, Usage
from llm.walk import MAX_PAUSES
from tests.llm.scripted import (
    HELLO,
    OVERLOADED,
    USED,
    Asking,
    asking,
    jumping,
    says,
    silent,
    thinking,
)

CUT = (USED, *(Text("word ") for _ in range(200)), Failure("broken", "ReadError"))


def test_the_first_model_answers_and_nobody_else_is_asked() -> None:
    it = asking([says("Hello there")], [says("no")])

    completion = jumping(it.ask())

    assert completion.text == "Hellothere"
    assert (completion.model, completion.asked, completion.ending) == ("a", "a", "complete")
    assert completion.usage == Usage(10, 0, 0, 5)
    assert completion.calls == tuple(it.recorded)
    (ended,) = it.recorded
    assert replace(ended, took_ms=0) == CallEnded(
        "call-0", "compatible", "a", "answered", 0, Usage(10, 0, 0, 5)
    )


def test_a_model_that_is_always_overloaded_leads_to_the_next_one() -> None:  # C23
    it = asking([[OVERLOADED]], [says("yes")], chance=0.5)

    completion = jumping(it.ask())

    assert (completion.text, completion.model, completion.asked) == ("yes", "b", "a")
    assert it.outcomes == [("a", "overloaded"), ("a", "overloaded"), ("b", "answered")]
    assert it.took_s == pytest.approx(0.5, abs=0.1)


def test_a_model_that_asks_for_ninety_seconds_is_left_at_once() -> None:
    it = asking([[Failure("rate_limited", retry_after_s=90)]], [says("yes")])

    completion = jumping(it.ask())

    assert completion.model == "b"
    assert it.outcomes == [("a", "rate_limited"), ("b", "answered")]
    assert it.took_s < 1


def test_the_only_model_is_asked_again_after_exactly_the_time_it_asked_for() -> None:
    it = asking([[Failure("rate_limited", retry_after_s=90)], says("yes")])

    completion = jumping(it.ask())

    assert completion.text == "yes"
    assert it.took_s == pytest.approx(90, abs=0.1)


def test_a_stream_cut_after_200_tokens_is_answered_whole_by_the_second_try() -> None:
    it = asking([CUT, says("right")], [says("no")])

    completion = jumping(it.ask())

    assert (completion.text, completion.model) == ("right", "a")
    assert it.outcomes == [("a", "broken"), ("a", "answered")]


def test_two_models_are_never_spliced() -> None:
    it = asking([CUT], [says("right")])

    completion = jumping(it.ask())

    assert (completion.text, completion.model) == ("right", "b")
    assert completion.usage == Usage(10, 0, 0, 5)


def test_a_stream_that_ends_without_a_stop_reason_is_not_an_answer() -> None:
    it = asking([[USED, Text("half a")]], [says("right")])

    completion = jumping(it.ask())

    assert completion.text == "right"
    assert it.outcomes == [("a", "broken"), ("a", "broken"), ("b", "answered")]


def test_a_fault_of_the_request_is_told_at_once() -> None:
    it = asking([[Failure("rejected", "HTTP 400")]], [says("no")])

    with pytest.raises(RequestRejected) as rejected:
        jumping(it.ask())

    assert not rejected.value.too_long
    assert rejected.value.reason == "a: rejected (HTTP 400)"
    assert rejected.value.calls == tuple(it.recorded)
    assert it.outcomes == [("a", "rejected")]


def test_a_request_that_is_too_long_is_told_as_that() -> None:
    with pytest.raises(RequestRejected) as rejected:
        jumping(asking([[Failure("too_long")]]).ask())

    assert rejected.value.too_long


def test_a_wrong_key_skips_the_candidate() -> None:
    it = asking([[Failure("unauthorized")]], [[Failure("unknown_model")]], [says("yes")])

    assert jumping(it.ask()).model == "c"
    assert it.outcomes == [("a", "unauthorized"), ("b", "unknown_model"), ("c", "answered")]


def test_when_everything_is_down_it_is_told_with_all_reasons() -> None:
    it = asking([[OVERLOADED]], [[Failure("broken", "ConnectError")]])

    with pytest.raises(NoModelAnswered) as nobody:
        jumping(it.ask())

    assert nobody.value.reason == "a: overloaded (HTTP 529); b: broken (ConnectError)"
    assert nobody.value.worth_retrying
    assert nobody.value.retry_after_s is None
    assert len(nobody.value.calls) == 4


def test_when_only_the_settings_can_help_trying_again_is_not_worth_it() -> None:
    with pytest.raises(NoModelAnswered) as nobody:
        jumping(asking([[Failure("unauthorized")]], [[Failure("unpaid")]]).ask())

    assert not nobody.value.worth_retrying


def test_when_all_ask_for_time_the_least_of_it_is_handed_on() -> None:
    it = asking(
        [[Failure("rate_limited", retry_after_s=300)]], [[Failure("rate_limited", retry_after_s=200)]]
    )

    with pytest.raises(NoModelAnswered) as nobody:
        jumping(it.ask())

    assert nobody.value.retry_after_s == 200


def test_silent_models_end_before_the_deadline_and_the_last_one_gets_half_of_it() -> None:
    it = asking([silent(1000)], [silent(1000)], [says("yes")])

    completion = jumping(it.ask(deadline_s=120))

    assert completion.model == "c"
    assert it.outcomes == [("a", "timeout"), ("b", "timeout"), ("c", "answered")]
    assert it.took_s == pytest.approx(60, abs=0.1)


def test_a_model_that_thinks_too_long_leaves_time_for_the_next_one() -> None:
    it = asking([thinking(1000)], [says("yes")])

    assert jumping(it.ask(deadline_s=120)).model == "b"
    assert it.took_s == pytest.approx(60, abs=0.1)


def test_a_model_that_stalls_in_its_text_is_left_soon() -> None:
    it = asking([[USED, Text("so far"), 1000.0]], [says("yes")])

    assert jumping(it.ask()).text == "yes"
    assert it.took_s == pytest.approx(15, abs=0.1)


def test_a_slow_model_alone_may_take_the_whole_deadline() -> None:
    it = asking([[USED, 110.0, *says("yes")]])

    assert jumping(it.ask(deadline_s=120)).text == "yes"


def test_text_that_still_comes_at_the_deadline_is_given_as_interrupted() -> None:
    it = asking([[step for _ in range(100) for step in (Text("word "), 5.0)]], [says("no")])

    completion = jumping(it.ask(deadline_s=120))

    assert completion.ending == "interrupted"
    assert completion.text == "word " * 24
    assert it.outcomes == [("a", "interrupted")]
    assert it.took_s == pytest.approx(120, abs=0.1)


def test_with_less_than_a_second_left_nobody_else_is_asked() -> None:
    slow = (*(step for _ in range(12) for step in (Text("word "), 9.95)), OVERLOADED)
    it = asking([slow], [says("no")])

    with pytest.raises(NoModelAnswered):
        jumping(it.ask(deadline_s=120))

    assert it.outcomes == [("a", "overloaded")]


def test_everything_down_and_silent_still_ends_at_the_deadline() -> None:
    it = asking([silent(1000)], [silent(1000)])

    with pytest.raises(NoModelAnswered) as nobody:
        jumping(it.ask(deadline_s=120))

    assert it.outcomes == [("a", "timeout"), ("b", "deadline")]
    assert nobody.value.worth_retrying
    assert it.took_s == pytest.approx(120, abs=0.1)


def test_after_the_deadline_nobody_is_asked() -> None:
    it = asking([says("no")])

    with pytest.raises(NoModelAnswered) as nobody:
        jumping(it.ask(deadline_s=0))

    assert nobody.value.calls == ()
    assert nobody.value.reason == "no time was left to ask a model"


def test_a_refusal_stands_and_is_not_carried_to_another_model() -> None:
    it = asking([says("I would rath", "refusal")], [says("no")])

    completion = jumping(it.ask())

    assert (completion.text, completion.ending, completion.model) == ("", "refused", "a")
    assert it.outcomes == [("a", "refused")]


def test_an_empty_answer_leads_to_the_next_model() -> None:
    it = asking([[USED, Text(" "), Stopped("end_turn")]], [says("yes")])

    assert jumping(it.ask()).text == "yes"
    assert it.outcomes == [("a", "empty"), ("b", "answered")]


def test_an_answer_that_ran_into_max_tokens_is_kept_and_marked() -> None:
    completion = jumping(asking([says("long", "max_tokens")]).ask())

    assert (completion.text, completion.ending) == ("long", "truncated")


def test_a_model_that_pauses_goes_on_where_it_was() -> None:
    it = asking([says("one ", "pause_turn"), says("two")])

    completion = jumping(it.ask())

    assert (completion.text, completion.ending) == ("onetwo", "complete")
    assert completion.usage == Usage(20, 0, 0, 10)
    assert it.providers[0].requests[1].messages == (*HELLO.messages, Message("assistant", "one"))
    assert it.outcomes == [("a", "paused"), ("a", "answered")]


def test_a_model_that_pauses_for_ever_is_interrupted() -> None:
    it = asking([says("on", "pause_turn")])

    completion = jumping(it.ask())

    assert (completion.text, completion.ending) == ("on" * (1 + MAX_PAUSES), "interrupted")
    assert len(it.recorded) == 1 + MAX_PAUSES


def test_what_was_said_before_a_pause_is_kept_if_the_service_refuses_to_go_on() -> None:
    completion = jumping(asking([says("so far", "pause_turn"), [Failure("rejected")]]).ask())

    assert (completion.text, completion.ending) == ("sofar", "interrupted")


def test_a_failure_after_a_pause_begins_the_answer_anew() -> None:
    it = asking([says("one", "pause_turn"), [OVERLOADED], says("whole")])

    assert jumping(it.ask()).text == "whole"


def test_a_server_that_leaves_the_connection_open_does_not_hold_the_answer_up() -> None:
    it = asking([[*says("yes"), 1000.0]])

    assert jumping(it.ask()).text == "yes"
    assert it.took_s < 1


def test_shown_text_is_always_the_whole_of_one_attempt() -> None:
    shown: list[str] = []

    async def show(text: str) -> None:
        shown.append(text)

    it = asking(
        [[Text("wrong "), OVERLOADED], [Text("one "), Stopped("pause_turn"), Finished()], says("two")]
    )
    it.on_text = show

    assert jumping(it.ask()).text == "one two"
    assert shown == ["wrong ", "one ", "one two"]


def test_what_goes_wrong_while_showing_is_not_taken_for_a_slow_model() -> None:
    async def show(text: str) -> None:
        raise TimeoutError(text)

    it = asking([says("yes")])
    it.on_text = show

    with pytest.raises(TimeoutError, match="yes"):
        jumping(it.ask())


def test_a_call_that_nobody_waits_for_any_more_is_recorded_with_its_tokens() -> None:
    it = asking([silent(1000)], [says("no")])

    with pytest.raises(asyncio.CancelledError):
        jumping(_cancelled(it, after_s=10))

    assert it.outcomes == [("a", "abandoned")]
    assert it.recorded[0].usage == Usage(10, 0, 0, 5)
    assert it.recorded[0].took_ms == pytest.approx(10_000, abs=100)


def test_a_record_that_fails_does_not_swallow_the_cancellation() -> None:
    class Unrecorded(Asking):
        async def record(self, ended: CallEnded) -> None:
            raise OSError(ended.id)

    it = Unrecorded(asking([silent(1000)]).providers)

    with pytest.raises(asyncio.CancelledError):
        jumping(_cancelled(it, after_s=10))


def test_a_record_that_fails_ends_the_walk() -> None:
    class Unrecorded(Asking):
        async def record(self, ended: CallEnded) -> None:
            raise OSError(ended.id)

    it = Unrecorded(asking([says("yes")]).providers)

    with pytest.raises(OSError, match="call-0"):
        jumping(it.ask())


async def test_providers_are_prepared_and_closed_with_the_chain() -> None:
    it = asking([says("yes")], [says("no")])
    chain = it.chain()

    await chain.prepare()
    await chain.aclose()

    assert [(each.prepared, each.closed) for each in it.providers] == [(1, 1), (1, 1)]
    assert not chain.offline


async def test_the_chain_of_no_settings_is_the_offline_model() -> None:
    chain: Chain = build_chain(Settings())

    assert chain.offline
    completion: Completion = await chain.complete(
        HELLO, deadline_at=asyncio.get_running_loop().time() + 10, on_call=_nothing
    )
    assert "“Hello”" in completion.text
    assert completion.model == "offline"
    assert completion.usage == Usage(0, 0, 0, 0)


async def _cancelled(it: Asking, *, after_s: float) -> None:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(it.ask())
        await asyncio.sleep(after_s)
        asked.cancel()
    await asked


async def _nothing(ended: CallEnded) -> None:
    assert ended.outcome == "answered"
