"""The models of one bot, asked in turn until one answers, under one deadline for the whole turn."""

import asyncio
import random
from collections.abc import Callable, Iterable
from uuid import uuid4

from infra.redis_port import RedisPort
from infra.settings import Settings
from llm.breaker import Breaker
from llm.call import BeforeCall, Calls, Link, OnCall, Terms
from llm.candidates import OFFLINE_MODEL, Candidate, Service, candidates_from
from llm.halt import Halt
from llm.lazy import LazyProvider
from llm.offline import OfflineProvider
from llm.provider import Provider, ShowText
from llm.request import Completion, ModelRequest
from llm.standing import CLOSED, State
from llm.toolless import Toolless
from llm.walk import Walk

LEASE_MARGIN_MS = 1000
"""A turn's probe is over by the turn's deadline; this is for its last words."""
TOOLLESS = Toolless()
"""What the chains of this process learned of models that refuse tools."""


class Chain:
    """First choice first. Shared by all turns of its bot."""

    def __init__(
        self,
        links: Iterable[Link],
        *,
        breaker: Breaker | None = None,
        chance: Callable[[], float] = random.random,
        new_id: Callable[[], str] = lambda: uuid4().hex,
        toolless: Toolless | None = None,
    ) -> None:
        self.links = tuple(links)
        self.breaker = breaker
        self.chance = chance
        self.new_id = new_id
        self.toolless = Toolless() if toolless is None else toolless

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Who is asked, in order."""
        return tuple(candidate for candidate, _ in self.links)

    @property
    def offline(self) -> bool:
        """Only the built-in model answers."""
        return all(candidate.model == OFFLINE_MODEL for candidate in self.candidates)

    async def prepare(self) -> None:
        """Load what the first call needs (seconds of CPU, in a thread); without it the first call does."""
        for _, provider in self.links:
            await provider.prepare()

    async def aclose(self) -> None:
        """Close all connections."""
        for _, provider in self.links:
            await provider.aclose()

    async def complete(  # noqa: PLR0913 — the terms of an answer, each by its name
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
        """One answer, from one model. `deadline_at`: seconds of the running loop's `time()`. `first`: id of the model
        that is asked before the others, if it is one of them: a turn with tools goes on with the model that began it.
        `halt`: when it is set, the answer ends with what was said by then (ending "stopped"); nobody else is asked.

        Raises: RequestRejected, NoModelAnswered, NotAllowed: see there. May be cancelled at any await.
        """
        terms = Terms(deadline_at, on_call, on_text, before_call, halt)
        calls = Calls(terms, self.new_id, self.breaker, await self._states(deadline_at))
        links = sorted(self.links, key=lambda link: link[0].model != first) if first else self.links
        asked = self.links[0][0].model
        walk = Walk(links, request, calls, self.chance, toolless=self.toolless, asked=asked)
        return await walk.run()

    async def _states(self, deadline_at: float) -> dict[Candidate, State]:
        if self.breaker is None:
            return dict.fromkeys(self.candidates, CLOSED)
        left_ms = round((deadline_at - asyncio.get_running_loop().time()) * 1000)
        return dict(await self.breaker.admit(self.candidates, lease_ms=max(0, left_ms) + LEASE_MARGIN_MS))


def build_chain(
    settings: Settings,
    models: tuple[str, ...] = (),
    *,
    redis: RedisPort | None = None,
    providers: dict[Service, Provider] | None = None,
) -> Chain:
    """The chain for `models` (a bot's own), or for the settings' own; one provider per service.

    redis: the breaker is shared through it; None: no breaker. providers: those of other chains of this process, to
    share their connections; new ones are added.

    Raises: NotConfigured.
    """
    candidates = candidates_from(settings, models)
    shared = {} if providers is None else providers
    for candidate in candidates:
        if candidate.service not in shared:
            shared[candidate.service] = provider_for(candidate.service)
    links = [(candidate, shared[candidate.service]) for candidate in candidates]
    return Chain(links, breaker=None if redis is None else Breaker(redis), toolless=TOOLLESS)


def provider_for(service: Service) -> Provider:
    """No connection is opened yet."""
    return OfflineProvider() if service.name == "offline" else LazyProvider(service)
