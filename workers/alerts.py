"""What the owner is told, in Telegram and by mail: one alert per cause and hour, one all-clear per outage.

An alert, its mark and the outage it tells of are one transaction, as are an all-clear and the end of its outage: whoever
dies in between loses none and sends none twice, and of two workers that see the same thing one tells.
"""

from collections.abc import Awaitable, Callable

import structlog
from redis.exceptions import RedisError, WatchError

from infra import keys
from infra.people import People
from infra.redis_port import PipelinePort
from infra.together import Command
from schemas.wire import NewerVersion, dump
from workers.alert_text import Alert, FellBack, NobodyAnswered, Recovered, alert_text
from workers.notices import Notice, commands_of, language_of
from workers.outage import (
    KEPT_S,
    dated,
    failing,
    outage_of,
    read_outage,
    recovered,
)
from workers.outgoing import Place
from workers.services import Services

HOUR_S = 3_600
LOOKS = 5
"""How often a transaction is begun again because somebody else changed what it had looked at."""

log = structlog.get_logger()


async def tell_owner(s: Services, alert: Alert, place: Place) -> None:
    """Once per cause and hour; silent where nobody can be told, or Redis is away (then the next occurrence tells).

    place: where it happened. The owner is written to through the bot that knows them, else through the bot of the place.
    """
    mark, model = keys.once(f"alert:{alert.cause}"), failing(alert)

    async def tell(pipe: PipelinePort) -> None:
        await pipe.watch(mark, *([keys.outage(model)] if model else []))
        if await pipe.exists(mark):
            return
        known = read_outage(await pipe.get(keys.outage(model))) if model else None
        outage = outage_of(alert, known) if model and isinstance(alert, FellBack | NobodyAnswered) else None
        commands = _notice(s, dated(alert, outage), f"alert:{alert.cause}", place, await s.people.read())
        if not commands:
            log.debug("alert_to_nobody", cause=alert.cause)
            return
        if outage is not None:
            commands = (*commands, ("SET", keys.outage(model), dump(outage), "EX", KEPT_S))
        await _commit(pipe, (*commands, ("SET", mark, "1", "EX", HOUR_S)))
        log.info("owner_alerted", cause=alert.cause)

    try:
        if not await s.redis.exists(mark):
            await _at_once(s, tell)
    except (RedisError, NewerVersion) as error:
        log.warning("alert_not_sent", cause=alert.cause, error=type(error).__name__)


async def back_again(s: Services, model: str, place: Place) -> None:
    """The all-clear: `model` answered. Nothing if no outage of it was told, or another worker was faster.

    Costs three round trips: to be called only if keys.outage(model) was there a moment ago.
    """

    async def clear(pipe: PipelinePort) -> None:
        key = keys.outage(model)
        await pipe.watch(key)
        raw = await pipe.get(key)
        if not raw:
            return
        outage = read_outage(raw)
        commands: tuple[Command, ...] = ()
        if outage is not None:
            said = recovered(model, outage, s.clock())
            commands = _notice(s, said, f"clear:{model}", place, await s.people.read())
        await _commit(pipe, (*commands, ("SET", key, "", "PX", 1)))
        log.info("outage_over", model=model, told=bool(commands))

    try:
        await _at_once(s, clear)
    except (RedisError, NewerVersion) as error:
        log.warning("all_clear_not_sent", model=model, error=type(error).__name__)


def _notice(
    s: Services, said: Alert | Recovered, name: str, place: Place, people: People
) -> tuple[Command, ...]:
    """In the owner's language, under an id of its own; nothing if nobody can be reached."""
    language, now_ms = language_of(people, s.language), s.clock()
    notice = Notice(f"{name}:{now_ms}", alert_text(said, language, s.zone), language, now_ms)
    return commands_of(notice, people, place, s.mail)


async def _at_once(s: Services, step: Callable[[PipelinePort], Awaitable[None]]) -> None:
    """Run a step that watches, looks and commits, until nobody interferes.

    Raises: RedisError.
    """
    for looks_left in reversed(range(LOOKS)):
        async with s.redis.pipeline(transaction=True) as pipe:
            try:
                await step(pipe)
            except WatchError:
                if not looks_left:
                    raise
                continue
            return


async def _commit(pipe: PipelinePort, commands: tuple[Command, ...]) -> None:
    """All or none. One of the commands must be a SET: a Redis that is full refuses the whole for it beforehand, while it
    would run a DEL and refuse only the script next to it.
    """
    pipe.multi()
    for command in commands:
        pipe.execute_command(*command)
    await pipe.execute()
