"""A lane's work as one worker holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.redis_port import RedisPort
from infra.scripts import Script

CLAIM = Script(Path(__file__).with_name("claim.lua"))


@dataclass(frozen=True, slots=True)
class Item:
    """One waiting thing: a message or a reply."""

    id: str
    body: bytes
    """JSON as it was pushed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the claim script gave: the lane is ours until the lease ends or the token is replaced."""

    job_id: str
    """`in:LANE` or `out:LANE`."""
    token: str
    """Unique per claim; every commit is fenced by it."""
    turn_id: str
    """Fixed, with the items, by the first claim: a retry is the same turn."""
    items: tuple[Item, ...]
    epoch: str
    """The owner's epoch when the turn was fixed; texts are stored only while it still holds."""
    owner: str = ""
    """The memory owner that the lane's items were pushed with."""
    failures: int = 0
    """Earlier attempts of this turn that failed."""
    deaths: int = 0
    """Earlier claims of this turn whose holder never finished (killed, or lost its lease)."""
    kept: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What earlier attempts of this turn put aside (lanes.keep, lanes.step). What an inbox kept and its owner has forgotten
    leaves a `forgotten` behind.
    """
    age_ms: int | None = None
    """Since its first item was taken in (lanes.ingest), when it was claimed; None: not known."""

    @property
    def lane(self) -> str:
        """`bot:chat:topic`."""
        return self.job_id.partition(":")[2]

    @property
    def can_split(self) -> bool:
        """May its items become turns of their own? Not if something is kept: that would be done again."""
        return len(self.items) > 1 and not self.kept


async def claim_due(
    redis: RedisPort, queue: str, *, lease_ms: int, wanted: int, prefix: str, per_turn: int
) -> tuple[list[Claim], int | None]:
    """Take up to `wanted` lanes whose job is due.

    prefix: begins every token; unique per process. per_turn: items that one turn may take together.
    Gives the claims and the ms until the next job is due (None: the queue is empty).
    """
    wait_ms, *found = await CLAIM(redis, [queue], [lease_ms, wanted, prefix, per_turn])
    return [_claim(reply) for reply in found], None if wait_ms < 0 else wait_ms


def _claim(reply: list[Any]) -> Claim:
    job_id, token, turn_id, epoch, owner, failures, deaths, items, kept, age_ms = reply
    return Claim(
        job_id=job_id.decode(),
        token=token.decode(),
        turn_id=turn_id.decode(),
        items=tuple(Item(key.decode(), body) for key, body in zip(items[::2], items[1::2], strict=True)),
        epoch=epoch.decode(),
        owner=owner.decode(),
        failures=int(failures),
        deaths=int(deaths),
        kept={name.decode(): value for name, value in zip(kept[::2], kept[1::2], strict=True)},
        age_ms=None if age_ms < 0 else age_ms,
    )
