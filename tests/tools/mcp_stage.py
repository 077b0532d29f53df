"""Hubs for tests: connected for the length of a block."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from infra.settings_sections import McpSettings
from tools.mcp import Called, Hub

PATIENCE_S = 90
"""Real servers import for seconds, on a busy machine for many."""
SCRIPT = Path(__file__).parents[1] / "fakes" / "mcp_script.py"
ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}


def script(name: str, *options: str, **settings: Any) -> McpSettings:
    """The scripted server by command."""
    command = (sys.executable, str(SCRIPT), *options)
    return McpSettings.model_validate({"name": name, "command": command, **settings})


async def soon(_wait_s: float) -> None:
    await asyncio.sleep(0.1)


@asynccontextmanager
async def running(
    *servers: McpSettings,
    environ: Mapping[str, str] = ENVIRON,
    wait: bool = True,
    told: list[tuple[str, str]] | None = None,
) -> AsyncGenerator[Hub]:
    """wait: until all servers are connected. told: gets name and error of each that was not reached. Afterwards the hub
    has ended.
    """
    lost = [] if told is None else told
    hub = Hub(servers, environ, sleep=soon, tell=lambda server, error: lost.append((server.name, error)))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(hub.serve())
        if wait:
            await until(lambda: {tool.server for tool in shown(hub)} == {one.name for one in servers})
        try:
            yield hub
        finally:
            task.cancel()


def shown(hub: Hub) -> Any:
    return hub.offered(bot="kitchen", user_id="7")


def names(hub: Hub) -> list[str]:
    return [tool.name for tool in shown(hub)]


async def call(hub: Hub, name: str, timeout_s: float = 30, **arguments: object) -> Called:
    return await hub.call(name, arguments, timeout_s=timeout_s, bot="kitchen", user_id="7")


async def until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < deadline, "it did not come to that"
        await asyncio.sleep(0.01)
