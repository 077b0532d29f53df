"""The same road against a model server that we did not write: llmock, a real process on loopback."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from infra.settings import Settings
from llm.chain import build_chain
from llm.errors import NoModelAnswered, RequestRejected
from llm.request import CallEnded, Completion, Message, ModelRequest
from tests.fakes.llmock import llmock_server

pytestmark = pytest.mark.system

HELLO = ModelRequest("Be kind.", (Message("user", "Where is my parcel?"),), max_tokens=100)


@pytest.fixture(scope="module")
def llmock() -> Iterator[str]:
    """The server's address; it echoes."""
    with llmock_server() as address:
        yield address


def script(llmock: str, *behaviors: dict[str, Any]) -> None:
    """Replaces what was scripted before."""
    httpx2.delete(f"{llmock}/_llmock/scenario").raise_for_status()
    if behaviors:
        httpx2.post(f"{llmock}/_llmock/scenario", json={"behaviors": behaviors}).raise_for_status()


async def ask(llmock: str, *, deadline_s: float = 30.0) -> tuple[Completion, list[tuple[str, str]]]:
    recorded: list[tuple[str, str]] = []

    async def record(ended: CallEnded) -> None:
        recorded.append((ended.model, ended.outcome))

    chain = build_chain(Settings(models=("a", "b"), anthropic_base_url=f"{llmock}/anthropic"))
    chain.chance = lambda: 0.0
    await chain.prepare()
    try:
        deadline_at = asyncio.get_running_loop().time() + deadline_s
        return await chain.complete(HELLO, deadline_at=deadline_at, on_call=record), recorded
    finally:
        await chain.aclose()


def fail(status: int, *, times: int | None = 1, model: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "fail", "status": status, "times": times, "match": {"model": model}, **more}


def fault(kind: str, *, times: int | None = 1) -> dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": 4, "times": times, "match": {"model": "a"}}


async def test_a_plain_answer_comes_with_its_tokens(llmock: str) -> None:
    script(llmock)

    completion, recorded = await ask(llmock)

    assert "Where is my parcel?" in completion.text
    assert completion.usage.input_tokens
    assert completion.usage.output_tokens
    assert recorded == [("a", "answered")]


async def test_an_overloaded_model_leads_to_the_next_one(llmock: str) -> None:  # C23
    script(llmock, fail(529, times=None))

    completion, recorded = await ask(llmock)

    assert "Where is my parcel?" in completion.text
    assert recorded == [("a", "overloaded"), ("a", "overloaded"), ("b", "answered")]


async def test_a_model_that_asks_for_ninety_seconds_is_left_at_once(llmock: str) -> None:
    script(llmock, fail(429, retry_after=90))

    _, recorded = await ask(llmock)

    assert recorded == [("a", "rate_limited"), ("b", "answered")]


@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
async def test_a_broken_stream_ends_in_one_right_answer(kind: str, llmock: str) -> None:
    script(llmock, fault(kind))

    completion, recorded = await ask(llmock)

    assert completion.text.count("parcel") == 1
    assert completion.ending == "complete"
    assert [model for model, _ in recorded] == ["a", "a"]


async def test_a_wrong_key_skips_the_candidate(llmock: str) -> None:
    script(llmock, fail(401))

    _, recorded = await ask(llmock)

    assert recorded == [("a", "unauthorized"), ("b", "answered")]


async def test_a_request_at_fault_is_rejected(llmock: str) -> None:
    script(llmock, fail(400))

    with pytest.raises(RequestRejected):
        await ask(llmock)


async def test_when_everything_fails_it_is_told(llmock: str) -> None:
    script(llmock, fail(500, times=None, model="*"))

    with pytest.raises(NoModelAnswered, match=r"a: server_error.*; b: server_error"):
        await ask(llmock)
