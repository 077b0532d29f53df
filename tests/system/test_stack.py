"""A koi forked from the zygote is what a koi started by its command is."""

import os
import signal
import subprocess

import psutil
import pytest

from bench.stack import by_exec
from tests.system import koi
from tests.system.stack import Stack

pytestmark = pytest.mark.system


@pytest.mark.parametrize(
    "words",
    [["--version"], ["nonsense"], ["explain", "no-such-turn"], ["worker", "--concurrency", "0"], ["bot"]],
    ids=" ".join,
)
def test_it_says_the_same_and_ends_with_the_same_code(words: list[str]) -> None:
    said: list[tuple[int, str]] = []
    with Stack({"KOI_QUEUE__LEASE": "soon"} if words == ["bot"] else {}) as stack:
        for name in ("forked", "started"):
            process = stack.koi(name, *words, TZ="Asia/Tokyo", KOI_LOG="info")
            if name == "started":
                process.launch = by_exec

            process.start()

            said.append((process.wait(), process.log.read_text("utf-8")))

    forked, started = said
    assert forked == started
    assert forked[1]


async def test_it_is_a_process_that_can_be_stopped_killed_and_ended() -> None:
    with Stack() as stack:
        async with koi.valkey_of(stack):
            pass
        first, second = (stack.koi(name, "worker", KOI_MODEL="offline") for name in ("first", "second"))
        koi.start(first, second)
        await koi.until(lambda: all("worker_started" in one.log.read_text() for one in (first, second)))
        sessions = [os.getsid(one.pid) for one in (first, second)]

        first.send(signal.SIGSTOP)
        await koi.until(lambda: psutil.Process(first.pid).status() == psutil.STATUS_STOPPED)
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(0)
        first.send(signal.SIGKILL)
        await koi.until(lambda: psutil.Process(first.pid).status() == psutil.STATUS_ZOMBIE)

        assert sessions == [first.pid, second.pid]
        assert first.wait() == -signal.SIGKILL
        assert f'-{second.pid}"' in second.log.read_text()
        assert await koi.end(second) == [0]
