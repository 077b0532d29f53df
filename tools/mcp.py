"""The tools of MCP servers: which there are, who may use them, and how one is called.

Servers are named in koi.toml only; nobody in a chat can add one. What they say is data for the model, marked as such.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import structlog

from infra.settings_sections import McpSettings
from infra.settings_sources import secret
from tools.mcp_results import Called, Offered
from tools.mcp_server import Server, Sleep, Tell

__all__ = ["Called", "Hub", "Offered"]

GIVEN = ("PATH", "HOME")
"""What every command is given; koi's own variables, its secrets among them, only by `env`."""
EVERYBODY = "*"

log = structlog.get_logger()


def _to_nobody(_server: McpSettings, _error: str) -> None:
    """The log has it."""


class Hub:
    """All MCP servers of one worker. Without any it costs nothing."""

    def __init__(
        self,
        servers: Sequence[McpSettings],
        environ: Mapping[str, str],
        *,
        sleep: Sleep = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        tell: Tell = _to_nobody,
    ) -> None:
        """Raises: BadSetting: a variable that `env` names has a _FILE that cannot be read."""
        self._servers = {
            one.name: Server(one, given(one, environ), sleep=sleep, monotonic=monotonic, tell=tell)
            for one in servers
        }

    @property
    def has_people(self) -> bool:
        """A server is not for everybody."""
        return any(server.settings.people for server in self._servers.values())

    async def serve(self) -> None:
        """For ever. When cancelled, connections are closed and commands ended."""
        async with asyncio.TaskGroup() as group:
            for server in self._servers.values():
                group.create_task(server.serve())
            await asyncio.Event().wait()

    async def tried(self, wait_s: float) -> None:
        """Until the first try of each server has connected or failed; at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                for server in self._servers.values():
                    await server.tried.wait()

    def offered(self, *, bot: str, user_id: str) -> tuple[Offered, ...]:
        """What this person may use with this bot now: servers as in koi.toml, tools by name.

        bot: its name in `[[bots]]`. Empty while a server is not connected.
        """
        return tuple(
            tool
            for server in self._servers.values()
            if may_use(server.settings, bot=bot, user_id=user_id)
            for tool in server.tools.values()
        )

    async def call(
        self, name: str, arguments: dict[str, object], *, timeout_s: float, bot: str, user_id: str
    ) -> Called:
        """name: as it was offered. timeout_s: at most; the server's own `timeout` may be shorter.

        Raises: CancelledError only.
        """
        server = self._servers.get(name.partition("__")[0])
        if server is None or not may_use(server.settings, bot=bot, user_id=user_id):
            return Called("There is no such tool here; nothing was done.", "failed")
        return await server.call(name, arguments, timeout_s)


def may_use(server: McpSettings, *, bot: str, user_id: str) -> bool:
    """By the settings alone: the bot first, then the person."""
    if server.bots and bot not in server.bots:
        return False
    return not server.people or EVERYBODY in server.people or user_id in server.people


def given(server: McpSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a server's command.

    Raises: BadSetting: NAME_FILE cannot be read.
    """
    found = {name: environ[name] for name in GIVEN if name in environ}
    for name in server.env:
        if value := secret(environ, name):
            found[name] = value
        else:
            log.warning("mcp_variable_not_set", server=server.name, variable=name)
    return found
