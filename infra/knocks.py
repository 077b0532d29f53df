"""Requests to be let in: somebody unknown writes, gets a code, and the owner approves it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from infra import keys
from infra.effect import Effect
from infra.people import new_code
from infra.redis_port import RedisPort
from infra.scripts import Script
from infra.together import checked, together
from schemas.inbound import InboundMessage
from schemas.person import Knock
from schemas.wire import NewerVersion, NotReadable, dump, load

type Kind = Literal["person", "group"]

GOOD_MS: Mapping[Kind, int] = {"person": 3_600_000, "group": 7 * 24 * 3_600_000}
"""How long a code is good. Of a group for longer: the owner is asked once, and may be away."""
MOST_OPEN = 20
"""Of each kind at once: no crowd of strangers becomes a crowd of messages to the owner."""
ANY_NUMBER = 1_000_000

_KNOCK = Script(Path(__file__).with_name("knock.lua"))


@dataclass(frozen=True, slots=True)
class Knocked:
    """The open request of whoever wrote."""

    knock: Knock
    times: int
    """How often they asked, this time included."""


def knock_of(message: InboundMessage, code: str, *, now_ms: int, title: str = "") -> Knock:
    """What is asked by `message`: in private for its sender, in a group for the group, whose title is given."""
    kind: Kind = "group" if message.chat_kind == "group" else "person"
    return Knock(
        code=code,
        kind=kind,
        who=message.chat_id if kind == "group" else message.user_id,
        name=" ".join((title if kind == "group" else message.user_name).split()),
        bot_id=message.bot_id,
        language=message.language,
        until_ms=now_ms + GOOD_MS[kind],
    )


async def ask(
    redis: RedisPort, message: InboundMessage, *, now_ms: int, title: str = "", most_open: int = MOST_OPEN
) -> Knocked | None:
    """Note the request, or give the one that is open. None: too many of its kind are.

    Raises what redis-py raises.
    """
    fresh = knock_of(message, new_code(), now_ms=now_ms, title=title)
    raw, times = await _KNOCK(
        redis,
        [keys.knock(fresh.who), keys.knocks(fresh.kind)],
        [fresh.who, dump(fresh), now_ms, GOOD_MS[fresh.kind], most_open],
    )
    return Knocked(load(Knock, raw), times) if raw else None


async def read_knocks(redis: RedisPort, now_ms: int) -> tuple[Knock, ...]:
    """The open requests, the one that ends first before the others. Two round trips."""
    listed = checked(
        await together(redis).run(
            *(("ZRANGEBYSCORE", keys.knocks(kind), f"({now_ms}", "+inf") for kind in GOOD_MS)
        )
    )
    whose = [who.decode() for kind in listed for who in cast("list[bytes]", kind)]
    if not whose:
        return ()
    raws = checked(await together(redis).run(*(("HGET", keys.knock(who), "knock") for who in whose)))
    knocks = (_readable(raw) for raw in cast("list[bytes | None]", raws))
    return tuple(knock for knock in knocks if knock is not None and knock.until_ms > now_ms)


def answered_effects(knock: Knock) -> tuple[Effect, ...]:
    """The request is open no more."""
    return (
        Effect("DEL", keys.knock(knock.who)),
        Effect("ZREM", keys.knocks(knock.kind), (knock.who,)),
    )


def _readable(raw: bytes | None) -> Knock | None:
    try:
        return None if raw is None else load(Knock, raw)
    except (NotReadable, NewerVersion):
        return None
