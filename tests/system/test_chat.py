"""`koi chat` as people and scripts start it."""

import asyncio
import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.fakes.model_script import Broken
from tests.fakes.model_server import ModelServer
from tests.system.conftest import KOI, PATIENCE_S, Machine

pytestmark = pytest.mark.system


def test_the_first_message_on_a_fresh_machine_is_answered_and_the_next_one_follows_it(
    machine: Machine,
) -> None:
    first = machine.run("chat", "--once", "UPS says Wednesday")
    second = machine.run("chat", "--once", "x\udce9, שלום", "--json")  # a byte that is no UTF-8

    assert (first.returncode, first.stderr) == (0, "")
    assert "“UPS says Wednesday”" in first.stdout
    assert second.returncode == 0
    assert "“x�, שלום" in json.loads(second.stdout)["reply"]
    assert "2 messages of this conversation before it" in json.loads(second.stdout)["reply"]
    assert machine.left() == []


def test_two_at_once_of_one_person_each_get_the_reply_to_their_message(machine: Machine) -> None:
    chats = [machine.start("chat", "--once", text) for text in ("apples", "pears")]

    apples, pears = [chat.communicate(timeout=PATIENCE_S)[0] for chat in chats]

    assert [chat.returncode for chat in chats] == [0, 0]
    assert "apples" in apples
    assert "pears" in pears
    assert machine.left() == []


async def test_a_message_whose_turn_was_killed_is_answered_at_the_next_start(machine: Machine) -> None:
    """C45, C46: kill −9 of the only process, in the middle of its turn."""
    async with ModelServer() as server:
        machine.settings = {"ANTHROPIC_BASE_URL": server.url, "KOI_MODEL": "m", "KOI_QUEUE__LEASE": "1s"}
        server.script(Broken("stall", after_chunks=1))
        first = machine.start("chat", "--once", "first")
        async with asyncio.timeout(PATIENCE_S):
            while not server.requests:
                await asyncio.sleep(0.01)
        first.kill()
        first.wait()

        second = await asyncio.to_thread(machine.run, "chat", "--once", "second")

    assert (second.returncode, second.stdout) == (0, "echo: second\n")
    assert second.stderr == "echo: first\n"


def test_lines_of_a_pipe_are_answered_one_after_the_other(machine: Machine) -> None:
    done = subprocess.run(
        [*KOI, "chat"], input="one\n\n/forget all\n", env=machine.environment(), cwd=machine.folder, text=True,
        capture_output=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert done.returncode == 0
    assert done.stdout.index("“one”") < done.stdout.index("I have forgotten 1 entry.")


class Window:
    """A terminal with koi chat in it."""

    def __init__(self, machine: Machine) -> None:
        self.screen, child = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            [*KOI, "chat", "--user", "jo"], env={**machine.environment(), "TERM": "xterm"}, cwd=machine.folder,
            stdin=child, stdout=child, stderr=child, start_new_session=True,
        )  # fmt: skip
        os.close(child)

    def until(self, words: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.screen], [], [], 0.1)[0]:
                self.seen += os.read(self.screen, 65536).decode("utf-8", "replace")

    def press(self, keys: str) -> None:
        os.write(self.screen, keys.encode())

    def ended(self) -> int:
        code = self.process.wait(PATIENCE_S)
        os.close(self.screen)
        return code


@pytest.fixture
def window(machine: Machine) -> Iterator[Window]:
    window = Window(machine)
    yield window
    window.process.kill()
    window.process.wait()


def test_a_person_writes_reads_and_leaves(machine: Machine, window: Window) -> None:
    window.until("You write as")
    window.until("› ")
    window.press("grüße dich\r")
    window.until("One would have been given this")
    window.press(f"\x1b[200~{'long ' * 20_000}\x1b[201~\r")
    window.until("read its beginning")
    window.press("\x04")

    assert window.ended() == 0
    assert machine.left() == []


def test_a_window_that_is_closed_leaves_nothing_behind(machine: Machine, window: Window) -> None:
    window.until("› ")

    os.close(window.screen)

    assert window.process.wait(PATIENCE_S) == 0
    assert machine.left() == []
