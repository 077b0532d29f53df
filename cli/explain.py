"""`koi explain`: what one answer was made of."""

import asyncio

import click
from rich.console import Console

from cli.apart_log import log_quiet
from cli.environment import koi_settings, redis_patience_s
from cli.explained import explained
from cli.faults import Failure
from cli.texts import say
from infra import keys
from infra.clock import ms, system_clock
from infra.redis import open_redis
from infra.settings import Settings
from infra.turns import find_turn
from memory.limits import SessionLimits
from memory.session import read_session
from schemas.memory import Exchange
from schemas.turn import TurnRecord
from schemas.wire import NewerVersion, NotReadable, dump
from workers.times import zone_of


@click.command()
@click.argument("turn", default="")
@click.option("--json", "as_json", is_flag=True, help="The whole record as JSON.")
def explain(turn: str, as_json: bool) -> None:
    """What the model was given for one answer, what was left out and why, and what it cost.

    TURN is the id of an answer (`/why` and the log show it) or how it begins; without it, the newest answer.
    """
    settings = koi_settings()
    record, earlier = asyncio.run(_found(settings, turn))
    if as_json:
        click.echo(dump(record))
        return
    page = explained(record, earlier, settings.language, zone_of(settings.timezone), settings.money)
    Console(highlight=False).print(page)


async def _found(settings: Settings, turn: str) -> tuple[TurnRecord, tuple[Exchange, ...]]:
    """The record, and what its conversation still holds, if it runs."""
    now_ms = system_clock()()
    log_quiet(settings.log)
    async with open_redis(settings, name="explain", patience_s=redis_patience_s(settings)) as redis:
        record = await find_turn(redis, turn, now_ms, ms(settings.memory.max_age))
        raw = await redis.get(keys.session(record.lane)) if record else None
    if record is None and not turn:
        raise Failure(say(settings.language, "there was no answer lately, so there is nothing to explain"))
    if record is None:
        raise Failure(
            say(
                settings.language,
                "there is no such answer, or it is gone: /why in the chat shows the id of the last",
            )
        )
    return record, _exchanges(raw, now_ms, settings)


def _exchanges(raw: bytes | None, now_ms: int, settings: Settings) -> tuple[Exchange, ...]:
    try:
        session = read_session(raw, now_ms, SessionLimits.from_settings(settings))
    except (NotReadable, NewerVersion):
        return ()
    return session.exchanges if session else ()
