"""Parts of one process: each is a task; one that fails is started again alone, the others do not notice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from cli.signals import passed
from infra.settings import BadSetting

log = structlog.get_logger()

FIRST_PAUSE_S, LAST_PAUSE_S = 1.0, 60.0
CALM_S = 60.0
"""Who ran this long begins with the first pause again."""

type OnFailure = Callable[[str, Exception | None, float], None]
"""Told of each failure: the part's name, what it raised (None: it ended by itself), seconds until the next start."""


@dataclass(frozen=True, slots=True)
class Part:
    """`run` returns after `stop` is set; whatever it raises, or an early return, is a failure."""

    name: str
    run: Callable[[], Awaitable[None]]


def pause_after(failures: int) -> float:
    """Seconds before the next start. failures: in a row, including this one."""
    return min(LAST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(failures - 1, 10))


async def supervise(
    parts: Sequence[Part],
    stop: asyncio.Event,
    on_failure: OnFailure,
    *,
    pause_s: Callable[[int], float] = pause_after,
) -> None:
    """Keep the parts running until `stop` is set and all of them returned.

    Raises: BadSetting, in a group: a part cannot run as it is configured, so that nothing is gained by repeating it.
    """
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(_keep(part, stop, on_failure, pause_s), name=part.name)


async def _keep(
    part: Part, stop: asyncio.Event, on_failure: OnFailure, pause_s: Callable[[int], float]
) -> None:
    now, failures = asyncio.get_running_loop().time, 0
    while not stop.is_set():
        began, fault = now(), None
        try:
            await part.run()
        except BadSetting:
            raise
        except Exception as error:  # whatever it was, the part is started again
            fault = error
            log.debug("part_failed", part=part.name, exc_info=error)
        if stop.is_set():
            return
        failures = 1 if now() - began >= CALM_S else failures + 1
        on_failure(part.name, fault, pause_s(failures))
        await passed(stop, pause_s(failures))
