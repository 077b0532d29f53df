"""A TCP proxy in front of Redis that loses answers: the command ran, the connection breaks before the reply arrives."""

import asyncio
import random


class FlakyProxy:
    """`async with FlakyProxy(target_port) as proxy:`; then set `proxy.lose = 0.01` to lose one answer in a hundred."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.port = 0
        self.lose = 0.0
        self.lost = 0
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "FlakyProxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.close()
            self._open.discard(writer)
            return
        self._open.add(upstream_writer)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, upstream_writer))
                group.create_task(self._pump_answers(upstream_reader, writer))
        except* (OSError, _Lost):
            pass
        finally:
            for side in (writer, upstream_writer):
                self._open.discard(side)
                side.close()

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
        raise _Lost

    async def _pump_answers(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if self.lose and random.random() < self.lose:
                self.lost += 1
                break
            target.write(data)
            await target.drain()
        raise _Lost


class _Lost(Exception):
    """This connection is over."""
