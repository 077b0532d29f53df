"""A periodic job that says how its last run ended (schemas.life.JobRun): at once if it did something or failed, else at most
once a minute.
"""

import contextlib
from collections.abc import Awaitable, Callable

from redis.exceptions import RedisError

from infra import keys
from schemas.life import JobRun
from schemas.wire import dump
from workers.services import Services

type Job = Callable[[], Awaitable[object]]
"""Gives how many things it did, or nothing that is a number."""

QUIET_MS = 60_000
TTL_MS = 7 * 24 * 3_600_000


class Watched:
    """One job of this worker."""

    def __init__(self, s: Services, name: str, job: Job) -> None:
        self._s, self._name, self._job = s, name, job
        self._written_ms: int | None = None

    async def __call__(self) -> None:
        """Run it once. Raises what the job raises, and what redis-py raises."""
        began_ms = self._s.clock()
        try:
            did = await self._job()
        except Exception as error:
            with contextlib.suppress(RedisError):
                await self._write(began_ms, error=type(error).__name__)
            raise
        count = did if isinstance(did, int) else 0
        last_ms = self._written_ms
        if count or last_ms is None or not 0 <= began_ms - last_ms < QUIET_MS:
            await self._write(began_ms, did=count)

    async def _write(self, began_ms: int, *, did: int = 0, error: str = "") -> None:
        run = JobRun(at_ms=began_ms, took_ms=max(0, self._s.clock() - began_ms), did=did, error=error)
        await self._s.redis.set(keys.ran(self._name), dump(run), px=TTL_MS)
        self._written_ms = began_ms
