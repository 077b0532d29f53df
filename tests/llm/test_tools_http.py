"""Calls of tools over real HTTP, against a model server that is as strict as the real one."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from infra.settings import Settings
from llm.chain import Chain, build_chain
from llm.errors import RequestRejected
from llm.request import UNKNOWN, CallEnded, Completion, Message, ModelRequest, Tool, ToolResult, ToolUse
from tests.fakes.llmock import llmock_server
from tests.fakes.model_rules import blocks_of, text_of
from tests.fakes.model_script import OVERLOADED, USAGE, Answer, Status, Use
from tests.fakes.model_server import ModelServer

LOOK = Tool("look", "Look somewhere.", '{"type":"object","properties":{"at":{"type":"string"}}}')
ASKED = ModelRequest("Be kind.", (Message("user", "Where is it?"),), 100, tools=(LOOK,))
HOME = {"at": "zu Hause 🐟"}
FOUND_ON_THE_WEB: tuple[dict[str, Any], ...] = (
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "koi"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "u"}]},
)  # fmt: skip
SEARCHED: dict[str, Any] = {**USAGE, "server_tool_use": {"web_search_requests": 2}}


@dataclass
class Talk:
    """A turn with tools: what a loop would send."""

    chain: Chain
    request: ModelRequest = ASKED
    recorded: list[CallEnded] = field(default_factory=list[CallEnded])

    async def ask(self, request: ModelRequest | None = None, *, first: str = "") -> Completion:
        async def record(ended: CallEnded) -> None:
            self.recorded.append(ended)

        deadline_at = asyncio.get_running_loop().time() + 60
        return await self.chain.complete(
            request or self.request, deadline_at=deadline_at, on_call=record, first=first
        )

    async def loop(self, *results: str) -> Completion:
        """Round by round, with these results for every call of a round; the last answer."""
        completion = await self.ask()
        for text in results:
            self.hear(completion, text)
            completion = await self.ask(first=completion.model)
        return completion

    def hear(self, completion: Completion, text: str) -> None:
        said = Message("assistant", completion.text, completion.uses, verbatim=completion.verbatim)
        told = Message("user", results=tuple(ToolResult(use.id, text) for use in completion.uses))
        self.request = replace(self.request, messages=(*self.request.messages, said, told))


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def talk(server: ModelServer) -> AsyncIterator[Talk]:
    """With a compatible service."""
    chain = build_chain(Settings(models=("a", "b"), anthropic_base_url=server.url))
    chain.chance = lambda: 0.0
    yield Talk(chain)
    await chain.aclose()


@pytest.fixture
async def claude(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Talk]:
    """With Anthropic itself."""
    monkeypatch.setattr("llm.candidates.ANTHROPIC_URL", server.url)
    settings = Settings(models=("claude-sonnet-5-5",), anthropic_api_key=SecretStr("hush"))
    chain = build_chain(settings)
    yield Talk(chain, replace(ASKED, web=True, person="Ana"))
    await chain.aclose()


async def test_a_call_is_streamed_in_pieces_and_read_whole(server: ModelServer, talk: Talk) -> None:
    server.script(Answer("I look.", uses=(Use("look", HOME), Use("look"))))

    completion = await talk.ask()

    assert (completion.text, completion.ending) == ("I look.", "tools")
    assert [json.loads(use.arguments) for use in completion.uses] == [HOME, {}]
    assert len({use.id for use in completion.uses}) == 2
    assert [call.outcome for call in talk.recorded] == ["tools"]


async def test_a_loop_of_two_rounds_gives_each_thought_back_unchanged(
    server: ModelServer, talk: Talk
) -> None:
    server.script(
        Answer(thinking="Where could \"it\" be? ü", uses=(Use("look", HOME), Use("look", HOME))),
        Answer("\n\n", thinking="Not there.", uses=(Use("look"),)),
        Answer("At the post office."),
    )  # fmt: skip

    completion = await talk.loop("nothing", "here")

    assert (completion.text, completion.ending) == ("At the post office.", "complete")
    last = server.requests[-1].body["messages"]
    assert [[block["type"] for block in blocks_of(each["content"])] for each in last] == [
        ["text"],
        ["thinking", "tool_use", "tool_use"],
        ["tool_result", "tool_result"],
        ["thinking", "tool_use"],
        ["tool_result"],
    ]


async def test_the_server_notices_a_thought_that_was_lost_or_altered(server: ModelServer, talk: Talk) -> None:
    server.script(Answer(thinking="Where?", uses=(Use("look"),)))
    completion = await talk.ask()
    assert completion.verbatim is not None
    altered = replace(completion.verbatim, content=completion.verbatim.content.replace("Where?", "There!"))

    for verbatim in (None, altered):
        other = Talk(talk.chain)
        other.hear(replace(completion, verbatim=verbatim), "it")
        with pytest.raises(RequestRejected):
            await other.ask()


async def test_another_model_goes_on_without_the_thoughts(server: ModelServer, talk: Talk) -> None:  # C24
    server.script(Answer(thinking="Where?", uses=(Use("look", HOME),)), model="a")
    server.script(OVERLOADED, OVERLOADED, model="a")

    completion = await talk.loop("here")

    assert (completion.model, completion.asked) == ("b", "a")
    assert "thinking" not in str(server.requests[-1].body["messages"])
    assert [block["type"] for block in server.requests[-1].body["messages"][1]["content"]] == ["tool_use"]


@pytest.mark.parametrize(
    "use",
    [Use("look", HOME, whole=True), Use("look", HOME, id=""), Use("look", HOME, id="functions.look:0")],
    ids=["whole", "no id", "an odd id"],
)
async def test_servers_that_do_it_in_their_own_way_are_understood(
    use: Use, server: ModelServer, talk: Talk
) -> None:
    server.script(
        Answer(uses=(use, use), stop_reason="stop"), Answer(uses=(use,), stop_reason="stop"), Answer("Here.")
    )

    completion = await talk.loop("no", "yes")

    assert completion.text == "Here."
    inputs = [block["input"] for each in server.requests[-1].body["messages"] for block in blocks_of(each["content"]) if "input" in block]  # fmt: skip
    assert inputs == [HOME] * 3


async def test_arguments_that_are_no_json_are_given_and_the_loop_can_go_on(
    server: ModelServer, talk: Talk
) -> None:
    server.script(Answer(uses=(Use("look", '{"at": home}'),)), Answer("Sorry."))

    completion = await talk.ask()
    talk.hear(completion, "The arguments are no JSON object.")

    assert completion.uses[0].arguments == '{"at": home}'
    assert (await talk.ask()).text == "Sorry."


async def test_a_call_that_ran_into_max_tokens_is_dropped(server: ModelServer, talk: Talk) -> None:
    half = Use("look", '{"at": "zu Ha')
    server.script(
        Answer("I look.", uses=(half,), stop_reason="max_tokens"),
        Answer(uses=(Use("look", HOME), half), stop_reason="max_tokens"),
    )

    truncated, called = await talk.ask(), await talk.ask()

    assert (truncated.text, truncated.ending, truncated.uses) == ("I look.", "truncated", ())
    assert [json.loads(use.arguments) for use in called.uses] == [HOME]


async def test_a_model_may_be_content_with_what_its_tools_did(server: ModelServer, talk: Talk) -> None:
    server.script(Answer(uses=(Use("look"),)), Answer(""))

    assert (await talk.loop("done")).text == ""


async def test_in_the_next_turn_only_calls_and_results_are_left(server: ModelServer, talk: Talk) -> None:
    server.script(Answer(thinking="Where?", uses=(Use("look"),)), Answer("Here."))
    await talk.loop("here")
    said = (replace(each, verbatim=None) for each in talk.request.messages)

    await talk.ask(replace(ASKED, messages=(*said, Message("assistant", "Here."), Message("user", "Sure?"))))

    assert "thinking" not in str(server.requests[-1].body)


async def test_a_loop_that_ends_asks_without_tools_and_loses_nothing(server: ModelServer, talk: Talk) -> None:
    server.script(Answer(thinking="Where?", uses=(Use("look", HOME),)))
    talk.hear(await talk.ask(), "not here")

    await talk.ask(replace(talk.request, tools=()))

    last = server.requests[-1].body
    assert "tools" not in last
    assert [text_of(each) for each in last["messages"][1:]] == [
        f"[look {json.dumps(HOME)}]",
        "[look: not here]",
    ]


# ── services of their own kind ───────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "status",
    [
        Status(400, "invalid_request_error", "registry/qwen:1b does not support tools"),
        Status(404, "not_found_error", "No endpoints found that support tool use."),
        Status(500, "api_error", "tools param requires --jinja flag"),
        Status(400, "invalid_request_error", "nope"),
        Status(422, "", "body.tools: extra fields not permitted"),
    ],
    ids=["ollama", "openrouter", "llama.cpp", "tells nothing", "strict"],
)
async def test_a_service_that_refuses_tools_gives_an_answer_without_them(
    status: Status, server: ModelServer, talk: Talk
) -> None:
    server.script(status, model="a")

    first, second = await talk.ask(), await talk.ask()

    assert (first.text, second.text) == ("echo: Where is it?", "echo: Where is it?")
    assert ["tools" in asked.body for asked in server.requests] == [True, False, False]
    assert [(call.model, call.outcome) for call in talk.recorded] == [
        ("a", "rejected"), ("a", "answered"), ("a", "answered"),
    ]  # fmt: skip


async def test_an_earlier_call_is_told_as_text_to_a_service_that_refuses_tools(
    server: ModelServer, talk: Talk
) -> None:
    server.script(Status(400, "invalid_request_error", "a does not support tools"))
    talk.hear(Completion("", "b", "b", "tools", UNKNOWN, (), uses=(ToolUse("t", "look", "{}"),)), "here")

    assert (await talk.ask()).text == "echo: [look: here]"


async def test_what_claude_is_sent_is_what_its_api_takes(server: ModelServer, claude: Talk) -> None:
    server.script(
        Answer("I look.", thinking="Hm.", blocks=FOUND_ON_THE_WEB, uses=(Use("look"),), usage=SEARCHED),
        Answer("Here."),
    )

    completion = await claude.loop("here")

    assert completion.text == "Here."
    first, last = (asked.body for asked in server.requests)
    assert [tool["name"] for tool in first["tools"]] == ["look", "web_search", "web_fetch"]
    assert [block["text"] for block in first["system"]] == ["Be kind.", "Ana"]
    assert [block["type"] for block in last["messages"][1]["content"]] == [
        "thinking", "server_tool_use", "web_search_tool_result", "text", "tool_use",
    ]  # fmt: skip
    assert last["messages"][2]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert claude.recorded[0].usage.web_searches == 2


async def test_a_search_that_pauses_goes_on_with_what_it_found(server: ModelServer, claude: Talk) -> None:
    server.script(
        Answer("I search. ", blocks=FOUND_ON_THE_WEB, stop_reason="pause_turn"), Answer("It is red.")
    )

    completion = await claude.ask()

    assert (completion.text, completion.ending) == ("I search. It is red.", "complete")
    assert server.requests[1].body["messages"][-1]["content"] == [
        *FOUND_ON_THE_WEB,
        {"type": "text", "text": "I search."},
    ]
    assert [call.outcome for call in claude.recorded] == ["paused", "answered"]


async def test_a_model_that_decides_by_what_it_sees(server: ModelServer, talk: Talk) -> None:
    def model(body: dict[str, Any]) -> Answer:
        results = [
            block for block in blocks_of(body["messages"][-1]["content"]) if block["type"] == "tool_result"
        ]
        return Answer(f"I see {results[0]['content']}.") if results else Answer(uses=(Use("look"),))

    server.always(model)

    assert (await talk.loop("a fish")).text == "I see a fish."


@pytest.mark.system
async def test_calls_of_a_server_that_we_did_not_write() -> None:
    with llmock_server() as address:
        calls = {"type": "reply", "tool_calls": [{"name": "look", "arguments": HOME}], "times": 1}
        httpx2.post(f"{address}/_llmock/scenario", json={"behaviors": [calls]}).raise_for_status()
        talk = Talk(build_chain(Settings(models=("a",), anthropic_base_url=f"{address}/anthropic")))

        completion = await talk.ask()
        talk.hear(completion, "at the post office")
        answer = await talk.ask()
        await talk.chain.aclose()

    assert completion.ending == "tools"
    assert [(use.name, json.loads(use.arguments)) for use in completion.uses] == [("look", HOME)]
    assert completion.uses[0].id
    assert answer.ending == "complete"
    assert answer.text
