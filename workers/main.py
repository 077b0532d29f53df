"""One worker process: takes turns from the inbox queue and keeps house beside it."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import structlog
from redis.exceptions import RedisError

from infra import health, keys
from infra.clock import Clock, ms, offset_ms
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.worker import LaneLimits, LaneWorker
from llm.chain import Chain, build_chain
from memory.limits import MemoryLimits, SessionLimits
from workers.records import Recorder
from workers.services import Brain, Services
from workers.times import zone_of
from workers.turn import TurnHandler
from workers.upkeep import upkeep

LAST_WORDS_S = 2.0
"""How long the end waits for Redis to take the last call records."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Brains:
    """One chain for the house, and one for each bot that has models or a persona of its own."""

    house: Brain
    by_bot: dict[str, Brain]
    chains: tuple[Chain, ...]
    """Each once, to be prepared and closed."""


async def serve(
    settings: Settings, redis: RedisPort, *, clock: Clock, stop: asyncio.Event, brains: Brains | None = None
) -> None:
    """Until `stop` is set: then running turns end (bounded wait) and the rest is handed back uncounted.

    brains: who answers; None: whom the settings name.

    Raises: llm.errors.NotConfigured, OSError: a model or persona that the settings name is not there.
    """
    brains = brains or build_brains(settings)
    services = build_services(settings, redis, clock, brains)
    name = health.this_process()
    worker = LaneWorker(redis, keys.inbox_queue(), TurnHandler(services), lane_limits(settings), name=name)
    log.info("worker_started", name=name, models=[c.model for c in brains.chains[0].candidates])
    try:
        async with asyncio.TaskGroup() as group:
            side = [
                group.create_task(upkeep(services, lambda: health.beat(redis, "worker", name))),
                group.create_task(services.recorder.serve()),
                group.create_task(_prepare(brains.chains)),
                group.create_task(_stop_when(stop, worker)),
            ]
            await worker.serve()
            for task in side:
                task.cancel()
    finally:
        await _close(services, name, brains.chains)
    log.info("worker_stopped", name=name)


def build_services(settings: Settings, redis: RedisPort, clock: Clock, brains: Brains) -> Services:
    """The settings as what turns need of them."""
    return Services(
        redis=redis,
        clock=clock,
        people=PeopleCache(redis, settings, clock),
        recorder=Recorder(redis, clock),
        brain=brains.house,
        brains=brains.by_bot,
        memory=MemoryLimits.from_settings(settings.memory),
        session=SessionLimits.from_settings(settings),
        zone=zone_of(settings.timezone),
        language=settings.language,
        ahead_ms=offset_ms(),
        deadline_s=settings.turn.deadline.total_seconds(),
    )


def build_brains(settings: Settings) -> Brains:
    """Raises: NotConfigured: no service offers a model. OSError: a persona's file cannot be read."""
    chain = build_chain(settings)
    own = {bot.name: build_chain(settings, bot.models) for bot in settings.bots if bot.models}
    by_bot = {
        bot.name: Brain(own.get(bot.name, chain), _persona(bot.persona), bool(settings.models or bot.models))
        for bot in settings.bots
    }
    return Brains(Brain(chain, configured=bool(settings.models)), by_bot, (chain, *own.values()))


def lane_limits(settings: Settings) -> LaneLimits:
    return LaneLimits(
        lease_ms=ms(settings.queue.lease),
        concurrency=settings.queue.concurrency,
        attempts=settings.turn.attempts,
    )


def _persona(written: str) -> str:
    """The words themselves, or, if it looks like one (`personas/pirate.md`), the file's."""
    if written.endswith((".md", ".txt")):
        return Path(written).read_text("utf-8")
    return written


async def _prepare(chains: tuple[Chain, ...]) -> None:
    for chain in chains:
        await chain.prepare()


async def _stop_when(stop: asyncio.Event, worker: LaneWorker) -> None:
    await stop.wait()
    worker.stop()


async def _close(s: Services, name: str, chains: tuple[Chain, ...]) -> None:
    """Write the last records, and say at once that this worker is gone."""
    try:
        async with asyncio.timeout(LAST_WORDS_S):
            await s.recorder.flush()
            await health.leave(s.redis, "worker", name)
    except (RedisError, TimeoutError) as error:
        log.warning("last_words_lost", error=type(error).__name__)
    for chain in chains:
        await chain.aclose()
