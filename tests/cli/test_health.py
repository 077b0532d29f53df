"""`koi health`, as compose asks it."""

import subprocess
import sys

import pytest
from arq.constants import in_progress_key_prefix, job_key_prefix

from cli import health as command
from infra import health, keys
from infra.redis_port import RedisPort
from tests.cli.conftest import Koi


async def test_a_process_of_this_machine_that_beats_is_alive(koi: Koi, redis: RedisPort) -> None:
    await health.beat(redis, "worker", health.this_process())

    assert await koi("health", "worker") == 0
    assert await koi("health", "bot") == 1


async def test_a_process_of_another_container_does_not_count(koi: Koi, redis: RedisPort) -> None:
    await health.beat(redis, "worker", "elsewhere-1")

    assert await koi("health", "worker") == 1


async def test_who_was_silent_for_15_seconds_is_not_alive(koi: Koi, redis: RedisPort) -> None:
    await redis.zadd(keys.alive("worker"), {health.this_process(): 1})

    assert await koi("health", "worker") == 1


async def test_without_redis_it_fails_with_one_line(
    koi: Koi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDIS_URL", "unix:///nowhere.sock")

    assert await koi("health", "worker") == 1
    assert capsys.readouterr().err.startswith("koi: Redis cannot be asked")


def test_the_question_imports_neither_settings_nor_arq() -> None:
    code = (
        "import sys, cli.main, cli.health; "
        "sys.exit(' '.join({'arq', 'pydantic', 'structlog', 'rich'} & set(sys.modules)) or 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_written_out_twice_is_the_same() -> None:
    assert command.ALIVE_MS == health.ALIVE_MS
    assert (in_progress_key_prefix, job_key_prefix) == (keys.LEASE_PREFIX, keys.JOB_PREFIX)
