"""The dashboard process: a web server inside the loop of whoever starts it."""

import asyncio
import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import structlog
import uvicorn
from redis.exceptions import RedisError

from dashboard import texts
from dashboard.app import make_app
from dashboard.door import Door, door_of
from dashboard.figures import zone_of
from dashboard.live import Live
from dashboard.lives import Lives
from dashboard.login import load_secret, signing_key
from dashboard.shared import Shared
from dashboard.show import LastValues
from infra import health
from infra.clock import Clock
from infra.outage import is_outage
from infra.redis_port import RedisPort
from infra.settings import Settings

LAST_ANSWERS_S = 3
"""How long answers that were begun may take at the end."""
RETRY_S = 1.0

log = structlog.get_logger()


async def serve(
    settings: Settings, redis: RedisPort, *, clock: Clock, stop: asyncio.Event, say: Callable[[str], None]
) -> None:
    """Until `stop` is set. say: is told the address.

    Raises: BadSetting: others could come in without a password. OSError: the address is taken.
    """
    door = door_of(settings)
    with _bound(door) as listener:
        shared = Shared(
            settings, redis, clock, zone_of(settings.timezone), door,
            signing_key=signing_key(await _secret(redis), settings), lives=Lives(),
        )  # fmt: skip
        last = LastValues()
        live = Live(shared, last)
        server = Server(uvicorn.Config(
            make_app(shared, live=live, last=last), lifespan="off", log_config=None, access_log=False, server_header=False,
            ws="none", timeout_graceful_shutdown=LAST_ANSWERS_S, forwarded_allow_ips="127.0.0.1",
        ))  # fmt: skip
        say(texts.say(settings.language, "Dashboard: {url}", url=url_of(door, listener)))
        async with asyncio.TaskGroup() as group:
            beside = [
                group.create_task(live.serve()),
                group.create_task(shared.lives.serve(redis)),
                group.create_task(_beat(redis)),
                group.create_task(_end_on(stop, server, live)),
            ]
            await server.serve(sockets=[listener])
            for task in beside:
                task.cancel()


class Server(uvicorn.Server):
    """Leaves the signals to whoever started it."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@contextmanager
def _bound(door: Door) -> Generator[socket.socket]:
    """The socket, bound, so that its port is known. Raises: OSError, which names the address."""
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((door.host, door.port))
        except OSError as error:
            address = f"{door.host}:{door.port}"
            raise OSError(
                error.errno, f"KOI_DASHBOARD_BIND {address}: {os.strerror(error.errno or 0)}"
            ) from error
        listener.setblocking(False)
        yield listener


def url_of(door: Door, listener: socket.socket) -> str:
    """As a browser on this machine, or in its network, opens it."""
    port = listener.getsockname()[1]
    host = socket.gethostname() if door.host in {"0.0.0.0", "::"} else door.host  # noqa: S104 — compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _secret(redis: RedisPort) -> bytes:
    """The secret of the cookies, once Redis is there."""
    while True:
        try:
            return await load_secret(redis, os.urandom)
        except RedisError as error:
            if not is_outage(error):
                raise
            log.info("waiting_for_redis", error=type(error).__name__)
        await asyncio.sleep(RETRY_S)


async def _beat(redis: RedisPort) -> None:
    """Say that this process lives, for `koi health dashboard`."""
    name = health.this_process()
    while True:
        try:
            await health.beat(redis, "dashboard", name)
        except RedisError as error:
            log.debug("beat_failed", error=type(error).__name__)
        await asyncio.sleep(health.BEAT_S)


async def _end_on(stop: asyncio.Event, server: uvicorn.Server, live: Live) -> None:
    await stop.wait()
    live.close()
    server.should_exit = True
