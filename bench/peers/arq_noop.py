"""Stock arq: no-op jobs through one worker process. Prints JSON.

Run by bench.throughput as `uv run --no-project --with arq==0.28.0 --with redis[hiredis]==5.3.1 python arq_noop.py URL N`.
"""

import asyncio
import importlib.metadata
import json
import logging
import resource
import sys
import time
from typing import Any

from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker

URL, JOBS = sys.argv[1], int(sys.argv[2])
POLL_S = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5
finished: list[float] = []


async def noop(_ctx: dict[str, Any], _number: int) -> None:
    finished.append(time.monotonic())


async def main() -> None:
    """Queue JOBS, then let one worker drain them in burst mode."""
    logging.disable(logging.INFO)
    settings = RedisSettings.from_dsn(URL)
    pool = await create_pool(settings)
    await pool.flushdb()
    for number in range(JOBS):
        await pool.enqueue_job("noop", number)
    worker = Worker(
        [noop],
        redis_settings=settings,
        burst=True,
        max_jobs=100,
        keep_result=0,
        poll_delay=POLL_S,
        handle_signals=False,
    )
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF)
    await worker.async_run()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    await worker.close()
    print(json.dumps({
        "peer": f"arq {importlib.metadata.version('arq')}, poll {POLL_S} s",
        "jobs_s": JOBS / (max(finished) - started),
        "cpu_us": cpu_s / JOBS * 1e6,
        "done": len(finished),
    }))  # fmt: skip


asyncio.run(main())
