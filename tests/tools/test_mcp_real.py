"""Two MCP servers that others wrote: mcp-server-time by command, mcp-server-git by URL. Acceptance 4."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from infra.settings_sections import McpSettings
from tests.fakes.mcp_git import GitServer, repository
from tests.tools.mcp_stage import call, names, running, shown, until

CLOCK = McpSettings(name="clock", command=(str(Path(sys.executable).parent / "mcp-server-time"),))


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GitServer, str]]:
    """The server, which may have been killed, and its repository."""
    folder = repository(tmp_path_factory.mktemp("pond"))
    with GitServer(folder) as server:
        server.wait()
        yield server, str(folder)


async def test_both_are_listed_and_called(git: tuple[GitServer, str]) -> None:
    server, folder = git
    log = McpSettings(name="git", url=server.url, token=SecretStr("sesame"), tools=("git_log",))
    async with running(CLOCK, log, environ=os.environ) as hub:
        assert names(hub) == ["clock__convert_time", "clock__get_current_time", "git__git_log"]
        assert shown(hub)[2].reads_only

        history, noon, nowhere = await asyncio.gather(
            call(hub, "git__git_log", repo_path=folder),
            call(hub, "clock__convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
            call(hub, "clock__get_current_time", timezone="Mars/Base"),
        )  # fmt: skip

    assert history.outcome == "done"
    assert "Message: Feed the koi\n</tool_output>" in history.text
    assert "21:00" in noon.text
    assert (nowhere.outcome, "Mars/Base" in nowhere.text) == ("failed", True)


async def test_a_server_by_url_killed_in_a_call_leaves_it_unknown_and_is_found_again(
    git: tuple[GitServer, str],
) -> None:
    server, folder = git
    async with running(McpSettings(name="git", url=server.url)) as hub:
        server.freeze()
        calling = asyncio.create_task(call(hub, "git__git_log", repo_path=folder))
        await asyncio.sleep(0.3)  # it is under way
        server.kill()

        assert (await calling).outcome == "unknown"
        assert (await call(hub, "git__git_log", repo_path=folder)).outcome == "failed"
        await until(lambda: not shown(hub))
        server.start()
        await until(lambda: "git__git_log" in names(hub))
        assert (await call(hub, "git__git_log", repo_path=folder)).outcome == "done"

        server.kill()
        idle = await call(hub, "git__git_log", repo_path=folder)
        server.start()

    assert (idle.outcome, "nothing was done" in idle.text) == ("failed", True), "it was surely not sent"
