"""The bots of a process: those that the settings in force name, each until they no longer do."""

import asyncio
from dataclasses import dataclass, replace

from bot.account import Account, accounts
from bot.api import bot_id_of
from bot.one_bot import OneBot, Shared, unless
from infra.current import Current
from infra.settings import Settings


@dataclass(frozen=True, slots=True)
class _Member:
    """A bot that runs, or has ended: told to, or because its token was refused."""

    account: Account
    stop: asyncio.Event
    task: asyncio.Task[None]


class Crew:
    """Starts and ends bots; those that stay the same do not notice."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._members: dict[str, _Member] = {}
        """By bot id."""

    async def serve(self, current: Current) -> None:
        """Until the process is to stop and every bot has sent what it was sending."""
        async with asyncio.TaskGroup() as group:
            settings: Settings | None = current.settings
            while settings is not None:
                self._follow(settings, group)
                settings = await unless(self._shared.stop, current.other_than(settings))
            for member in self._members.values():
                member.stop.set()

    def _follow(self, settings: Settings, group: asyncio.TaskGroup) -> None:
        wanted = {bot_id_of(one.token.get_secret_value()): one for one in accounts(settings)}
        for bot_id, member in list(self._members.items()):
            if wanted.get(bot_id) != member.account:
                member.stop.set()
        for bot_id, account in wanted.items():
            before = self._members.get(bot_id)
            if before is None or before.stop.is_set():
                stop = asyncio.Event()
                task = group.create_task(self._run(account, stop, before))
                self._members[bot_id] = _Member(account, stop, task)

    async def _run(self, account: Account, stop: asyncio.Event, before: _Member | None) -> None:
        """before: who had the same bot; two of them would take each other's updates."""
        if before is not None:
            await asyncio.wait([before.task])
        if not stop.is_set():
            await OneBot(replace(self._shared, stop=stop), account).run()
