"""The settings of this process, from its environment and koi.toml."""

import os

from infra.settings import Settings, load_settings


def koi_settings(*, speaks: bool = False, thinks: bool = False) -> Settings:
    """speaks: the process speaks for the bots, so their tokens must be there. thinks: so must those of MCP servers.

    Raises: BadSetting.
    """
    return load_settings(os.environ, speaks=speaks, thinks=thinks)


def redis_patience_s(settings: Settings) -> float:
    """How long somebody who waits at a terminal may be kept waiting for a Redis that does not answer. The embedded one
    may first have to start.
    """
    return 5.0 if settings.redis_url else 30.0
