"""The request in the API's words."""

from typing import Any

import pytest

from llm.candidates import FIRST_PARTY, OPENROUTER, Service
from llm.payload import parameters
from llm.request import Message, ModelRequest, ToolResult, ToolUse
from tests.fakes.model_rules import blocks_of, fault_of

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
    this = asked(Message("user", "where?"), *rounds)
    following = asked(
        Message("user", "where?"), *rounds, Message("assistant", "there"), Message("user", "thanks")
    )

    assert marked(this)[-1] in marked(following)
    assert len(marked(following)) == 2


def test_the_only_message_has_one_breakpoint() -> None:
    assert marked(asked(TALK[0])) == [0]


def test_an_answer_that_goes_on_after_a_pause_is_not_marked() -> None:
    assert marked(asked(*TALK[:3], Message("assistant", "so far"))) == [0, 2]


def test_at_openrouter_only_claude_gets_breakpoints() -> None:
    assert marked(asked(*TALK, service=ROUTER, model="anthropic/claude-sonnet-5.5")) == [2, 4]
    assert marked(asked(*TALK, service=ROUTER, model="qwen/qwen3-8b")) == []


def test_calls_of_tools_and_their_results_are_blocks_also_without_caching() -> None:
    found = asked(*TOOLS, service=LOCAL)

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
    found = asked(*TOOLS[:2], Message("user", "hurry", results=TOOLS[2].results))

    assert [block["type"] for block in found["messages"][-1]["content"]] == ["tool_result", "text"]
    assert "cache_control" in found["messages"][-1]["content"][-1]


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "7"])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(arguments: str) -> None:
    call = Message("assistant", uses=(ToolUse("t1", "look", arguments),))

    found = asked(TOOLS[0], call, TOOLS[2])

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
