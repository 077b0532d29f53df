"""The watchman: a lane with waiting items and no job is repaired and counted. The count must stay 0."""

from pathlib import Path

import structlog

from infra import keys
from infra.redis_port import RedisPort
from infra.scripts import Script

MEND = Script(Path(__file__).with_name("mend.lua"))
SWEPT = keys.count("swept")

log = structlog.get_logger()


async def sweep(redis: RedisPort) -> int:
    """Look at every lane once; gives how many had to be repaired."""
    repaired = 0
    pattern = keys.items("*")
    prefix_len, suffix_len = len(keys.LANE_PREFIX), len(":items")
    async for key in redis.scan_iter(match=pattern, count=1000):
        job_id = key.decode()[prefix_len:-suffix_len]
        if await MEND(redis, [], [job_id, keys.queue_of(job_id), SWEPT]):
            log.error("lane_was_stranded", job_id=job_id)
            repaired += 1
    return repaired
