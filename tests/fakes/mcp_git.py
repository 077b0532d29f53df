"""mcp-server-git by URL: the server as its authors wrote it, in a process of its own, over Streamable HTTP."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE_S = 60


def repository(folder: Path) -> Path:
    """A repository with one commit, "Feed the koi"."""
    git = ["git", "-C", str(folder), "-c", "user.name=Jo", "-c", "user.email=jo@example.org"]
    folder.mkdir(exist_ok=True)
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Feed the koi"]):
        subprocess.run([*git, *words], check=True)
    return folder


class GitServer:
    """Serves one repository. Started on entry, without waiting; killed on exit."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    def start(self) -> None:
        command = [sys.executable, __file__, str(self._repository), str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self) -> None:
        """Until it takes connections: it imports for some seconds."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            assert time.monotonic() < deadline, "the git server did not start"
            time.sleep(0.05)

    def freeze(self) -> None:
        """It takes what it is sent, and answers nothing."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def main() -> None:
    from mcp_server_git.server import create_server  # noqa: PLC0415 - seconds that only the server itself needs

    folder, port = sys.argv[1:]
    create_server(Path(folder)).run("streamable-http", host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main()
