"""The request in the API's words."""

import json
from dataclasses import replace
from typing import Any, get_type_hints

import pytest
from anthropic.types.web_fetch_tool_20260318_param import WebFetchTool20260318Param
from anthropic.types.web_search_tool_20260318_param import WebSearchTool20260318Param

from llm.candidates import FIRST_PARTY, OPENROUTER, Capabilities, Service
from llm.payload import WEB_TOOLS, parameters, web_reach
from llm.request import Message, ModelRequest, Tool, ToolResult, ToolUse, Verbatim
from tests.fakes.model_events import signature_of
from tests.fakes.model_rules import blocks_of, fault_of, text_of

ANTHROPIC = Service("anthropic", "https://api.anthropic.com", can=FIRST_PARTY)
ROUTER = Service("openrouter", "https://openrouter.ai/api", can=OPENROUTER)
LOCAL = Service("compatible", "http://127.0.0.1:11434")
SONNET = "claude-sonnet-5-5"

TALK = (
    Message("user", "one"),
    Message("assistant", "two"),
    Message("user", "three"),
    Message("assistant", "four"),
    Message("user", "five"),
)
LOOK = Tool("look", "Look somewhere.", '{"type":"object","properties":{"a":{"type":"array"}}}')
TOOLS = (
    Message("user", "where?"),
    Message("assistant", "I look.", uses=(ToolUse("t1", "look", '{"b": 1, "a": [2]}'),)),
    Message("user", results=(ToolResult("t1", "there"),)),
)


def asked(
    *messages: Message, service: Service = ANTHROPIC, model: str = SONNET, **more: Any
) -> dict[str, Any]:
    request = ModelRequest("Be kind.", messages, max_tokens=100, **more)
    found = parameters(request, service, model)
    assert not fault_of(found | {"model": model, "stream": True})
    return found


def bare(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in block.items() if name != "cache_control"}
        for block in blocks_of(content)
    ]


def marked(found: dict[str, Any]) -> list[int]:
    return [
        at
        for at, message in enumerate(found["messages"])
        if any("cache_control" in block for block in blocks_of(message["content"]))
    ]


def test_a_service_without_caching_gets_plain_strings() -> None:
    assert asked(*TALK[:3], service=LOCAL, model="qwen3:8b") == {
        "max_tokens": 100,
        "system": "Be kind.",
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": "three"},
        ],
    }


def test_breakpoints_stand_at_the_system_prompt_and_the_last_two_messages_of_the_user() -> None:
    found = asked(*TALK)

    assert found["system"] == [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    assert marked(found) == [2, 4]


def test_the_next_turn_has_a_breakpoint_where_this_one_wrote_and_the_same_bytes_before_it() -> None:
    this = asked(*TALK[:3])
    following = asked(*TALK)

    assert all(isinstance(each["content"], list) for each in following["messages"])
    written = marked(this)[-1]
    assert written in marked(following)
    assert [bare(each["content"]) for each in this["messages"]] == [
        bare(each["content"]) for each in following["messages"][:3]
    ]


def test_the_turn_after_one_with_many_tool_calls_finds_what_its_last_call_wrote() -> None:
    rounds = [
        message
        for at in range(30)
        for message in (
            Message("assistant", uses=(ToolUse(f"t{at}", "look", "{}"),)),
            Message("user", results=(ToolResult(f"t{at}", "there"),)),
        )
    ]
    asking = Message("user", "where?")
    first = asked(asking, tools=(LOOK,))
    this = asked(asking, *rounds, tools=(LOOK,))
    following = asked(
        asking, *rounds, Message("assistant", "there"), Message("user", "thanks"), tools=(LOOK,)
    )

    assert marked(this)[-1] in marked(following)
    assert marked(first)[-1] in marked(following)
    assert len(marked(following)) == 3


def test_the_only_message_has_one_breakpoint() -> None:
    assert marked(asked(TALK[0])) == [0]


def test_an_answer_that_goes_on_after_a_pause_is_not_marked() -> None:
    assert marked(asked(*TALK[:3], Message("assistant", "so far"))) == [0, 2]


def test_at_openrouter_only_claude_gets_breakpoints() -> None:
    assert marked(asked(*TALK, service=ROUTER, model="anthropic/claude-sonnet-5.5")) == [2, 4]
    assert marked(asked(*TALK, service=ROUTER, model="qwen/qwen3-8b")) == []


def test_calls_of_tools_and_their_results_are_blocks_also_without_caching() -> None:
    found = asked(*TOOLS, service=LOCAL, tools=(LOOK,))

    assert found["messages"] == [
        {"role": "user", "content": "where?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"b": 1, "a": [2]}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "there"}]},
    ]


def test_a_message_after_results_stands_behind_them_and_carries_the_breakpoint() -> None:
    found = asked(*TOOLS[:2], Message("user", "hurry", results=TOOLS[2].results), tools=(LOOK,))

    assert [block["type"] for block in found["messages"][-1]["content"]] == ["tool_result", "text"]
    assert "cache_control" in found["messages"][-1]["content"][-1]


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "7", '{"a": NaN}', '{"a": "\\ud83d"}'])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(arguments: str) -> None:
    call = Message("assistant", uses=(ToolUse("t1", "look", arguments),))

    found = asked(TOOLS[0], call, TOOLS[2], tools=(LOOK,))

    assert found["messages"][1]["content"][0]["input"] == {}


def test_no_system_prompt_is_sent_when_there_is_none() -> None:
    found = parameters(ModelRequest(" ", TALK[:1], max_tokens=1), ANTHROPIC, SONNET)

    assert "system" not in found


@pytest.mark.parametrize(
    ("service", "model", "told"),
    [
        (ANTHROPIC, SONNET, True),
        (ANTHROPIC, "claude-opus-4-5", True),
        (ANTHROPIC, "claude-haiku-4-5-20251001", False),
        (ANTHROPIC, "claude-sonnet-4-5", False),
        (ROUTER, "anthropic/claude-sonnet-5.5", False),
        (LOCAL, "qwen3:8b", False),
    ],
)
def test_effort_is_told_only_where_it_is_understood(service: Service, model: str, *, told: bool) -> None:
    found = asked(*TALK, service=service, model=model, effort="low")

    assert found.get("output_config") == ({"effort": "low"} if told else None)
    assert "output_config" not in asked(*TALK, service=service, model=model)


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────
SAID = json.dumps([
    {"type": "thinking", "thinking": "hm", "signature": signature_of("hm")},
    {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
])  # fmt: skip
THOUGHT = Message(
    "assistant", "", (ToolUse("t1", "look", "{}"),), verbatim=Verbatim("anthropic", SONNET, SAID)
)


def test_tools_stand_in_their_order_with_their_schemas_and_no_choice_is_forced() -> None:
    found = asked(*TALK, tools=(LOOK, Tool("ask", "Ask.", '{"type":"object"}')))

    assert found["tools"] == [
        {
            "name": "look",
            "description": "Look somewhere.",
            "input_schema": {"type": "object", "properties": {"a": {"type": "array"}}},
        },
        {"name": "ask", "description": "Ask.", "input_schema": {"type": "object"}},
    ]
    assert "tool_choice" not in found
    assert "tools" not in asked(*TALK)


def test_the_web_is_offered_only_where_the_service_runs_such_tools() -> None:
    found = asked(*TALK, tools=(LOOK,), web=True)

    assert [tool["name"] for tool in found["tools"]] == ["look", "web_search", "web_fetch"]
    assert found["tools"][1:] == [
        {"type": "web_search_20260318", "name": "web_search", "max_uses": 3},
        {"type": "web_fetch_20260318", "name": "web_fetch", "max_uses": 3, "max_content_tokens": 8000},
    ]
    assert [tool["name"] for tool in asked(*TALK, service=ROUTER, tools=(LOOK,), web=True)["tools"]] == [
        "look"
    ]
    assert "tools" not in asked(*TALK, service=LOCAL, web=True)


def test_the_webs_tools_are_fields_that_the_sdk_knows() -> None:
    for offered, known in zip(
        WEB_TOOLS, (WebSearchTool20260318Param, WebFetchTool20260318Param), strict=True
    ):
        hints = get_type_hints(known)
        assert set(offered) <= set(hints)
        assert offered["type"] in str(hints["type"])
        assert offered["name"] in str(hints["name"])


def test_money_is_reserved_for_what_the_service_may_search() -> None:
    request = ModelRequest("", TALK[:1], 1, web=True)

    assert web_reach(request, ANTHROPIC) == (3, 3 * (8_000 + 8_000))
    assert web_reach(request, ROUTER) == web_reach(ModelRequest("", TALK[:1], 1), ANTHROPIC) == (0, 0)


def test_what_is_known_of_the_person_stands_behind_the_breakpoint() -> None:
    found = asked(*TALK, person="Ana, de.")

    assert found["system"] == [
        {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Ana, de."},
    ]
    assert asked(*TALK, service=LOCAL, person="Ana, de.")["system"] == "Be kind.\n\nAna, de."
    assert parameters(ModelRequest("", TALK[:1], 1, person="Ana"), ANTHROPIC, SONNET)["system"] == [
        {"type": "text", "text": "Ana"}
    ]


def test_in_a_turn_with_tools_the_results_carry_the_breakpoint_and_the_next_round_finds_it() -> None:
    earlier = (Message("user", "hello"), Message("assistant", "hi"))
    first = asked(*earlier, *TOOLS, tools=(LOOK,), person="Ana")
    then = asked(
        *earlier, *TOOLS,
        Message("assistant", uses=(ToolUse("t2", "look", "{}"),)), Message("user", results=(ToolResult("t2", "no"),)),
        tools=(LOOK,), person="Ana",
    )  # fmt: skip

    assert marked(first) == [0, 2, 4]
    assert marked(then) == [2, 4, 6]
    assert [bare(each["content"]) for each in first["messages"]] == [
        bare(each["content"]) for each in then["messages"][:5]
    ]


def test_an_answer_goes_back_verbatim_to_who_gave_it() -> None:  # C24
    found = asked(TOOLS[0], THOUGHT, TOOLS[2], tools=(LOOK,))

    assert found["messages"][1]["content"] == json.loads(SAID)


@pytest.mark.parametrize(
    ("service", "model"), [(ANTHROPIC, "claude-haiku-5-5"), (ROUTER, SONNET), (LOCAL, SONNET)]
)
def test_no_other_model_gets_its_thoughts(service: Service, model: str) -> None:  # C24
    found = asked(TOOLS[0], THOUGHT, TOOLS[2], service=service, model=model, tools=(LOOK,))

    assert [block["type"] for block in found["messages"][1]["content"]] == ["tool_use"]


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '[{"type":"tool_use","id":"other","name":"n","input":{}}]', "[]"]
)
def test_a_verbatim_answer_that_does_not_fit_its_calls_is_not_sent(content: str) -> None:
    odd = replace(THOUGHT, verbatim=Verbatim("anthropic", SONNET, content))

    found = asked(TOOLS[0], odd, TOOLS[2], tools=(LOOK,))

    assert found["messages"][1]["content"] == [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]


@pytest.mark.parametrize(
    ("service", "tools"),
    [(ANTHROPIC, ()), (Service("compatible", can=Capabilities(tools=False)), (LOOK,))],
    ids=["nothing offered", "a service without tools"],
)
def test_without_tools_calls_and_results_are_told_as_text(service: Service, tools: tuple[Tool, ...]) -> None:
    told = (
        *TOOLS,
        Message("assistant", "There."),
        Message("user", "Thanks"),
        THOUGHT,
        Message("user", "so?", results=TOOLS[2].results),
    )

    found = asked(*told, service=service, tools=tools)

    assert "tools" not in found
    assert [(each["role"], text_of(each)) for each in found["messages"]] == [
        ("user", "where?"),
        ("assistant", 'I look.\n[look {"b": 1, "a": [2]}]'),
        ("user", "[look: there]"),
        ("assistant", "There."),
        ("user", "Thanks"),
        ("assistant", "[look {}]"),
        ("user", "[look: there]\nso?"),
    ]


def test_a_result_whose_call_is_gone_is_told_too() -> None:
    found = asked(Message("user", "and?", results=TOOLS[2].results))

    assert text_of(found["messages"][0]) == "[result: there]\nand?"
