"""Redis away, for a page: what passes by itself, and how long a page waits for it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from redis.exceptions import RedisError

from infra.outage import is_outage

PATIENCE_S = 3.0


class Away(Exception):
    """Redis does not answer now."""


@asynccontextmanager
async def patient(seconds: float = PATIENCE_S) -> AsyncGenerator[None]:
    """Raises: Away: what is done inside met a Redis that is away, or took too long; other faults of Redis as they are."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Away from error
    except RedisError as error:
        if not is_outage(error):
            raise
        raise Away from error
