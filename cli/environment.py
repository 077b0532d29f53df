"""The settings of this process, from its environment and koi.toml."""

import os

from infra.settings import Settings, load_settings


def koi_settings() -> Settings:
    """Raises: BadSetting."""
    return load_settings(os.environ)
