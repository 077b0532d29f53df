"""One connection to an MCP server. The only file that imports mcp (30 MB); itself imported only to connect."""

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from subprocess import DEVNULL
from typing import Any, TextIO, cast, override

import httpx2
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.session import IncomingMessage
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from infra.settings_sections import McpSettings
from tools.mcp_results import Answer, Listed, NotSent, Said, Unclear

DIAL_S = 10.0
"""For one TCP and TLS connection."""
ANSWER_S = 30.0
"""For each step of the handshake, and a page of the list."""
SILENCE_S = 300.0
"""How long a response may say nothing (more than a call may last) before its connection is given up."""
PAGES = 20
"""Of the list at most: a server may hand out cursors for ever."""
NOT_SENT = -32_050
"""Our own code for a request that never left (JSON-RPC leaves -32000 to -32099 to implementations)."""
LOST = re.compile(r"Connection closed|SSE stream .*|Request '.*' timed out|Server returned an error response")
"""What mcp 2.3.0 says when there is no answer to a request that was sent. The last: any HTTP error without JSON-RPC in it,
so also a proxy that lost the answer. Not by the codes: servers use the same ones for errors of their own.
"""
FORGOTTEN = "Session terminated"
"""The same for a server that does not know our session any more, and so did nothing."""


class Http(httpx2.AsyncClient):
    """A request that reached no server is answered with an error of its own: mcp would end the whole session, and the
    caller could not know that nothing was done.
    """

    @override
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            error = {"code": NOT_SENT, "message": "not reachable"}
            return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


class Watched:
    """The incoming half of a transport, which tells when nothing more will come; mcp itself tells nobody."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> "Watched":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended()
            raise

    async def __aenter__(self) -> "Watched":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._stream.__aexit__(*error)


class Link:
    """A connection that stands. Calls may run at the same time, in any task."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def tools(self) -> list[Listed]:
        """All that the server lists.

        Raises: NotSent, Said, Unclear.
        """
        found: list[Listed] = []
        cursor: str | None = None
        for _ in range(PAGES):
            page = await _told(self._client.list_tools(cursor=cursor, cache_mode="refresh"))
            found += [_listed(tool) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        return found

    async def call(self, tool: str, arguments: dict[str, Any], timeout_s: float) -> Answer:
        """Raises: NotSent: not done. Said: refused. Unclear: it may have been done."""
        found = await _told(self._client.call_tool(tool, arguments, read_timeout_seconds=timeout_s))
        return Answer(
            tuple(_shown(block) for block in found.content),
            found.structured_content,
            is_error=found.is_error,
            has_text=any(isinstance(block, types.TextContent) for block in found.content),
        )


@asynccontextmanager
async def connect(
    server: McpSettings,
    env: Mapping[str, str],
    *,
    changed: Callable[[], None],
    ended: Callable[[], None],
) -> AsyncGenerator[Link]:
    """env: of a command, besides what mcp passes on (HOME, LOGNAME, PATH, SHELL, TERM, USER).
    changed: the list may be another now. ended: nothing more will come from the server.

    Raises: OSError: no such command. MCPError, httpx2.HTTPError, ExceptionGroup of these: whatever goes wrong, also
    later, where the connection is used.
    """

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs what servers say
    async with AsyncExitStack() as stack:
        transport = _watched(await _transport(stack, server, env), ended)
        info = types.Implementation(name="koi", version="0.1.0")
        client = Client(transport, read_timeout_seconds=ANSWER_S, message_handler=heard, client_info=info)
        yield Link(await stack.enter_async_context(client))


async def _transport(stack: AsyncExitStack, server: McpSettings, env: Mapping[str, str]) -> Any:
    """Redirects are followed only within the same origin (mcp sees to that), so the token goes nowhere else."""
    if server.command:
        silent = cast(
            "TextIO", DEVNULL
        )  # handed on to the process as it is; what a server says there is text
        program, *arguments = server.command
        options = StdioServerParameters(
            command=program, args=arguments, env=dict(env), encoding_error_handler="replace"
        )
        return stdio_client(options, silent)
    token = server.token.get_secret_value()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    silence_s = max(SILENCE_S, 2 * server.timeout.total_seconds())
    timeout = httpx2.Timeout(ANSWER_S, connect=DIAL_S, read=silence_s)
    http = await stack.enter_async_context(Http(headers=headers, timeout=timeout))
    return streamable_http_client(server.url, http_client=http)


@asynccontextmanager
async def _watched(transport: Any, ended: Callable[[], None]) -> AsyncGenerator[Any]:
    async with transport as (incoming, outgoing):
        yield Watched(incoming, ended), outgoing


async def _told[T](asked: Awaitable[T]) -> T:
    try:
        return await asked
    except MCPError as error:
        if error.code == NOT_SENT or error.message == FORGOTTEN:
            raise NotSent from None
        if LOST.fullmatch(error.message):
            raise Unclear from None
        raise Said(error.message) from None
    except (
        Exception
    ) as error:  # an answer that is none (pydantic, mcp's RuntimeError), a transport that broke
        raise Unclear from error


def _listed(tool: types.Tool) -> Listed:
    hints = tool.annotations
    return Listed(
        tool.name,
        tool.description or tool.title or "",
        tool.input_schema,
        reads_only=bool(hints and hints.read_only_hint),
    )


def _shown(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type}: {block.mime_type}, about {len(block.data) * 3 // 4096} kB, not shown]"
        case types.ResourceLink():
            return f"[resource: {block.name}, {block.uri}]"
        case types.EmbeddedResource():
            name = f"[resource: {block.resource.uri}]"
            text = cast("str", getattr(block.resource, "text", ""))
            return f"{name}\n{text}" if text else name
