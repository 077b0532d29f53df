"""One worker process: takes turns from the inbox queue and keeps house beside it."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog
from redis.exceptions import RedisError

from infra import health, keys
from infra.clock import Clock, ms, offset_ms
from infra.current import Current
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.settings import McpSettings, Settings
from lanes.worker import LaneLimits, LaneWorker
from llm.chain import Chain
from llm.prepare_prices import prepare_prices
from llm.request import Tool
from memory.limits import MemoryLimits, SessionLimits
from tools.catalog import catalog
from tools.mcp import Hub
from workers.brains import Brains, build_brains
from workers.latest import Latest
from workers.mail_settings import mail_settings
from workers.mcp_fault import fault_line
from workers.plans import plans_from
from workers.purse import Purse
from workers.records import Recorder
from workers.services import Services
from workers.stop import Stops
from workers.times import zone_of
from workers.upkeep import upkeep

LAST_WORDS_S = 2.0
"""How long the end waits for Redis to take the last call records."""

log = structlog.get_logger()


def _to_nobody(_line: str) -> None:
    """The log has it."""


async def serve(  # noqa: PLR0913 — the last three are seldom given
    settings: Settings,
    redis: RedisPort,
    *,
    clock: Clock,
    stop: asyncio.Event,
    brains: Brains | None = None,
    say: Callable[[str], None] = _to_nobody,
    tools_wait_s: float = 0.0,
    current: Current | None = None,
) -> None:
    """Until `stop` is set: then running turns end (bounded wait) and the rest is handed back uncounted.

    brains: who answers; None: whom the settings name. say: prints a line for the person at the machine.
    tools_wait_s: so long the first turn may wait until MCP servers have started.

    current: whose bots are answered for, each turn by those in force when it begins; None: those of `settings`.

    Raises: BadSetting, llm.errors.NotConfigured: a model that the settings name is not there.
    """
    brains = brains or build_brains(settings, redis)
    services = build_services(settings, redis, clock, brains, say)
    name = health.this_process()
    handler, held = Latest(services), _Held(brains)
    worker = LaneWorker(redis, keys.inbox_queue(), handler, lane_limits(settings), name=name)
    log.info("worker_started", name=name, models=[c.model for c in brains.chains[0].candidates])
    try:
        async with asyncio.TaskGroup() as group:
            side = [
                group.create_task(
                    upkeep(services, lambda: health.beat(redis, "worker", name, settings.queue.concurrency))
                ),
                group.create_task(services.recorder.serve()),
                *([group.create_task(services.stops.serve())] if services.stops else []),
                group.create_task(_prepare(brains, settings)),
                *(
                    [group.create_task(_follow(current, settings, services, handler, held))]
                    if current
                    else []
                ),
                *([group.create_task(services.hub.serve())] if services.hub else []),
                group.create_task(_stop_when(stop, worker)),
            ]
            if services.hub and tools_wait_s:
                await _first_tries(services.hub, tools_wait_s, stop)
            await worker.serve()
            for task in side:
                task.cancel()
    finally:
        await _close(services, name, held.brains.chains)
    log.info("worker_stopped", name=name)


def build_services(
    settings: Settings, redis: RedisPort, clock: Clock, brains: Brains, say: Callable[[str], None]
) -> Services:
    """The settings as what turns need of them.

    Raises: BadSetting: no mail can be sent as they say.
    """

    def tell(server: McpSettings, error: str) -> None:
        say(fault_line(server, error, settings.language))

    zone = zone_of(settings.timezone)
    own = catalog(settings.tools)
    return Services(
        redis=redis,
        clock=clock,
        people=PeopleCache(redis, settings, clock),
        recorder=Recorder(redis, clock, zone=zone, prices=settings.prices),
        purse=Purse(redis, clock, zone, settings.prices),
        stops=Stops(redis),
        plans=plans_from(settings.plans),
        money=settings.money,
        mail=mail_settings(settings),
        brain=brains.house,
        brains=brains.by_bot,
        memory=MemoryLimits.from_settings(settings.memory),
        session=SessionLimits.from_settings(settings),
        zone=zone,
        language=settings.language,
        tools=settings.tools,
        catalog=own,
        own_tools=tuple(Tool(*definition) for definition in own.definitions),
        hub=Hub(settings.mcp, os.environ, tell=tell) if settings.mcp else None,
        max_tool_rounds=settings.turn.max_tool_rounds,
        max_turn_microusd=round(settings.turn.max_usd * 1_000_000),
        ahead_ms=offset_ms(),
        deadline_s=settings.turn.deadline.total_seconds(),
    )


def lane_limits(settings: Settings) -> LaneLimits:
    return LaneLimits(
        lease_ms=ms(settings.queue.lease),
        concurrency=settings.queue.concurrency,
        attempts=settings.turn.attempts,
    )


@dataclass(slots=True)
class _Held:
    """Whose connections are closed at the end."""

    brains: Brains


async def _follow(
    current: Current, settings: Settings, services: Services, handler: Latest, held: _Held
) -> None:
    """Answer as the settings in force say, from the next turn on.

    Raises: NotConfigured: whoever puts settings in force asks cli.processes.check_models before.
    """
    while True:
        settings = await current.other_than(settings)
        brains = held.brains = build_brains(settings, services.redis, held.brains)
        handler.use(replace(services, brain=brains.house, brains=brains.by_bot))
        log.info("bots_changed", bots=sorted(brains.by_bot))
        await _prepare(brains, settings)


async def _prepare(brains: Brains, settings: Settings) -> None:
    """What the first calls need, so that no person waits for it."""
    async with asyncio.TaskGroup() as group:
        group.create_task(prepare_prices(brains.models, settings.prices))
        for chain in brains.chains:
            await chain.prepare()


async def _first_tries(hub: Hub, wait_s: float, stop: asyncio.Event) -> None:
    """Until all MCP servers have connected or failed once, `wait_s` have passed, or `stop` is set."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(hub.tried(wait_s)), group.create_task(stop.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


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
