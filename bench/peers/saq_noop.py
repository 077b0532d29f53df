"""saq: no-op jobs through one worker process. Prints JSON."""

import asyncio
import importlib.metadata
import json
import logging
import resource
import sys
import time
from typing import Any

from saq import Queue, Worker

URL, JOBS = sys.argv[1], int(sys.argv[2])
finished: list[float] = []
done = asyncio.Event()


async def noop(_ctx: Any, *, number: int) -> None:
    finished.append(time.monotonic())
    if len(finished) == JOBS:
        done.set()


async def main() -> None:
    """Queue JOBS, then let one worker work them off."""
    logging.disable(logging.INFO)
    queue = Queue.from_url(URL)
    await queue.connect()
    for number in range(JOBS):
        await queue.enqueue("noop", number=number, ttl=-1)
    worker = Worker(queue, [("noop", noop)], concurrency=100)
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF)
    running = asyncio.create_task(worker.start())
    await asyncio.wait_for(done.wait(), 300)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({
        "peer": f"saq {importlib.metadata.version('saq')}",
        "jobs_s": JOBS / (max(finished) - started),
        "cpu_us": cpu_s / JOBS * 1e6,
        "done": len(finished),
    }), flush=True)  # fmt: skip
    await worker.stop()
    running.cancel()
    await queue.disconnect()


asyncio.run(main())
