"""What every turn of a worker shares."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Protocol

from infra.clock import Clock
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from llm.chain import OnCall
from llm.request import Completion, ModelRequest
from memory.limits import MemoryLimits, SessionLimits
from workers.records import Recorder


class Answers(Protocol):
    """What a turn wants of llm.chain.Chain."""

    async def complete(self, request: ModelRequest, *, deadline_at: float, on_call: OnCall) -> Completion:
        """See Chain.complete."""
        ...


@dataclass(frozen=True, slots=True)
class Brain:
    """Who answers for one bot."""

    chain: Answers
    persona: str = ""
    configured: bool = True
    """False: only the offline model is there, and nobody asked for it by name; in Telegram that is said instead."""


@dataclass(frozen=True, slots=True)
class Services:
    """Made once per process by workers.main."""

    redis: RedisPort
    clock: Clock
    people: PeopleCache
    recorder: Recorder
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
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def brain_of(self, bot: str) -> Brain:
        return self.brains.get(bot, self.brain)
