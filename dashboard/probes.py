"""Whether it lives (/healthz), and whether koi can answer (/readyz). Open to everybody: they say nothing else."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from dashboard.outage import Away, patient
from dashboard.shared import shared_of
from infra import health


async def alive(_request: Request) -> Response:
    """GET /healthz: this process answers."""
    return PlainTextResponse("alive\n")


async def ready(request: Request) -> Response:
    """GET /readyz: Redis is reachable and a worker was seen; else 503 with the reason."""
    try:
        async with patient():
            has_worker = await health.is_alive(shared_of(request).redis, "worker")
    except Away:
        return PlainTextResponse("Redis cannot be reached\n", 503)
    if not has_worker:
        return PlainTextResponse("no worker has been seen for 15 s\n", 503)
    return PlainTextResponse("ready\n")
