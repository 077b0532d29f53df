"""A group became a supergroup: Telegram gives it another chat id, and everything that it had goes along, in one step.

Telegram says so to every bot of the group, twice (once in the old chat, once in the new one), and again whenever somebody
sends to the old id. So the step is repeated freely: what has nothing left to move changes nothing, and what came under
the old id in the meantime joins what is there.

A turn that runs in the old lane is taken from its holder, who is fenced from then on: no commit, no step, no kept round
of his counts. The turn, its messages and what it has kept stand in the new lane, where it is made again under the same
turn id. So it is neither lost nor done twice. A part of a reply that was leaving in that very moment is sent again, marked,
as after any other loss of a lane.
"""

from enum import Enum
from pathlib import Path

import structlog

from infra import keys
from infra.redis_port import RedisPort
from infra.scripts import Script
from schemas.inbound import group_owner

OF_A_LANE = (
    keys.session(""), keys.answer(""), keys.fold(""), keys.pending(""), keys.parked(""), keys.choice(""),
    keys.project(""), keys.stop(""),
)  # fmt: skip
"""Prefixes of the strings of a lane."""
HASHES_OF_A_LANE = (keys.ratios(""),)

_MIGRATE = Script(Path(__file__).with_name("migrate.lua"))

log = structlog.get_logger()


class Migrated(Enum):
    """What became of it."""

    DONE = "done"
    """Everything is under the new id, also if nothing was left to move."""
    BUSY = "busy"
    """Both lanes have a turn, and the old one has kept something that it must not do again. Nothing changed; try again when
    the new lane's turn is over: in a moment.
    """
    BROKEN = "wrong_type"
    """A key holds another type (reported). Nothing changed, and a repeat comes to the same."""


async def migrate(
    redis: RedisPort, *, bot_id: str, store: str, old_chat_id: str, new_chat_id: str
) -> Migrated:
    """Move what this bot, and all bots of its store, have of the group: waiting messages, unsent replies, running turns and
    what they kept, conversations, ring, records of turns, things, facts, dead letters, what is to be looked at when, that the group was let in, and that it wants rich messages.

    A basic group has no topics: it is one lane per bot, and becomes the new chat's General.

    Raises what redis-py raises; after a lost connection repeat it.
    """
    old, new = group_owner(store, old_chat_id, 0), group_owner(store, new_chat_id, 0)
    pairs = (keys.lanes_of, keys.ring, keys.turns, keys.things, keys.facts, keys.dead_of, keys.epoch)
    found = await _MIGRATE(
        redis,
        [*(name(owner) for name in pairs for owner in (old, new)), keys.dead(), keys.due(), keys.expiry(), keys.groups(),
         keys.rich(old_chat_id), keys.rich(new_chat_id)],
        [
            old, new, bot_id, old_chat_id, new_chat_id, keys.LANE_PREFIX, keys.LEASE_PREFIX, keys.JOB_PREFIX,
            keys.inbox_queue(), keys.outbox_queue(""), len(OF_A_LANE), *OF_A_LANE, *HASHES_OF_A_LANE,
        ],
    )  # fmt: skip
    result = Migrated(found[0].decode())
    where = found[1].decode() if isinstance(found[1], bytes) else ""
    report = log.error if result is Migrated.BROKEN else log.info
    report(
        "group_migrated",
        bot_id=bot_id,
        chat_id=old_chat_id,
        new_chat_id=new_chat_id,
        result=result.value,
        at=where,
    )
    return result
