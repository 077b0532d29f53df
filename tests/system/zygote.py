"""A process that has imported the packages which koi's processes wait for longest, and forks one from itself per request.

aiogram and anthropic cost eight seconds of CPU at each start, koi's own modules one. A child of this process begins
with the packages, and imports koi as a fresh `koi` does: own pid, session, environment, folder, output, exit code.
Only the seed of str hashes is the same in all of them, and an unneeded package may be there (`koi up`, `koi chat` and
the commands of test_up.py are started the other way, see conftest.py).

    python -m tests.system.zygote FD     FD: a socket (SOCK_SEQPACKET); it ends when nobody holds its other end

Each packet is a JSON object {argv, environment, folder} with two file descriptors: a socket (SOCK_STREAM) and where the
child's output goes. Through the socket come, as lines, the child's pid and, when it has ended, what Popen calls its
returncode; it stays a zombie until that socket is closed.
"""

import gc
import json
import os
import signal
import socket
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TypedDict

PACKAGES = (
    "infra",  # only its __init__: how it wants jwt to be imported
    "aiogram", "aiohttp.web", "anthropic", "arq", "babel.support", "click", "dateutil.rrule", "orjson", "pydantic",
    "redis.asyncio", "rich.console", "rich.table", "structlog", "telegramify_markdown", "tomllib", "uvloop",
)  # fmt: skip
REQUEST_BYTES = 1 << 17


class Request(TypedDict):
    """What a process is to be."""

    argv: list[str]
    environment: dict[str, str]
    folder: str


def preload() -> None:
    """Raises: RuntimeError: a package started a thread, which no fork would have."""
    for name in PACKAGES:
        import_module(name)
    if (threads := len(list(Path("/proc/self/task").iterdir()))) != 1:
        raise RuntimeError(f"{threads} threads after the imports")
    gc.collect()
    gc.freeze()


def next_child(channel: socket.socket) -> Request | None:
    """Returns in each child, with what it is to be; in the zygote when nothing more will be asked: None."""
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        packet, descriptors, _, _ = socket.recv_fds(channel, REQUEST_BYTES, 2)
        if not packet:
            return None
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection, output = descriptors
            pid = os.fork()
            if pid == 0:
                request: Request = json.loads(packet)
                become(request, output)
                return request
            channel.close()
            attend(pid, connection)
            os._exit(0)
        for one in descriptors:
            os.close(one)


def _reap(_number: int, _frame: object) -> None:
    """Attendants that have ended; so what they and their children cost counts as ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def attend(pid: int, connection: int) -> None:
    """Tell who the child is and how it ended."""
    os.write(connection, b"%d\n" % pid)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    try:
        os.write(connection, b"%d\n" % code)
        os.read(connection, 1)
    except OSError:  # the tests are gone
        pass
    os.waitpid(pid, 0)


def become(request: Request, output: int) -> None:
    """Be in the place in which exec would put a process."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, standard in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(ours, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv[:] = request["argv"]


def main() -> None:
    """Ends, in a child, as the `koi` command does."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    preload()
    if next_child(channel) is None:
        return
    channel.detach()  # closed already
    sys.exit(import_module("cli.main").main())


if __name__ == "__main__":
    main()
