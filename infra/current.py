"""The settings in force in a process that goes on while koi.toml changes."""

import asyncio

from infra.settings import Settings


class Current:
    """Read once at the beginning of whatever has to be of one piece; the settings themselves never change."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._replaced = asyncio.Event()

    @property
    def settings(self) -> Settings:
        return self._settings

    def replace(self, settings: Settings) -> None:
        """From now on these."""
        replaced, self._replaced = self._replaced, asyncio.Event()
        self._settings = settings
        replaced.set()

    async def other_than(self, seen: Settings) -> Settings:
        """Those in force once they are not `seen` any more; changes in between may be passed over."""
        while self._settings is seen:
            await self._replaced.wait()
        return self._settings
