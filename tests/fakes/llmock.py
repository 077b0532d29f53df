"""A model server that we did not write: llmock, a real process on loopback. Unscripted it echoes."""

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

START_S = 60


@contextmanager
def llmock_server() -> Generator[str]:
    """Its address, once it listens; ANTHROPIC_BASE_URL is that and `/anthropic`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    llmock = str(Path(sys.executable).with_name("llmock"))
    options = ["--host", "127.0.0.1", "--port", str(port), "--response-style", "echo", "--log-level", "error"]
    server = subprocess.Popen(
        [llmock, "serve", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < deadline, "llmock did not start"
            time.sleep(0.05)
        else:
            return
