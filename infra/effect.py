"""A change to Redis as a value: built by whoever owns the key, applied by a script under the lane's fence."""

from dataclasses import dataclass
from typing import Literal

type Arg = str | bytes | int

COMMAND_TYPES = {
    "SET": "any", "DEL": "any", "PEXPIRE": "any",
    "RPUSH": "list", "LTRIM": "list", "LREM": "list",
    "HSET": "hash", "HDEL": "hash", "HINCRBY": "hash",
    "ZADD": "zset", "ZREM": "zset",
    "SADD": "set", "SREM": "set",
    "INCRBY": "string", "XADD": "stream",
}  # fmt: skip
"""Commands an effect may use, with the Redis type its key must have ("any": cannot fail on a type)."""

type Command = Literal[
    "SET", "DEL", "PEXPIRE", "RPUSH", "LTRIM", "LREM", "HSET", "HDEL", "HINCRBY", "ZADD", "ZREM",
    "SADD", "SREM", "INCRBY", "XADD",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Effect:
    """`command key args…`, exactly as Redis takes it; but HINCRBY takes any number of pairs of field and number."""

    command: Command
    key: str
    args: tuple[Arg, ...] = ()


@dataclass(frozen=True, slots=True)
class Expect:
    """A field of a hash must still hold what was read, else the step changes nothing."""

    key: str
    field: str
    value: bytes | None
    """None: the field is not there."""


@dataclass(frozen=True, slots=True)
class Push:
    """One item for a lane; its job is queued and the doorbell rung in the same step."""

    job_id: str
    """`in:LANE` or `out:LANE`."""
    queue: str
    """keys.inbox_queue() or keys.outbox_queue(bot_id)."""
    item_id: str
    body: bytes
    owner: str = ""
    """Memory owner: who forgets, empties the lane (infra.forget)."""
    solo: bool = False
    """Must be taken alone (a command); otherwise waiting items are taken together."""
    hold_ms: int = 0
    """May be only a part: wait this long for the rest."""
