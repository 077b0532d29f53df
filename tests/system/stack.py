"""The stack of the benches, but what `koi` starts there is forked from a zygote: the same process, eight seconds sooner."""

import functools
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from typing import BinaryIO

import bench.stack
from bench.stack import ROOT, Child, Launch, Process, by_exec, free_port

__all__ = ["Process", "Stack", "free_port"]

AT_START = ("PYTHON", "LANG", "LC_")
"""How the names begin of what Python itself reads from the environment, once."""
FORKED_S = 120
"""Until a child is there; the first waits for the zygote's imports."""


class Forked:
    """A child of the zygote, as Popen shows a child of ours."""

    def __init__(self, connection: socket.socket, command: list[str]) -> None:
        self.command = command
        self.returncode: int | None = None
        self._connection = connection
        self._lines = b""
        self.pid = self._number(FORKED_S)

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Raises: subprocess.TimeoutExpired."""
        if self.returncode is None:
            self.returncode = self._number(timeout)
            self._connection.close()
        return self.returncode

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, 15)

    def _number(self, timeout_s: float | None) -> int:
        """The next line."""
        self._connection.settimeout(timeout_s)
        while b"\n" not in self._lines:
            try:
                more = self._connection.recv(64)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.command, timeout_s or 0) from None
            if not more:
                raise RuntimeError("the zygote does not answer: see what it wrote on stderr")
            self._lines += more
        line, _, self._lines = self._lines.partition(b"\n")
        return int(line)


class Zygote:
    """See zygote.py; one for each process of pytest, begun when first wanted."""

    def __init__(self) -> None:
        self.environment = bench.stack.shell()
        self._channel, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its_end:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.system.zygote", str(its_end.fileno())], env=self.environment, cwd=ROOT,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[its_end.fileno()], start_new_session=True,
            )  # fmt: skip

    def start(self, command: list[str], environment: dict[str, str], output: BinaryIO) -> Forked:
        request = json.dumps({"argv": command, "environment": environment, "folder": str(ROOT)}).encode()
        ours, its_end = socket.socketpair()
        with its_end:
            socket.send_fds(self._channel, [request], [its_end.fileno(), output.fileno()])
        return Forked(ours, command)

    def fits(self, environment: dict[str, str]) -> bool:
        """Whether Python would have begun the same way with it."""
        return _at_start(environment) == _at_start(self.environment)

    def close(self) -> None:
        """What it started lives on."""
        self._channel.close()
        self._process.wait(40)


def _at_start(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(AT_START)}


@functools.cache
def zygote() -> Zygote:
    return Zygote()


def end_zygote() -> None:
    """If there is one."""
    if zygote.cache_info().currsize:
        zygote().close()
        zygote.cache_clear()


def by_fork(command: list[str], environment: dict[str, str], output: BinaryIO) -> Child:
    """Where the system has fork, and Python's own settings are those of the zygote."""
    if sys.platform != "linux" or not zygote().fits(environment):
        return by_exec(command, environment, output)
    return zygote().start(command, environment, output)


@dataclass
class Stack(bench.stack.Stack):
    """`with Stack() as stack`."""

    launch_koi: Launch = field(default=by_fork)
