"""How the chain goes with tools: calls, pauses of the service's own tools, refusals, and the model that began."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from llm.call import BeforeCall
from llm.candidates import FIRST_PARTY, Candidate, Capabilities, Service
from llm.chain import Chain
from llm.errors import NoModelAnswered, RequestRejected
from llm.events import Finished, Grew, Heard, Opened, Stopped, Text
from llm.failure import Failure
from llm.request import (
    Allowed,
    CallEnded,
    CallPlanned,
    Completion,
    Message,
    ModelRequest,
    Permit,
    Tool,
    ToolResult,
    ToolUse,
    Verbatim,
)
from llm.toolless import REMEMBERED_S, Toolless
from llm.walk import MAX_PAUSES
from tests.llm.scripted import (
    HELLO,
    OVERLOADED,
    SERVICE,
    USED,
    ScriptedProvider,
    Step,
    asking,
    jumping,
    says,
    silent,
)

LOOK = Tool("look", "Look somewhere.", '{"type":"object"}')
TOOLS = replace(HELLO, tools=(LOOK,))
USE = ToolUse("t1", "look", '{"at":"home"}')
TOLD = replace(
    TOOLS,
    messages=(
        *HELLO.messages,
        Message("assistant", uses=(USE,)),
        Message("user", results=(ToolResult("t1", "it"),)),
    ),
)
ANTHROPIC = Service("anthropic", can=FIRST_PARTY)
REFUSED = Failure("rejected", "HTTP 400", about_tools=True)
SEARCH: tuple[Heard, ...] = (
    Opened(0, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
    Grew(0, "input", '{"query":"koi"}'),
    Opened(1, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}),
)  # fmt: skip
SEARCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "koi"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
]


def calls(*ids: str, text: str = "", stop_reason: str = "tool_use") -> tuple[Step, ...]:
    """An answer that calls `look` once for each id."""
    blocks = (
        step
        for at, each in enumerate(ids, 1)
        for step in (
            Opened(at, {"type": "tool_use", "id": each, "name": "look", "input": {}}),
            Grew(at, "input", '{"at":"home"}'),
        )
    )
    return (USED, *([Text(text)] if text else []), *blocks, Stopped(stop_reason), Finished())


def chain_of(
    provider: ScriptedProvider, service: Service = SERVICE, toolless: Toolless | None = None
) -> Chain:
    return Chain([(Candidate(service, "a"), provider)], chance=lambda: 0.0, toolless=toolless)


def ask(
    chain: Chain,
    *requests: ModelRequest,
    first: str = "",
    before_call: BeforeCall | None = None,
    pause_s: float = 0.0,
) -> list[Completion]:
    async def record(ended: CallEnded) -> None:
        assert ended

    async def ask_all() -> list[Completion]:
        answers: list[Completion] = []
        for request in requests:
            deadline_at = asyncio.get_running_loop().time() + 120
            answers.append(
                await chain.complete(
                    request, deadline_at=deadline_at, on_call=record, before_call=before_call, first=first
                )
            )
            await asyncio.sleep(pause_s)
        return answers

    return jumping(ask_all())


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("stop_reason", ["tool_use", "end_turn"])
def test_calls_are_given_with_the_answer_as_it_must_go_back(stop_reason: str) -> None:
    it = asking([calls("t1", "t2", text="I look.", stop_reason=stop_reason)])

    completion = jumping(it.ask(TOOLS))

    assert (completion.text, completion.ending) == ("I look.", "tools")
    assert completion.uses == (USE, replace(USE, id="t2"))
    assert completion.verbatim is not None
    assert (completion.verbatim.service, completion.verbatim.model) == ("compatible", "a")
    assert [block["type"] for block in json.loads(completion.verbatim.content)] == [
        "text",
        "tool_use",
        "tool_use",
    ]
    assert it.outcomes == [("a", "tools")]


def test_an_id_that_an_earlier_call_of_the_conversation_has_is_made_unique() -> None:
    completion = jumping(asking([calls("t1")]).ask(TOLD))

    assert completion.uses == (replace(USE, id="t1_2"),)
    assert completion.verbatim is not None
    assert '"id":"t1_2"' in completion.verbatim.content


@pytest.mark.parametrize(
    "request_", [HELLO, replace(TOLD, tools=())], ids=["never any", "the loop offers none any more"]
)
def test_calls_that_nobody_offered_are_not_given(request_: ModelRequest) -> None:
    completion = jumping(asking([calls("t1", text="I look.")]).ask(request_))

    assert (completion.text, completion.ending, completion.uses, completion.verbatim) == (
        "I look.",
        "complete",
        (),
        None,
    )


def test_blank_text_after_results_is_an_answer() -> None:
    completion = jumping(asking([[USED, Stopped("end_turn"), Finished()]]).ask(TOLD))

    assert (completion.text, completion.ending) == ("", "complete")


def test_blank_text_of_a_later_turn_is_a_failure_although_tools_were_used_before() -> None:
    later = replace(TOLD, messages=(*TOLD.messages, Message("assistant", "It."), Message("user", "Sure?")))

    with pytest.raises(NoModelAnswered):
        jumping(asking([[USED, Stopped("end_turn"), Finished()]]).ask(later))


def test_a_model_that_writes_a_long_call_is_not_taken_for_a_silent_one() -> None:
    slow = (step for _ in range(10) for step in (Grew(1, "input", " "), 10.0))
    it = asking(
        [[USED, Opened(1, {"type": "tool_use", "id": "t1", "name": "look"}), *slow, Stopped("tool_use")]],
        [says("no")],
    )

    assert jumping(it.ask(TOOLS)).ending == "tools"


def test_a_call_that_stalls_is_left_soon() -> None:
    it = asking([[USED, Opened(1, {"type": "tool_use", "id": "t1"}), 1000.0]], [says("yes")])

    assert jumping(it.ask(TOOLS)).text == "yes"
    assert it.took_s == pytest.approx(15, abs=0.1)


def test_a_search_may_take_longer_than_a_pause_in_a_text() -> None:
    it = asking(
        [[Text("I search. "), *SEARCH[:2], 40.0, SEARCH[2], Text("It is red."), Stopped("end_turn")]],
        [says("no")],
    )

    assert jumping(it.ask(TOOLS)).text == "I search. It is red."


# ── pauses ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_pause_after_a_search_goes_on_with_all_that_was_found() -> None:
    provider = ScriptedProvider([
        [USED, Text("I search. "), *SEARCH, Stopped("pause_turn"), Finished()],
        [USED, Opened(0, {"type": "text", "text": ""}), Text("It is red."), Stopped("end_turn"), Finished()],
    ])  # fmt: skip

    (completion,) = ask(chain_of(provider, ANTHROPIC), replace(TOOLS, web=True))

    assert (completion.text, completion.ending) == ("I search. It is red.", "complete")
    content = json.dumps([{"type": "text", "text": "I search. "}, *SEARCHED], separators=(",", ":"))
    assert provider.requests[1].messages == (
        *HELLO.messages,
        Message("assistant", "I search. ", verbatim=Verbatim("anthropic", "a", content)),
    )


def test_a_pause_without_a_word_goes_on_and_its_blocks_stand_before_the_calls_that_follow() -> None:
    provider = ScriptedProvider(
        [[USED, *SEARCH, Stopped("pause_turn"), Finished()], says("more ", "pause_turn"), calls("t1")]
    )

    (completion,) = ask(chain_of(provider, ANTHROPIC), TOOLS)

    assert completion.verbatim is not None
    blocks = json.loads(completion.verbatim.content)
    assert blocks[:2] == SEARCHED
    assert [block["type"] for block in blocks[2:]] == ["text", "tool_use"]
    assert provider.requests[2].messages[-1].verbatim is not None
    assert json.loads(provider.requests[2].messages[-1].verbatim.content) == [
        *SEARCHED,
        {"type": "text", "text": "more"},
    ]


def test_a_model_that_only_pauses_fails() -> None:
    provider = ScriptedProvider([[USED, *SEARCH, Stopped("pause_turn"), Finished()]])

    with pytest.raises(NoModelAnswered, match="it only paused"):
        ask(chain_of(provider, ANTHROPIC), TOOLS)
    assert len(provider.requests) == 2 * (1 + MAX_PAUSES)


# ── a service that refuses tools ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "failure", [REFUSED, Failure("rejected", "HTTP 400")], ids=["it says so", "it only refuses"]
)
def test_a_service_that_refuses_tools_is_asked_without_them(failure: Failure) -> None:
    it = asking([[failure], says("yes")])

    completion = jumping(it.ask(replace(TOOLS, web=True)))

    assert (completion.text, completion.ending) == ("yes", "complete")
    assert it.providers[0].requests == [replace(TOOLS, web=True), HELLO]
    assert it.outcomes == [("a", "rejected"), ("a", "answered")]


def test_that_it_refuses_them_is_remembered_for_an_hour() -> None:
    provider, toolless = ScriptedProvider([[REFUSED], says("yes")]), Toolless()
    chain = chain_of(provider, toolless=toolless)

    ask(chain, TOOLS, TOOLS, pause_s=REMEMBERED_S - 10)
    assert [bool(request.tools) for request in provider.requests] == [True, False, False]

    ask(chain, TOOLS, TOOLS, pause_s=REMEMBERED_S)
    assert any(request.tools for request in provider.requests[3:])


def test_what_one_model_refuses_another_is_still_offered() -> None:
    toolless = Toolless()
    ask(chain_of(ScriptedProvider([[REFUSED], says("yes")]), toolless=toolless), TOOLS)

    assert toolless.knows(Candidate(SERVICE, "a"), 0.0)
    assert not toolless.knows(Candidate(SERVICE, "b"), 0.0)
    assert not toolless.knows(Candidate(Service("compatible", "http://127.0.0.1:2"), "a"), 0.0)


def test_a_request_that_is_refused_without_tools_too_is_at_fault_itself() -> None:
    provider, toolless = ScriptedProvider([[Failure("rejected", "HTTP 400")]]), Toolless()

    with pytest.raises(RequestRejected):
        ask(chain_of(provider, toolless=toolless), TOOLS)

    assert len(provider.requests) == 2
    assert toolless.until_s == {}


@pytest.mark.parametrize(
    ("service", "request_", "failure"),
    [
        (ANTHROPIC, TOOLS, Failure("rejected")),
        (SERVICE, TOLD, Failure("rejected")),
        (SERVICE, HELLO, REFUSED),
        (Service("compatible", can=Capabilities(tools=False)), TOOLS, REFUSED),
        (SERVICE, TOOLS, Failure("too_long")),
    ],
    ids=["anthropic itself", "it took tools before", "no tools", "none were sent", "too long"],
)
def test_any_other_refusal_is_told_at_once(
    service: Service, request_: ModelRequest, failure: Failure
) -> None:
    provider = ScriptedProvider([[failure], says("no")])

    with pytest.raises(RequestRejected):
        ask(chain_of(provider, service), request_)
    assert len(provider.requests) == 1


def test_anthropic_itself_is_offered_tools_again_after_it_refused_one() -> None:
    provider = ScriptedProvider([[REFUSED], says("yes"), calls("t1")])

    said, called = ask(chain_of(provider, ANTHROPIC), TOOLS, TOOLS)

    assert (said.ending, called.ending) == ("complete", "tools")


def test_an_overload_after_the_refusal_is_tried_again_without_tools() -> None:
    it = asking([[REFUSED], [OVERLOADED], [REFUSED], says("yes")])

    assert jumping(it.ask(TOOLS)).text == "yes"


# ── the model that began ─────────────────────────────────────────────────────────────────────────────────────────
def first_asked(first: str) -> tuple[Completion, list[tuple[str, str]]]:
    it = asking([says("a")], [says("b")], [silent(1000)])
    (completion,) = ask(it.chain(), TOLD, first=first)
    return completion, [(call.model, call.outcome) for call in completion.calls]


def test_a_turn_goes_on_with_the_model_that_began_it() -> None:
    completion, made = first_asked("b")

    assert (completion.model, completion.asked, completion.skipped) == ("b", "a", ())
    assert made == [("b", "answered")]


def test_if_it_fails_the_others_are_asked_in_their_order() -> None:
    completion, made = first_asked("c")

    assert (completion.model, completion.asked) == ("a", "a")
    assert [model for model, _ in made] == ["c", "a"]


def test_a_model_that_is_not_of_the_chain_changes_nothing() -> None:
    completion, _ = first_asked("gone")

    assert completion.model == "a"


# ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("service", "searches"), [(ANTHROPIC, 3), (SERVICE, 0)])
def test_a_planned_call_says_how_much_the_service_may_search(service: Service, searches: int) -> None:
    planned: list[CallPlanned] = []

    async def allow(call: CallPlanned) -> Permit:
        planned.append(call)
        return Allowed(100)

    ask(chain_of(ScriptedProvider([says("yes")]), service), replace(TOOLS, web=True), before_call=allow)

    assert [(call.searches, call.web_tokens > 0) for call in planned] == [(searches, searches > 0)]
