"""Looks whether koi.toml was changed, and puts in force what can be changed while koi runs: the bots."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import structlog

from cli.texts import say
from infra.current import Current
from infra.settings import BadSetting, Settings
from infra.settings_difference import Difference, difference, in_force

LOOK_S = 2.0
"""Reading and checking koi.toml takes 1 to 2 ms. What was changed is in force after two equal looks: an editor may write
in pieces.
"""

log = structlog.get_logger()


class Watch:
    """Of one process."""

    def __init__(
        self, current: Current, file: Path, read: Callable[[], Settings], tell: Callable[[str], None]
    ) -> None:
        """current: what `read` gave at the start. tell: prints a line for people.

        read raises: BadSetting.
        """
        self._current = current
        self._file = file
        self._read = read
        self._tell = tell
        self._language = current.settings.language
        self._seen: Settings | str = current.settings
        self._dealt_with: Settings | str = current.settings
        self._was_there = file.exists()
        self._restart_told: tuple[str, ...] = ()
        self._asked = asyncio.Event()

    def look_now(self) -> None:
        """Somebody says that it was changed."""
        self._asked.set()

    async def serve(self) -> None:
        """Until cancelled."""
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._asked.wait()
            except TimeoutError:
                self.look()
            else:
                self._asked.clear()
                self.look(at_once=True)

    def look(self, *, at_once: bool = False) -> None:
        """at_once: it is not being written any more."""
        before, self._seen = self._seen, self._found()
        if self._seen == self._dealt_with or (self._seen != before and not at_once):
            return
        was_wrong, self._dealt_with = isinstance(self._dealt_with, str), self._seen
        if isinstance(self._seen, Settings):
            self._use(self._seen, was_wrong=was_wrong)
            return
        log.warning("settings_refused", why=self._seen)
        self._tell(say(self._language, "Until this is put right, everything goes on as before: {why}", why=self._seen))  # fmt: skip

    def _found(self) -> Settings | str:
        """What is written now, or why it cannot be used."""
        is_there = self._file.exists()
        if self._was_there and not is_there:
            return say(self._language, "{file} is not there any more", file=self._file.name)
        self._was_there = is_there
        try:
            return self._read()
        except BadSetting as error:
            return str(error)

    def _use(self, new: Settings, *, was_wrong: bool) -> None:
        old = self._current.settings
        found = difference(old, new)
        if found.started or found.ended or found.changed:
            self._current.replace(in_force(old, new))
            log.info("settings_changed", started=found.started, ended=found.ended, changed=found.changed)
        elif was_wrong:
            self._tell(say(self._language, "The settings are right again."))
        for line in lines(found, self._language, restart_told=self._restart_told):
            self._tell(line)
        self._restart_told = found.needs_restart


def lines(found: Difference, language: str, *, restart_told: tuple[str, ...] = ()) -> list[str]:
    """What people are told. restart_told: what they were told last that a restart is needed for."""
    bots = [
        *([say(language, "new: {names}", names=", ".join(found.started))] if found.started else []),
        *([say(language, "removed: {names}", names=", ".join(found.ended))] if found.ended else []),
        *([say(language, "changed: {names}", names=", ".join(found.changed))] if found.changed else []),
    ]
    told = [say(language, "Bots, as the settings say now: {what}.", what="; ".join(bots))] if bots else []
    if found.needs_restart and found.needs_restart != restart_told:
        names = ", ".join(found.needs_restart)
        told.append(say(language, "Changed too, but in force only after a restart: {names}.", names=names))
    return told
