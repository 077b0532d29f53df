"""The fake itself: what it refuses and what it echoes, and that it runs as a process."""

import subprocess
import sys
from typing import Any

import httpx2
import pytest

from tests.fakes.model_rules import fault_of
from tests.fakes.model_server import echo, pieces

HI: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1,
    "stream": True,
    "messages": [{"role": "user", "content": "Hi"}],
}
SO_FAR = {"role": "assistant", "content": "so far "}
MARKED = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
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
    (holding(THOUGHT), "unknown"),
    (HI | {"messages": [*HI["messages"], CALLED, FOUND]}, ""),
    (HI | {"messages": [*HI["messages"], CALLED, *HI["messages"]]}, "paired"),
    (HI | {"messages": [FOUND]}, "paired"),
]


@pytest.mark.parametrize(("body", "fault"), REQUESTS)
def test_it_refuses_what_the_real_api_refuses(body: dict[str, Any], fault: str) -> None:
    assert fault in fault_of(body)
    assert bool(fault) == bool(fault_of(body))


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
