"""The fake itself: what it refuses and what it echoes, and that it runs as a process."""

import subprocess
import sys
from typing import Any

import httpx2
import pytest

from tests.fakes.model_events import pieces, signature_of
from tests.fakes.model_rules import fault_of, thought_fault
from tests.fakes.model_script import Answer, Use
from tests.fakes.model_server import ModelServer, echo

HI: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1,
    "stream": True,
    "messages": [{"role": "user", "content": "Hi"}],
}
SO_FAR = {"role": "assistant", "content": "so far "}
MARKED = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": signature_of("hm")}
LOOK = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}
WEB = {"type": "web_search_20260318", "name": "web_search", "max_uses": 3}
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}],
}
FOUND: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "1", "content": "it"}],
}


def holding(*blocks: dict[str, Any]) -> dict[str, Any]:
    return HI | {"messages": [{"role": "user", "content": list(blocks)}]}


REQUESTS: list[tuple[dict[str, Any], str]] = [
    (HI, ""),
    (HI | {"system": "Be kind."}, ""),
    (HI | {"stream": False}, "only streams"),
    (HI | {"max_tokens": 0}, "max_tokens"),
    (HI | {"messages": []}, "user role"),
    (HI | {"messages": [{"role": "assistant", "content": "Hi"}]}, "user role"),
    (HI | {"messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
    (HI | {"system": ""}, "non-whitespace"),
    (HI | {"messages": [*HI["messages"], SO_FAR]}, "trailing whitespace"),
    (HI | {"temperature": 0.5}, "Extra inputs"),
    (HI | {"messages": HI["messages"] * 2}, "alternate"),
    (HI | {"output_config": {"effort": "low"}}, ""),
    (HI | {"output_config": {"effort": "vast"}}, "effort"),
    (holding(*[MARKED] * 4), ""),
    (holding(*[MARKED] * 5), "cache_control"),
    (holding(MARKED | {"cache_control": {"type": "for ever"}}), "unknown"),
    (holding(MARKED) | {"tools": [LOOK | {"cache_control": MARKED["cache_control"]}]}, ""),
    (
        holding(*[MARKED] * 4) | {"tools": [LOOK | {"cache_control": MARKED["cache_control"]}]},
        "cache_control",
    ),
    (holding(THOUGHT), ""),
    (holding(THOUGHT | {"thinking": "ah"}), "signature"),
    (holding({"type": "odd"}), "unknown"),
    (HI | {"tools": [LOOK, WEB], "messages": [*HI["messages"], CALLED, FOUND]}, ""),
    (HI | {"messages": [*HI["messages"], CALLED, FOUND]}, "must define tools"),
    (HI | {"tools": [LOOK], "messages": [*HI["messages"], CALLED, *HI["messages"]]}, "paired"),
    (HI | {"tools": [LOOK], "messages": [FOUND]}, "paired"),
    (HI | {"tools": [LOOK], "messages": [*HI["messages"], CALLED, FOUND] * 2}, "alternate"),
    (
        HI | {"tools": [LOOK], "messages": [*HI["messages"], CALLED, FOUND, CALLED, FOUND]},
        "ids must be unique",
    ),
    (HI | {"tools": [LOOK, LOOK]}, "unique name"),
    (HI | {"tools": [LOOK | {"name": "look up"}]}, "unique name"),
    (HI | {"tools": [LOOK | {"input_schema": {}}]}, "unique name"),
    (HI | {"tools": [WEB | {"max_content_tokens": 9}]}, "unique name"),
    (HI | {"tools": [LOOK], "tool_choice": {"type": "auto"}}, "Extra inputs"),
]


@pytest.mark.parametrize(("body", "fault"), REQUESTS)
def test_it_refuses_what_the_real_api_refuses(body: dict[str, Any], fault: str) -> None:
    assert fault in fault_of(body)
    assert bool(fault) == bool(fault_of(body))


def test_within_a_turn_a_call_comes_back_with_the_thought_before_it() -> None:
    with_thought = {"role": "assistant", "content": [THOUGHT, *CALLED["content"]]}
    thoughts = {("m", "1"): "hm"}

    def fault(*messages: Any) -> str:
        return thought_fault(HI | {"messages": messages}, thoughts)

    assert not fault(*HI["messages"], with_thought, FOUND)
    assert "cannot be modified" in fault(*HI["messages"], CALLED, FOUND)
    assert not fault(*HI["messages"], CALLED, FOUND, SO_FAR, *HI["messages"])
    assert not thought_fault(HI | {"model": "other", "messages": [*HI["messages"], CALLED, FOUND]}, thoughts)


async def test_a_model_may_decide_by_what_it_sees() -> None:
    def model(body: dict[str, Any]) -> Answer:
        asked = body["messages"][-1]["content"]
        return Answer(uses=(Use("look", {"at": asked}),)) if asked == "Hi" else Answer("No.")

    async with ModelServer() as server, httpx2.AsyncClient() as client:
        server.always(model)

        calls = await client.post(f"{server.url}/v1/messages", json=HI)
        says = await client.post(
            f"{server.url}/v1/messages", json=HI | {"messages": [{"role": "user", "content": "Ho"}]}
        )

    assert '"stop_reason": "tool_use"' in calls.text
    assert '"partial_json": "{\\"at\\": "' in calls.text
    assert "No." in says.text


def test_the_echo_is_what_the_person_wrote_without_the_memory_block() -> None:
    last = "<conversation_history>\nUser: old\n</conversation_history>\n\nCurrent message: new"

    assert echo({"messages": [{"role": "user", "content": last}]}) == "echo: Current message: new"


@pytest.mark.parametrize("text", ["", "one", "two words", " lead and  double ", "line\nbreak"])
def test_pieces_join_to_the_text_again(text: str) -> None:
    assert "".join(pieces(text)) == text


@pytest.mark.system
def test_it_runs_as_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "tests.fakes.model_server", "--delay", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]

        answered = httpx2.post(f"{url}/v1/messages", json=HI, timeout=20)

        server.terminate()
    assert answered.status_code == 200
    assert '"text": "echo:"' in answered.text
    assert "message_stop" in answered.text
