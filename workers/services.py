"""What every turn of a worker shares."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Protocol

from infra.clock import Clock
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.settings import MoneySettings
from infra.settings_sections import ToolSettings
from llm.call import BeforeCall, OnCall
from llm.candidates import OFFLINE_MODEL
from llm.halt import Halt
from llm.provider import ShowText
from llm.request import Completion, ModelRequest, Tool
from llm.routing import Models
from memory.limits import MemoryLimits, SessionLimits
from tools.catalog import Catalog
from tools.mcp import Hub
from workers.mail_settings import MailSettings
from workers.plans import NO_PLANS, Plans
from workers.purse import Purse
from workers.records import Recorder
from workers.stop import Stops

OFFLINE_ONLY = Models((OFFLINE_MODEL,))
DOLLARS = MoneySettings()
NO_TOOLS = ToolSettings(enabled=False)


class Answers(Protocol):
    """What a turn wants of llm.chain.Chain."""

    async def complete(  # noqa: PLR0913 — as Chain.complete
        self,
        request: ModelRequest,
        *,
        deadline_at: float,
        on_call: OnCall,
        on_text: ShowText | None = None,
        before_call: BeforeCall | None = None,
        first: str = "",
        halt: Halt | None = None,
    ) -> Completion:
        """See Chain.complete."""
        ...


@dataclass(frozen=True, slots=True)
class Brain:
    """Who answers for one bot."""

    chain: Answers
    models: Models = OFFLINE_ONLY
    """Whom `chain` and `light` ask, in order."""
    persona: str = ""
    configured: bool = True
    """False: only the offline model is there, and nobody asked for it by name; in Telegram that is said instead."""
    light: Answers | None = None
    """The small model, for summaries and easy messages; None: `chain` does that too."""
    readers: tuple[str, ...] = ()
    """The services that are given what people write, as people know them."""


@dataclass(frozen=True, slots=True)
class Services:
    """Made once per process by workers.main."""

    redis: RedisPort
    clock: Clock
    people: PeopleCache
    recorder: Recorder
    purse: Purse
    brain: Brain
    """Of every bot that has none of its own."""
    memory: MemoryLimits
    session: SessionLimits
    zone: tzinfo
    language: str = "en"
    """For when nobody's language is known."""
    deadline_s: float = 120.0
    """Of a whole turn."""
    ahead_ms: int = 0
    """KOI_CLOCK_OFFSET: `clock` is that much ahead of Telegram's."""
    brains: Mapping[str, Brain] = field(default_factory=dict[str, Brain])
    """By the bot's name."""
    plans: Plans = NO_PLANS
    money: MoneySettings = DOLLARS
    tools: ToolSettings = NO_TOOLS
    catalog: Catalog | None = None
    """koi's own tools; None: they are switched off."""
    own_tools: tuple[Tool, ...] = ()
    """The same, as models are offered them."""
    hub: Hub | None = None
    """Tools of MCP servers; None: no server is configured."""
    max_tool_rounds: int = 12
    max_turn_microusd: int = 500_000
    lost_microusd: Counter[str] = field(default_factory=Counter[str])
    """By turn: what its attempts cost that failed here, as far as it is known and no kept round has it. Shared."""
    stops: Stops | None = None
    """None: nothing can be stopped."""
    mail: MailSettings | None = None
    """None: the owner wants no mail."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def by_person(self) -> bool:
        """In a group each turn answers one person: there are plans, or tools that only some may use."""
        return self.plans.any or (self.hub is not None and self.hub.has_people)

    def brain_of(self, bot: str) -> Brain:
        return self.brains.get(bot, self.brain)
