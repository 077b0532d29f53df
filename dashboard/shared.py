"""What every request needs, put together once at start."""

from dataclasses import dataclass
from datetime import tzinfo

from starlette.requests import HTTPConnection

from dashboard.door import Door
from dashboard.lives import Lives
from infra.clock import Clock
from infra.redis_port import RedisPort
from infra.settings import Settings


@dataclass(frozen=True, slots=True)
class Shared:
    """One per process, at `app.state.shared`."""

    settings: Settings
    redis: RedisPort
    clock: Clock
    zone: tzinfo
    """Of the house: the times of all pages."""
    door: Door
    """Who may come in."""
    signing_key: bytes
    """Of the session cookies (dashboard.login)."""
    lives: Lives
    """What was recorded of turns and replies, tailed from `keys.life()`."""


def shared_of(request: HTTPConnection) -> Shared:
    """What the process of this request shares."""
    return request.app.state.shared
