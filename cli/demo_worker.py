"""A worker process of `koi demo`: a real one, but its model is the script.

python -m cli.demo_worker SOCKET LANGUAGE [stall]; its clock is shifted by KOI_CLOCK_OFFSET. It says "ready", serves
once it reads a line, and ends on SIGTERM or when whoever started it is gone (end of its input). With `stall` its model
says "asked" and never answers.
"""

import asyncio
import sys
from datetime import timedelta

from cli.apart_log import log_quiet
from cli.demo_script import scripted_brains
from cli.signals import stop_on_signals
from infra.clock import system_clock
from infra.redis import open_redis
from infra.settings import QueueSettings, Settings
from workers.main import serve

LEASE = timedelta(seconds=1)
"""Ten times shorter than usual, so that nobody has to wait long for what follows a kill."""


async def main(socket: str, language: str, *, stalls: bool) -> None:
    """Until SIGTERM, or until the demo is gone."""
    settings = Settings(redis_url=f"unix://{socket}", language=language, queue=QueueSettings(lease=LEASE))
    brains = scripted_brains(_asked if stalls else None)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
    )
    with stop_on_signals() as stop:
        async with open_redis(settings, name="demo-worker") as redis:
            _tell("ready")
            if not await orders.readline():
                return
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(_stop_at_end(orders, stop))
                await serve(settings, redis, clock=system_clock(), stop=stop, brains=brains)
                watching.cancel()


async def _stop_at_end(orders: asyncio.StreamReader, stop: asyncio.Event) -> None:
    await orders.read()
    stop.set()


def _asked() -> None:
    _tell("asked")


def _tell(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    log_quiet("info")
    asyncio.run(main(sys.argv[1], sys.argv[2], stalls="stall" in sys.argv[3:]))
