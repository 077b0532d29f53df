"""The whole road over real HTTP, against our own model server; `a` is asked first, then `b`."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import get_args

import anthropic
import httpx2
import pytest
from pydantic import SecretStr

from infra.settings import Settings
from llm.anthropic_provider import AnthropicProvider, failure_of
from llm.candidates import Capabilities, Service
from llm.chain import build_chain
from llm.draft import Draft
from llm.errors import NoModelAnswered, RequestRejected
from llm.failure import Failure, FailureKind
from llm.patience import Patience
from llm.provider import listen
from llm.request import CallEnded, Completion, Message, ModelRequest, Outcome, Usage
from tests.fakes.model_script import OVERLOADED, Answer, Behaviour, Broken, Dropped, Status, rate_limited
from tests.fakes.model_server import ModelServer

HELLO = ModelRequest("Be kind.", (Message("user", "Hello"),), max_tokens=100)
FULL_USAGE = Usage(40, 30, 20, 10)
LONG = "It comes on Wednesday. " * 100


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@dataclass
class Asked:
    server: ModelServer
    recorded: list[CallEnded] = field(default_factory=list[CallEnded])

    async def __call__(self, request: ModelRequest = HELLO, *, deadline_s: float = 30.0) -> Completion:
        settings = Settings(models=("a", "b"), anthropic_base_url=self.server.url)
        chain = build_chain(settings)
        chain.chance = lambda: 0.0
        await chain.prepare()
        try:
            return await chain.complete(request, deadline_at=now() + deadline_s, on_call=self.record)
        finally:
            await chain.aclose()

    async def record(self, ended: CallEnded) -> None:
        self.recorded.append(ended)

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(ended.model, ended.outcome) for ended in self.recorded]


@pytest.fixture
def ask(server: ModelServer) -> Asked:
    return Asked(server)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_an_answer_comes_whole_with_its_tokens(server: ModelServer, ask: Asked) -> None:
    server.script(Answer(LONG))

    completion = await ask()

    assert completion.text == LONG
    assert (completion.model, completion.ending, completion.usage) == ("a", "complete", FULL_USAGE)
    assert server.requests[0].body == {
        "model": "a",
        "max_tokens": 100,
        "system": "Be kind.",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
    }


async def test_a_model_that_is_always_overloaded_leads_to_the_next_one(  # C23
    server: ModelServer, ask: Asked
) -> None:
    server.always(OVERLOADED, model="a")

    completion = await ask()

    assert (completion.text, completion.model) == ("echo: Hello", "b")
    assert ask.outcomes == [("a", "overloaded"), ("a", "overloaded"), ("b", "answered")]
    assert ask.recorded[0].detail == "HTTP 529 overloaded_error req_fake"


async def test_a_model_that_asks_for_ninety_seconds_is_left_at_once(server: ModelServer, ask: Asked) -> None:
    server.always(rate_limited(90), model="a")
    started = now()

    completion = await ask()

    assert completion.model == "b"
    assert ask.outcomes == [("a", "rate_limited"), ("b", "answered")]
    assert now() - started < 10


@pytest.mark.parametrize("how", ["disconnect", "truncate", "malformed", "odd", "overloaded"])
async def test_a_stream_that_breaks_after_200_tokens_ends_in_one_right_answer(
    how: str, server: ModelServer, ask: Asked
) -> None:
    server.script(Broken(how, after_chunks=200, text="wrong " * 400), model="a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    server.script(Answer("right"), model="a")

    completion = await ask()

    assert (completion.text, completion.model, completion.ending) == ("right", "a", "complete")
    kinds = {"malformed": "malformed", "odd": "malformed", "overloaded": "overloaded"}
    assert ask.outcomes == [("a", kinds.get(how, "broken")), ("a", "answered")]
    assert ask.recorded[0].usage == Usage(40, 30, 20, 1)


async def test_a_model_whose_streams_always_break_leads_to_the_next_one(
    server: ModelServer, ask: Asked
) -> None:
    server.always(Broken("disconnect", after_chunks=200), model="a")

    completion = await ask()

    assert (completion.text, completion.model) == ("echo: Hello", "b")


async def test_a_request_at_fault_is_rejected_after_one_call(server: ModelServer, ask: Asked) -> None:
    server.always(Status(400, "invalid_request_error", "messages.0: Hello is not what I want"))

    with pytest.raises(RequestRejected) as rejected:
        await ask()

    assert len(server.requests) == 1
    assert "Hello" not in rejected.value.reason


@pytest.mark.parametrize(
    "status",
    [Status(413, "request_too_large"), Status(400, "invalid_request_error", "prompt is too long: 9 > 8")],
)
async def test_a_request_that_is_too_long_is_told_as_that(
    status: Status, server: ModelServer, ask: Asked
) -> None:
    server.always(status)

    with pytest.raises(RequestRejected) as rejected:
        await ask()

    assert rejected.value.too_long


@pytest.mark.parametrize(
    ("behaviour", "outcome", "calls"),
    [
        (Status(401, "authentication_error"), "unauthorized", 1),
        (Status(402, "billing_error"), "unpaid", 1),
        (Status(403, "permission_error"), "forbidden", 1),
        (Status(404, "not_found_error"), "unknown_model", 1),
        (Status(429, "rate_limit_error", error_code="contract_spend_limit_reached"), "unpaid", 1),
        (Status(500, headers={"x-should-retry": "false"}), "server_error", 1),
        (Status(500), "server_error", 2),
        (Status(503, ""), "overloaded", 2),
        (Dropped(), "broken", 2),
        (Answer("", stop_reason="end_turn"), "empty", 1),
        (Answer(" ", thinking="hm", stop_reason="max_tokens"), "empty", 1),
        (Answer("half", stop_reason=None, message_stop=False), "broken", 2),
    ],
)
async def test_every_failure_leads_to_the_next_model(
    behaviour: Behaviour, outcome: str, calls: int, server: ModelServer, ask: Asked
) -> None:
    server.always(behaviour, model="a")

    completion = await ask()

    assert completion.model == "b"
    assert ask.outcomes == [("a", outcome)] * calls + [("b", "answered")]


async def test_when_everything_is_down_it_is_told_within_the_deadline() -> None:
    server = ModelServer()
    await server.start()
    await server.stop()
    ask = Asked(server)
    started = now()

    with pytest.raises(NoModelAnswered) as nobody:
        await ask(deadline_s=20)

    assert nobody.value.reason == "a: broken (ConnectError); b: broken (ConnectError)"
    assert now() - started < 20


@pytest.mark.parametrize(
    ("answer", "text", "ending"),
    [
        (Answer("long", stop_reason="max_tokens"), "long", "truncated"),
        (Answer("no", stop_reason="refusal"), "", "refused"),
        (Answer("fine", stop_reason=None), "fine", "complete"),
        (Answer("fine", message_stop=False), "fine", "complete"),
        (Answer("fine", hang_s=60), "fine", "complete"),
    ],
)
async def test_every_other_end_of_a_stream_has_its_ending(
    answer: Answer, text: str, ending: str, server: ModelServer, ask: Asked
) -> None:
    server.script(answer)

    completion = await ask()

    assert (completion.text, completion.ending, len(completion.calls)) == (text, ending, 1)


async def test_a_model_that_pauses_is_asked_to_go_on(server: ModelServer, ask: Asked) -> None:
    server.script(Answer("one \n", stop_reason="pause_turn"), Answer("two"))

    completion = await ask()

    assert completion.text == "one \ntwo"
    assert server.requests[1].body["messages"][-1] == {"role": "assistant", "content": "one"}


async def test_a_server_that_tells_no_usage_leaves_it_unknown(server: ModelServer, ask: Asked) -> None:
    server.script(Answer("fine", usage=None))

    assert (await ask()).usage == Usage()


@pytest.mark.parametrize("how", ["stall", "pings"])
@pytest.mark.parametrize("after_chunks", [0, 3])
async def test_silence_ends_a_call_also_if_the_server_pings(
    how: str, after_chunks: int, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm.patience.STALL_S", 0.3)
    server.script(Broken(how, after_chunks=after_chunks))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    provider = AnthropicProvider(Service("compatible", server.url))
    draft = Draft()

    failure = await listen(
        provider.stream("a", HELLO), draft, Patience(now() + 9, now() + 9, 0.3), on_text=None
    )

    assert isinstance(failure, Failure)
    assert failure.kind == "timeout"
    assert len(draft.pieces) == after_chunks
    await provider.aclose()


async def test_no_thinking_of_one_model_reaches_another(server: ModelServer, ask: Asked) -> None:  # C24
    server.script(Answer("On Wednesday.", thinking="The parcel…"), model="a")
    server.always(OVERLOADED, model="a")

    first = await ask()
    await ask(
        ModelRequest(
            "", (*HELLO.messages, Message("assistant", first.text), Message("user", "Sure?")), max_tokens=100
        )
    )

    assert first.text == "On Wednesday."
    last = server.requests[-1]
    assert last.model == "b"
    assert "thinking" not in str(last.body)
    assert "signature" not in str(last.body)


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "",
        "half \ud83d",
        "nul \0 inside",
        "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL} \N{RIGHT-TO-LEFT MARK}שלום",
        "x" * 100_000,
    ],
)
async def test_bad_text_reaches_the_server_in_a_form_it_takes(
    text: str, server: ModelServer, ask: Asked
) -> None:
    completion = await ask(ModelRequest(text, (Message("user", text),), max_tokens=100))

    assert completion.ending == "complete"


async def test_other_services_get_the_old_version_and_the_key_both_ways(server: ModelServer) -> None:
    headers = await _headers_of(Service("compatible", server.url, SecretStr(" hush\n")), server)

    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["x-api-key"] == "hush"
    assert headers["authorization"] == "Bearer hush"


async def test_a_server_without_a_key_never_gets_another_services_key(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hush")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "hush")

    headers = await _headers_of(Service("compatible", server.url), server)

    assert "hush" not in str(headers)


async def test_anthropic_itself_gets_the_sdks_own_version(server: ModelServer) -> None:
    service = Service("anthropic", server.url, SecretStr("hush"), Capabilities())

    headers = await _headers_of(service, server)

    assert headers["anthropic-version"] == "2026-10-21"
    assert headers["authorization"] == "Bearer hush"
    assert "x-api-key" not in headers


async def test_a_key_that_is_no_header_fails_only_the_call(server: ModelServer) -> None:
    settings = Settings(
        models=("a",), anthropic_base_url=server.url, anthropic_api_key=SecretStr("two\nlines")
    )
    chain = build_chain(settings)

    with pytest.raises(NoModelAnswered, match="a: broken"):
        await chain.complete(HELLO, deadline_at=now() + 20, on_call=Asked(server).record)
    await chain.aclose()


async def test_no_text_reaches_the_log_even_at_debug(
    server: ModelServer, ask: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(OVERLOADED)

    await ask(ModelRequest("secret-system", (Message("user", "secret-message"),), max_tokens=100))

    assert "secret" not in caplog.text


async def test_a_cancelled_call_is_recorded_and_its_connection_closed(
    server: ModelServer, ask: Asked
) -> None:
    server.always(Broken("pings", after_chunks=1))
    chain = build_chain(Settings(models=("a",), anthropic_base_url=server.url))
    await chain.prepare()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await chain.complete(HELLO, deadline_at=now() + 30, on_call=ask.record)

    assert ask.outcomes == [("a", "abandoned")]
    assert ask.recorded[0].usage == Usage(40, 30, 20, 1)
    await chain.aclose()


async def _headers_of(service: Service, server: ModelServer) -> dict[str, str]:
    provider = AnthropicProvider(service)
    async for _ in provider.stream("a", HELLO):
        pass
    await provider.aclose()
    return server.requests[-1].headers


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (anthropic.APITimeoutError(httpx2.Request("POST", "http://h")), "timeout"),
        (httpx2.ReadTimeout("no"), "timeout"),
        (httpx2.ReadError("no"), "broken"),
        (httpx2.InvalidURL("no"), "broken"),
        (anthropic.CredentialsError("no"), "broken"),
        (ConnectionResetError(), "broken"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "no"), "malformed"),
    ],
)
def test_what_the_sdk_raises_is_known_by_its_class(error: Exception, kind: FailureKind) -> None:
    assert failure_of(error).kind == kind


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        ({"type": {"a": 1}, "message": ["slow", "down"]}, Failure("rate_limited", "HTTP 429")),
        ({"type": 7, "message": 7}, Failure("rate_limited", "HTTP 429 7")),
        ("my code is 4711", Failure("rate_limited", "HTTP 429")),
        ({"type": "my code is 4711"}, Failure("rate_limited", "HTTP 429")),
    ],
)
def test_an_error_body_of_an_odd_shape_is_known_by_its_status(fault: object, failure: Failure) -> None:
    body = {"error": fault}
    response = httpx2.Response(429, json=body, request=httpx2.Request("POST", "http://h"))

    assert failure_of(anthropic.APIStatusError("no", response=response, body=body)) == failure


def test_the_kinds_of_failure_are_outcomes_too() -> None:
    assert set(get_args(FailureKind.__value__)) <= set(get_args(Outcome.__value__))
