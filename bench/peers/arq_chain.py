"""Stock arq: a job that queues another job, on two workers. Prints the milliseconds from enqueue to the second job."""

import asyncio
import json
import logging
import sys
import time
from typing import Any

from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker

URL, JOBS = sys.argv[1], int(sys.argv[2])
latencies_ms: list[float] = []
arrived = asyncio.Event()


async def turn(ctx: dict[str, Any], queued_at: float) -> None:
    await ctx["redis"].enqueue_job("send", queued_at, _queue_name="replies")


async def send(_ctx: dict[str, Any], queued_at: float) -> None:
    latencies_ms.append((time.monotonic() - queued_at) * 1000)
    arrived.set()


async def main() -> None:
    """One message at a time, idle workers."""
    logging.disable(logging.INFO)
    settings = RedisSettings.from_dsn(URL)
    pool = await create_pool(settings)
    await pool.flushdb()
    turns = Worker([turn], redis_settings=settings, keep_result=0, handle_signals=False)
    sends = Worker([send], redis_settings=settings, queue_name="replies", keep_result=0, handle_signals=False)
    running = [asyncio.create_task(turns.async_run()), asyncio.create_task(sends.async_run())]
    await asyncio.sleep(1)
    for _ in range(JOBS):
        arrived.clear()
        await pool.enqueue_job("turn", time.monotonic())
        await arrived.wait()
        await asyncio.sleep(0.037)
    for task in running:
        task.cancel()
    print(json.dumps(latencies_ms))


asyncio.run(main())
