"""The settings of this process, from its environment and koi.toml."""

import os
from pathlib import Path

from infra.settings import Settings, load_settings


def koi_settings(
    *, speaks: bool = False, thinks: bool = False, only: frozenset[str] = frozenset()
) -> Settings:
    """speaks: the process speaks for the bots (for those named by `only`, if there is one), so their tokens must be there.
    thinks: so must those of MCP servers, and the files of personas.

    Raises: BadSetting.
    """
    return load_settings(os.environ, speaks=speaks, thinks=thinks, only=only)


def settings_file() -> Path:
    """Where koi.toml is, if there is one."""
    return Path(os.environ.get("KOI_CONFIG") or "koi.toml")


def redis_patience_s(settings: Settings) -> float:
    """How long somebody who waits at a terminal may be kept waiting for a Redis that does not answer. The embedded one
    may first have to start.
    """
    return 5.0 if settings.redis_url else 30.0
