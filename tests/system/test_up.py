"""`koi up`, `koi worker` and `koi demo` as whole processes."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.fakes.telegram import FakeTelegram
from tests.system.conftest import PATIENCE_S, Machine, wait_for

pytestmark = pytest.mark.system

BOT, OWNER = "7001", 42


def test_without_a_token_up_runs_says_what_is_missing_and_ends_cleanly(machine: Machine) -> None:
    up = machine.start("up")
    assert up.stdout is not None
    head = [up.stdout.readline() for _ in range(8)]

    wait_for(lambda: machine.run("health", "worker").returncode == 0)
    up.send_signal(signal.SIGTERM)
    rest, complaints = up.communicate(timeout=PATIENCE_S)

    said = "".join([*head, rest])
    assert (up.returncode, complaints) == (0, "")
    assert all(
        words in said for words in (str(machine.folder), "TELEGRAM_BOT_TOKEN", "koi chat", "worker stopped")
    )
    assert machine.left() == []


async def test_up_answers_in_telegram_and_sends_what_it_owes_before_it_ends(machine: Machine) -> None:
    async with FakeTelegram().running() as telegram:
        machine.settings = {"TELEGRAM_API_BASE": telegram.base, "TELEGRAM_BOT_TOKEN": f"{BOT}:{'A' * 30}",
                            "TELEGRAM_OWNER": str(OWNER), "KOI_MODEL": "offline"}  # fmt: skip
        up = machine.start("up")
        telegram.say(BOT, OWNER, "hello koi")

        async with asyncio.timeout(PATIENCE_S):
            while not [call for call in telegram.calls if call.method == "sendMessage"]:
                await asyncio.sleep(0.02)
        up.send_signal(signal.SIGTERM)
        _, complaints = await asyncio.to_thread(up.communicate, timeout=PATIENCE_S)

    (sent,) = [call for call in telegram.calls if call.method == "sendMessage"]
    assert (up.returncode, complaints) == (0, "")
    assert "hello koi" in sent.fields["text"]
    assert machine.left() == []


def test_processes_apart_meet_in_redis_and_chat_uses_the_worker_that_lives(
    machine: Machine, valkey_socket: Path
) -> None:
    machine.settings = {"REDIS_URL": f"unix://{valkey_socket}?db=7"}
    worker = machine.start("worker", "--concurrency", "2")
    wait_for(lambda: machine.run("health", "worker").returncode == 0)

    done = machine.run("chat", "--once", "hello", "--json")
    worker.send_signal(signal.SIGTERM)
    said, log = worker.communicate(timeout=PATIENCE_S)

    assert done.returncode == 0
    assert f"-{worker.pid}-" in json.loads(done.stdout)["turn"]
    assert (worker.returncode, said) == (0, "")
    assert '"event":"turn_answered"' in log
    assert "hello" not in log
    assert machine.run("health", "worker").returncode == 1


@pytest.mark.parametrize("command", ["up", "worker", "bot", "chat", "demo", "dead list", "memory show"])
def test_a_bad_setting_is_one_line_and_exit_code_2(machine: Machine, command: str) -> None:
    machine.settings = {"KOI_QUEUE__LEASE": "soon"}

    done = machine.run(*command.split())

    assert done.returncode == 2
    assert done.stderr.startswith("koi: KOI_QUEUE__LEASE is 'soon'; it must be a duration")
    assert done.stderr.count("\n") == 1


def test_the_demo_keeps_what_it_promises(machine: Machine) -> None:
    machine.settings = {"KOI_LANGUAGE": "de"}

    done = machine.run("demo")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("✔") == 4
    assert "Drehbuch" in done.stdout
    assert machine.left() == []
