"""Take items into their lanes: claimed once, pushed, job queued and doorbell rung in one step each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.changes import push_words
from infra.effect import Push
from infra.redis_port import RedisPort, Value
from infra.scripts import Script, source
from infra.together import Command

CLAIM_TTL_MS = 48 * 3_600_000
"""Telegram keeps an unconfirmed update for 24 h; twice that."""

INGEST = Script(Path(__file__).with_name("ingest.lua"))


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a batch."""

    taken: int
    """Items from the front that are safe now (new ones and repeats): all of them, or up to the first failure."""
    repeats: int
    """Of those, how many had been taken before."""
    error: str = ""
    """Why the batch stopped; "" if it did not."""


async def ingest(
    redis: RedisPort, pushes: Sequence[Push], *, offset: tuple[str, int] | None = None
) -> Ingested:
    """Push a batch in order; stops at the first item that cannot be stored, and changes nothing for it.

    Each `item_id` is claimed for 48 h: who was taken before is counted as a repeat and not pushed.
    offset: (keys.offset(bot), next update id), stored with the batch if all of it was taken.

    Raises what redis-py raises (connection lost, OOM, READONLY, LOADING): then nothing is known; repeat it.
    """
    taken, repeats, error = await INGEST(redis, [], _words(pushes, offset))
    return Ingested(taken, repeats, error.decode())


def ingest_command(pushes: Sequence[Push]) -> Command:
    """The same as one command, for a transaction (MULTI) of the caller."""
    return ("EVAL", source(INGEST.path), 0, *_words(pushes))


def _words(pushes: Sequence[Push], offset: tuple[str, int] | None = None) -> list[Value]:
    """ARGV of ingest.lua."""
    offset_key, next_update = offset or ("", 0)
    args: list[Value] = [CLAIM_TTL_MS, offset_key, next_update, CLAIM_TTL_MS]
    for push in pushes:
        args += push_words(push)
    return args
