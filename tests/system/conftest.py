"""Real koi processes, started as people start them, each test with a data folder of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from bench.stack import shell
from tests.system.stack import end_zygote

PATIENCE_S = 120
"""Only a busy machine needs more than seconds."""
KOI = (sys.executable, "-m", "cli.main")


@dataclass
class Machine:
    """Starts koi with one data folder and no other setting; knows which processes use that folder."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict[str, str])
    started: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])

    def environment(self) -> Mapping[str, str]:
        return {**shell(), "KOI_DATA_DIR": str(self.folder / "data"), **self.settings}

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*KOI, *words], env=self.environment(), cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.started.append(process)
        return process

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """To its end."""
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def left(self) -> list[str]:
        """Command lines of living processes that were started with this folder."""
        found: list[str] = []
        for process in psutil.process_iter():
            try:
                words, status = process.cmdline(), process.status()
                mine = any(str(self.folder) in word for word in words) or (
                    process.environ().get("KOI_DATA_DIR", "").startswith(str(self.folder))
                )
            except psutil.Error:
                continue
            if mine and status != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                found.append(" ".join(words))
        return found

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for process in psutil.process_iter():
            if any(str(self.folder) in word for word in _words(process)):
                process.kill()


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture(scope="session", autouse=True)
def _one_zygote() -> Iterator[None]:
    yield
    end_zygote()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.end()


def wait_for(condition: Callable[[], object]) -> None:
    """Until it holds; for what another process brings about."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
