"""A model server of our own over real HTTP: Anthropic's Messages API, streaming only, scriptable and strict.

In a test:      async with ModelServer() as server: server.script(OVERLOADED, model="a"); … server.url … server.requests
As a process:   python -m tests.fakes.model_server --port 8100 [--delay 0.2]
A behaviour may be a function of the request's body: a model that decides by what it sees. Unscripted, it echoes: the answer is "echo: " and what the person wrote last, without the memory block before it.
"""

import argparse
import asyncio
import json
import re
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, Self, assert_never

from aiohttp import web

from tests.fakes.model_events import answer_events, pieces, start_event, text_events
from tests.fakes.model_rules import MAX_REQUEST_CHARS, fault_of, text_of, thought_fault
from tests.fakes.model_script import USAGE, Answer, Behaviour, Broken, Dropped, Status

ANY = "*"
PING_S = 0.02
LAST_WORDS = {
    "malformed": b'event: content_block_delta\ndata: {"type": "content_bl\n\n',
    "odd": b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": ["?"]}\n\n',
}
"""Of a stream that breaks, by Broken.how."""


TIME_NOTE = re.compile(r"\n\n\[[^\]\n]*\d\d:\d\d\]$")
"""workers.prompt.now_note, as workers.plan puts it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    model: str
    body: dict[str, Any]
    headers: dict[str, str]
    """Names in lower case."""


class ModelServer:
    """Listens on loopback from `start` to `stop`."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        self.requests: list[Asked] = []
        self._queues: dict[str, deque[Behaviour]] = {}
        self._always: dict[str, Behaviour] = {}
        self._default = Answer(delay_s=delay_s)
        self._thoughts: dict[tuple[str, str], str] = {}
        """By model and id of a call: what was thought before it."""
        self._made = 0
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """ANTHROPIC_BASE_URL for this server."""
        return f"http://127.0.0.1:{self.port}"

    def script(self, *behaviours: Behaviour, model: str = ANY) -> None:
        """The next requests (for `model`), in this order; after them the default again."""
        self._queues.setdefault(model, deque()).extend(behaviours)

    def always(self, behaviour: Behaviour, *, model: str = ANY) -> None:
        """The default from now on (for `model`)."""
        self._always[model] = behaviour

    async def start(self, port: int = 0) -> None:
        """Listen; 0: any free port."""
        app = web.Application(client_max_size=MAX_REQUEST_CHARS)
        app.router.add_post("/v1/messages", self._messages)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Ends stalled answers too."""
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        if self._runner is None:
            await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Asked(body.get("model", ""), body, headers))
        if fault := fault_of(body) or thought_fault(body, self._thoughts):
            return _error(Status(400, "invalid_request_error", fault))
        behaviour = self._behaviour(body["model"])
        if callable(behaviour):
            behaviour = behaviour(body)
        match behaviour:
            case Answer() as answer:
                return await self._answer(request, answer, body)
            case Status() as status:
                return _error(status)
            case Broken() as broken:
                return await self._broken(request, broken, body)
            case Dropped():
                _abort(request)
                return web.Response()
            case _:
                assert_never(behaviour)

    def _behaviour(self, model: str) -> Behaviour:
        for name in (model, ANY):
            if queue := self._queues.get(name):
                return queue.popleft()
        return self._always.get(model) or self._always.get(ANY) or self._default

    async def _answer(self, request: web.Request, answer: Answer, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(answer.delay_s)
        text = answer.text
        if text is None:
            text = "" if answer.uses else echo(body)
        if answer.to_the_last:
            answer = replace(answer, usage={**USAGE, "output_tokens": body["max_tokens"]})
        events = list(answer_events(answer, text, self._new_id))
        self._remember(body["model"], answer, events)
        response = await _open(request)
        await _send(response, start_event(body["model"], answer))
        for event in events:
            if answer.chunk_delay_s and event.get("delta", {}).get("type") == "text_delta":
                await asyncio.sleep(answer.chunk_delay_s)
            await _send(response, event)
        await asyncio.sleep(answer.hang_s)
        return response

    def _new_id(self) -> str:
        self._made += 1
        return f"toolu_{self._made:04}"

    def _remember(self, model: str, answer: Answer, events: list[dict[str, Any]]) -> None:
        """The thought before each call: it has to come back with it."""
        blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
        if answer.thinking:
            for block in blocks:
                if block["type"] == "tool_use":
                    self._thoughts[model, block["id"]] = answer.thinking

    async def _broken(self, request: web.Request, broken: Broken, body: dict[str, Any]) -> web.StreamResponse:
        response = await _open(request)
        text = "".join(pieces(broken.text)[: broken.after_chunks])
        await _send(response, start_event(body["model"], Answer()), *text_events(0, text))
        await self._fail(request, response, broken)
        return response

    async def _fail(self, request: web.Request, response: web.StreamResponse, broken: Broken) -> None:
        if broken.how == "disconnect":
            await asyncio.sleep(0.01)  # or the reset would overtake what was written
            _abort(request)
        while broken.how in {"stall", "pings"} and not self._gone(request):
            if broken.how == "pings":
                await _send(response, {"type": "ping"})
            await asyncio.sleep(PING_S)
        if broken.how in LAST_WORDS:
            await response.write(LAST_WORDS[broken.how])
        if broken.how == "overloaded":
            await _send(
                response, {"type": "error", "error": {"type": broken.error_type, "message": "as scripted"}}
            )

    def _gone(self, request: web.Request) -> bool:
        return self._closing.is_set() or request.transport is None or request.transport.is_closing()


def echo(body: dict[str, Any]) -> str:
    """What the person wrote last, without a memory block before it, or the time behind it: that is the test's, not theirs."""
    last = text_of(body["messages"][-1]).rpartition("</conversation_history>")[2].strip()
    return f"echo: {TIME_NOTE.sub('', last)}"


async def _open(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": "req_fake"})
    await response.prepare(request)
    return response


async def _send(response: web.StreamResponse, *events: dict[str, Any]) -> None:
    for event in events:
        await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def _error(status: Status) -> web.Response:
    error: dict[str, Any] = {"type": status.type, "message": status.message}
    if status.error_code is not None:
        error["details"] = {"error_code": status.error_code}
    headers = {"request-id": "req_fake", **status.headers}
    return web.json_response({"type": "error", "error": error}, status=status.status, headers=headers)


def _abort(request: web.Request) -> None:
    if isinstance(request.transport, asyncio.WriteTransport):
        request.transport.abort()


async def _serve(port: int, delay_s: float) -> None:
    server = ModelServer(delay_s=delay_s)
    await server.start(port)
    async with server:
        print(f"model server: {server.url}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    asyncio.run(_serve(options.port, options.delay))


if __name__ == "__main__":
    main()
