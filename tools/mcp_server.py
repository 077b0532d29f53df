"""One MCP server: kept connected, asked for its tools, called. Whatever happens to it costs its own tools only."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, cast

import structlog

from infra.settings_sections import McpSettings
from tools.mcp_results import Called, NotSent, Offered, Said, Unclear, as_data, offer, result

if TYPE_CHECKING:
    from tools.mcp_link import Link

CONNECT_S = 90.0
"""To start, greet and list; a command that first fetches its package needs that."""
CHECK_S = 60.0
"""Between two looks at the list, which also show that the server is still there. Not while a call runs: some servers do
one thing at a time.
"""
FIRST_WAIT_S, LAST_WAIT_S = 1.0, 60.0
"""Before the next try; doubled each time, and short again after a connection that stood for LAST_WAIT_S."""
LATE_S = 1.0
"""How long after its time a call is given up from outside, if mcp's own end of it does not come."""
TOOLS = 64
"""Of one server at most: every turn pays for each."""

type Sleep = Callable[[float], Awaitable[object]]
type Tell = Callable[[McpSettings, str], None]
"""Told of a server that was never reached yet, once: which, and the kind of error."""

log = structlog.get_logger()


class Server:
    """One `[[mcp]]` table at work."""

    def __init__(
        self,
        settings: McpSettings,
        env: Mapping[str, str],
        *,
        sleep: Sleep,
        monotonic: Callable[[], float],
        tell: Tell,
    ) -> None:
        self.settings = settings
        self.tried = asyncio.Event()
        """Set: the first try has connected or failed."""
        self.tools: Mapping[str, Offered] = {}
        """Available now, by the name they are offered under."""
        self._env = env
        self._sleep = sleep
        self._monotonic = monotonic
        self._tell = tell
        self._link: Link | None = None
        self._stood_s = 0.0
        self._look = asyncio.Event()
        """Set: the list may be another, or the server gone."""
        self._look_later = False
        self._ended = False
        self._running = 0
        self._said: set[tuple[str, str]] = set()
        """Which tools the log was told of, and why they are left out."""
        self._is_lost = False

    async def serve(self) -> None:
        """For ever: connect, stay, and again after a failure."""
        wait_s = FIRST_WAIT_S
        while True:
            self._stood_s = 0.0
            try:
                await self._stay()
            except Exception as error:  # noqa: BLE001 - the border of a job
                self._lost(error)
            _end_if_cancelled()
            if self._stood_s > LAST_WAIT_S:
                wait_s = FIRST_WAIT_S
            await self._sleep(wait_s)
            wait_s = min(2 * wait_s, LAST_WAIT_S)

    async def call(self, offered: str, arguments: dict[str, Any], timeout_s: float) -> Called:
        """offered: the name under which the tool was offered.

        Raises: CancelledError only.
        """
        name, link, tool = self.settings.name, self._link, self.tools.get(offered)
        if link is None:
            return _not_reachable(name)
        if tool is None or not _is_json(arguments):
            return Called("There is no such tool, or its arguments are no JSON; nothing was done.", "failed")
        limit_s = min(timeout_s, self.settings.timeout.total_seconds())
        self._running += 1
        try:
            async with asyncio.timeout(limit_s + LATE_S):
                return result(name, await link.call(tool.tool, arguments, limit_s))
        except NotSent:
            self._look_later = True
            return _not_reachable(name)
        except Said as refused:
            self._look_later = True
            return Called(as_data(name, str(refused)), "failed")
        except (Unclear, TimeoutError):
            self._look_later = True
            return Called(
                f"The server {name} did not answer. It may or may not have been done: say so, do not repeat it unasked.",
                "unknown",
            )
        finally:
            self._running -= 1
            if self._look_later and not self._running:
                self._look.set()

    async def _stay(self) -> None:
        """Connected as long as the server answers.

        Raises: whatever ended it.
        """
        connect = await asyncio.to_thread(_import_connect)
        self._look.clear()
        self._ended = self._look_later = False
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(CONNECT_S):
                link = await stack.enter_async_context(
                    connect(self.settings, self._env, changed=self._look.set, ended=self._end)
                )
                await self._list(link)
            began_s = self._monotonic()
            self._link, self._is_lost = link, False
            self.tried.set()
            log.info("mcp_connected", server=self.settings.name, tools=len(self.tools))
            try:
                await self._watch(link)
            finally:
                self._link, self.tools = None, {}
                self._stood_s = self._monotonic() - began_s

    async def _watch(self, link: "Link") -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_S):
                    await self._look.wait()
            self._look.clear()
            if self._ended:
                raise NotSent
            self._look_later = bool(self._running)
            if not self._running:
                await self._list(link)

    async def _list(self, link: "Link") -> None:
        name = self.settings.name
        found = offer(name, await link.tools(), self.settings.tools, most=TOOLS)
        self.tools = {tool.name: tool for tool in found.tools}
        for tool, why in found.left_out.items():
            if (tool, why) not in self._said:
                self._said.add((tool, why))
                log.warning("mcp_tool_left_out", server=name, tool=tool, why=why)

    def _end(self) -> None:
        self._ended = True
        self._look.set()

    def _lost(self, error: Exception) -> None:
        """Told once, until it is connected again."""
        if not self._is_lost:
            log.warning("mcp_lost", server=self.settings.name, error=_kind(error))
        self._is_lost = True
        if not self.tried.is_set():
            self.tried.set()
            self._tell(self.settings, _kind(error))


def _end_if_cancelled() -> None:
    """anyio swallows a cancellation that meets it while it closes a lost connection; the task still counts it.

    Raises: CancelledError.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _import_connect() -> Any:
    """In a thread: it takes a second, in which turns go on."""
    from tools.mcp_link import connect  # noqa: PLC0415 - 30 MB that only a configured server costs

    return connect


def _kind(error: BaseException) -> str:
    """ "FileNotFoundError", "MCPError -32603": of the first one of a group."""
    if isinstance(error, BaseExceptionGroup):
        return _kind(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    code = cast("object", getattr(error, "code", ""))
    return f"{type(error.__cause__ or error).__name__} {code}".strip()


def _not_reachable(name: str) -> Called:
    return Called(f"The server {name} is not reachable now; nothing was done.", "failed")


def _is_json(arguments: dict[str, Any]) -> bool:
    """False also for half characters, which no transport can send."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True
