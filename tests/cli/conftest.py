"""What the tests of the command share."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from cli import live_log
from cli.main import run
from infra.redis_port import RedisPort
from schemas.reply import Button, Reply

LANE = "local:local:jo:0"
BUTTONS = (
    (Button(text="Fresh start", command="/new"), Button(text="Strong model", command="/model strong")),
    (Button(text="Forget it", command="/forget #1"),),
)


def reply(number: int = 1, *, text: str = "", answers: tuple[str, ...] = (), failed: bool = False) -> Reply:
    """A reply for the windows of jo."""
    return Reply(
        id=f"t{number}:answer", bot_id="local", chat_id="local:jo", text=text or f"answer {number}",
        answers=answers, owner="home:u:local:jo", failed=failed,
    )  # fmt: skip


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


type Koi = Callable[..., Awaitable[int]]


def _leave_logging_alone(*_: object) -> None:
    """It belongs to the whole test process."""


@pytest.fixture
def koi(monkeypatch: pytest.MonkeyPatch, valkey_socket: Path, redis: RedisPort) -> Koi:
    """`await koi("dead", "list")` in this process, on the database of the test; gives the exit code."""
    monkeypatch.setenv("REDIS_URL", f"unix://{valkey_socket}?db=0")
    monkeypatch.setattr(live_log, "start_log", _leave_logging_alone)

    async def call(*words: str) -> int:
        return await asyncio.to_thread(run, words)

    return call
