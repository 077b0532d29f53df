"""Servers of the embedded kind, for tests that kill them."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from infra.valkey import Place, find_binaries

BINARY = find_binaries("")[0]


def servers_of(folder: Path) -> list[psutil.Process]:
    """The server processes that live in this folder and are no zombies."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_ours = process.name().startswith("valkey") and process.cwd() == str(folder.resolve())
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@contextmanager
def short_folder() -> Generator[Path]:
    """A folder with a short path (sockets); whatever server lives in it at the end is killed."""
    folder = Path(tempfile.mkdtemp(prefix="koi-"))
    try:
        yield folder
    finally:
        for inside in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
            for process in servers_of(inside):
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def place_in(folder: Path, *binaries: str) -> Place:
    return Place(folder, binaries or (BINARY,))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(*words: str | Path) -> Generator[subprocess.Popen[bytes]]:
    """A server with these arguments, killed at the end."""
    with (
        short_folder() as folder,
        subprocess.Popen([BINARY, *words], stdout=subprocess.DEVNULL, cwd=folder) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


class Relay:
    """A port of localhost that leads to another. The first answer to a command that contains `lose` gets lost."""

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None, lose: bytes = b"\0none\0") -> None:
        self._port, self._tls, self._lose = port, tls, lose
        self._asked = self._lost = False

    async def __aenter__(self) -> int:
        self._server = await asyncio.start_server(self._serve, "localhost", 0, ssl=self._tls)
        return self._server.sockets[0].getsockname()[1]

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._port)
        with suppress(OSError):
            await asyncio.gather(self._there(reader, inner_writer), self._back(inner_reader, writer))

    async def _there(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            self._asked = self._asked or self._lose in data
            target.write(data)
        target.close()

    async def _back(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if self._asked and not self._lost:
                self._lost = True
                break
            target.write(data)
        target.close()
