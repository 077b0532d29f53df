"""A dashboard for tests: the real application over a real Redis, asked by HTTP."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC

import httpx

from dashboard.app import make_app
from dashboard.door import door_of
from dashboard.live import Live
from dashboard.lives import Lives
from dashboard.login import SESSION_COOKIE, Signer, load_secret, signing_key
from dashboard.shared import Shared
from dashboard.show import LastValues
from infra.redis_port import RedisPort
from infra.settings import Settings, load_settings

NOW_MS = 1_796_040_000_000
HOST = "127.0.0.1:8420"
PASSWORDS = {"KOI_DASHBOARD_PASSWORD": "carp", "KOI_DASHBOARD_READER_PASSWORD": "roach"}
OWN = {"Origin": f"http://{HOST}"}
"""What a browser says when a page of ours sends a form."""


@dataclass(slots=True)
class Hands:
    """A clock that is set by hand."""

    now_ms: int = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


def settings_of(environ: Mapping[str, str]) -> Settings:
    return load_settings(environ, None, speaks=False, thinks=False)


async def shared_by(redis: RedisPort, environ: Mapping[str, str], clock: Hands | None = None) -> Shared:
    """As main.serve puts it together."""
    settings = settings_of(environ)
    secret = await load_secret(redis, lambda n: b"s" * n)
    return Shared(
        settings, redis, clock or Hands(), UTC, door_of(settings), signing_key(secret, settings), Lives()
    )


@asynccontextmanager
async def browser(
    shared: Shared, *, role: str = "", address: str = "10.0.0.7"
) -> AsyncGenerator[httpx.AsyncClient]:
    """Asks the application; logged in with a role, if there is one."""
    last = LastValues()
    app = make_app(shared, live=Live(shared, last), last=last)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 1234))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        if role:
            client.cookies.set(SESSION_COOKIE, Signer(shared).sign(role).decode())
        yield client
