"""An arq worker whose jobs are lanes."""

from dataclasses import dataclass

from infra.redis_port import RedisPort
from lanes.outcome import Handler


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """How a lane worker behaves; durations in ms."""

    lease_ms: int = 10_000
    concurrency: int = 50
    attempts: int = 3
    """Failures after which a turn is given up."""
    deaths: int = 5
    """Claims without an end after which a turn is given up."""
    drain_ms: int = 25_000
    """How long SIGTERM waits for running turns."""


class LaneWorker:
    """Serves one queue. `await worker.serve()` until `worker.stop()`; then it drains, hands back the rest, returns."""

    def __init__(
        self, redis: RedisPort, queue: str, handler: Handler, limits: LaneLimits, *, name: str = ""
    ) -> None:
        raise NotImplementedError

    async def serve(self) -> None:
        """Run until stop(); lives through any Redis outage."""
        raise NotImplementedError

    def stop(self) -> None:
        """Take no more lanes; serve() returns once the running ones ended or drain_ms passed."""
        raise NotImplementedError
