"""taskiq on a Redis list: no-op jobs through one receiver. Prints JSON."""

import asyncio
import importlib.metadata
import json
import logging
import resource
import sys
import time

from taskiq.receiver import Receiver
from taskiq_redis import ListQueueBroker

URL, JOBS = sys.argv[1], int(sys.argv[2])
finished: list[float] = []
done = asyncio.Event()
broker = ListQueueBroker(URL)


@broker.task
async def noop(number: int) -> None:
    finished.append(time.monotonic())
    if len(finished) == JOBS:
        done.set()


async def main() -> None:
    """Queue JOBS, then let one receiver in this process work them off."""
    logging.disable(logging.INFO)
    await broker.startup()
    for number in range(JOBS):
        await noop.kiq(number)
    broker.is_worker_process = True
    receiver = Receiver(broker, max_async_tasks=100)
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF)
    stop = asyncio.Event()
    running = asyncio.create_task(receiver.listen(stop))
    await asyncio.wait_for(done.wait(), 300)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({
        "peer": f"taskiq {importlib.metadata.version('taskiq')}, list",
        "jobs_s": JOBS / (max(finished) - started),
        "cpu_us": cpu_s / JOBS * 1e6,
        "done": len(finished),
    }), flush=True)  # fmt: skip
    stop.set()
    running.cancel()


asyncio.run(main())
