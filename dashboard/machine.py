"""How the system stands: processes, Redis, queues, counters, pauses, what was done here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from redis.exceptions import ResponseError

from dashboard import audit
from dashboard.house_now import bot_ids_of
from dashboard.names import read_names
from dashboard.queue import QueueNow, queue_now
from dashboard.shared import Shared
from infra import health, keys
from infra.outage import is_outage
from infra.pause import EVERYTHING
from infra.together import checked, together
from schemas.life import Action

ACTIONS_SHOWN = 50
COUNTERS = ("swept",)
"""Of keys.count()."""
KINDS_OF_KEYS: Mapping[str, tuple[str, str]] = {
    "lives": ("XLEN", keys.life()),
    "calls": ("XLEN", keys.calls()),
    "audit": ("XLEN", keys.audit()),
    "texts": ("ZCARD", keys.expiry()),
    "reminders": ("ZCARD", keys.due()),
    "dead": ("ZCARD", keys.dead()),
    "people": ("HLEN", keys.people()),
    "groups": ("HLEN", keys.groups()),
    "mails": ("LLEN", keys.mails()),
}
"""What is counted by one cheap command each."""
SAFE_POLICIES = frozenset({"noeviction"})
"""Under any other one Redis throws away what was promised, once it is full."""


@dataclass(frozen=True, slots=True)
class Process:
    """One that said lately that it lives."""

    kind: str
    id: str
    """ "host-pid"."""
    seen_ms: int
    """How long ago."""
    slots: int | None
    """Turns that it can have in work; None: it does not say, or has none."""


@dataclass(frozen=True, slots=True)
class RedisNow:
    """What Redis says of itself; None: it does not say (an account without the right to ask)."""

    version: str
    uptime_ms: int
    memory_bytes: int | None
    limit_bytes: int | None
    """None: no limit."""
    policy: str
    clients: int | None
    keys: int
    has_aof: bool | None
    aof_ok: bool
    saved_ms: int | None
    """When a snapshot was last written, ms since 1970; None: never."""
    save_ok: bool

    @property
    def is_policy_safe(self) -> bool:
        """It throws nothing away by itself."""
        return self.policy in SAFE_POLICIES


@dataclass(frozen=True, slots=True)
class Bot:
    """One that can be paused."""

    id: str
    name: str
    since_ms: int | None
    """Since when it is paused; None: it is not."""
    sending: int
    """Conversations with replies that are not sent yet."""


@dataclass(frozen=True, slots=True)
class System:
    """Everything at one moment."""

    processes: Sequence[Process]
    redis: RedisNow | None
    """None: it may not be asked."""
    queue: QueueNow
    counters: Mapping[str, int]
    counts: Mapping[str, int]
    """By KINDS_OF_KEYS."""
    bots: Sequence[Bot]
    all_paused_ms: int | None
    """Since when everything is paused."""
    actions: Sequence[Action]


async def read_system(shared: Shared) -> System:
    """A handful of round trips. Raises what redis-py raises."""
    names = await read_names(shared)
    await shared.lives.read_on(shared.redis)
    bot_ids = bot_ids_of(shared)
    queue = await queue_now(shared.redis, bot_ids)
    found = checked(
        await together(shared.redis).run(
            *(("GET", keys.count(what)) for what in COUNTERS),
            *KINDS_OF_KEYS.values(),
            *(("ZCARD", keys.outbox_queue(bot_id)) for bot_id in bot_ids),
        )
    )
    counters, counts = found[: len(COUNTERS)], found[len(COUNTERS) :]
    sending = counts[len(KINDS_OF_KEYS) :]
    return System(
        await _processes(shared),
        await _redis(shared),
        queue,
        {what: int(n or 0) for what, n in zip(COUNTERS, counters, strict=True)},
        dict(zip(KINDS_OF_KEYS, counts, strict=False)),
        [
            Bot(bot_id, names.bot(bot_id), queue.paused.since_ms.get(bot_id), n)
            for bot_id, n in zip(bot_ids, sending, strict=True)
        ],
        queue.paused.since_ms.get(EVERYTHING),
        await audit.newest(shared.redis, ACTIONS_SHOWN),
    )


async def _processes(shared: Shared) -> Sequence[Process]:
    (seconds, micros), *found = checked(
        await together(shared.redis).run(
            ("TIME",), *(("ZRANGE", keys.alive(kind), 0, -1, "WITHSCORES") for kind in health.KINDS)
        )
    )
    now_ms = int(seconds) * 1000 + int(micros) // 1000
    living = [
        (kind, member.decode(), now_ms - round(float(score)))
        for kind, members in zip(health.KINDS, found, strict=True)
        for member, score in pairs(members)
    ]
    living = [one for one in living if one[2] <= health.ALIVE_MS and not health.is_dead_here(one[1])]
    if not living:
        return ()
    slots = await shared.redis.mget([keys.slots(id_) for _, id_, _ in living])
    return [
        Process(kind, id_, max(0, seen_ms), int(n) if n and n.isdigit() else None)
        for (kind, id_, seen_ms), n in zip(living, slots, strict=True)
    ]


def pairs(found: Sequence[Any]) -> Sequence[tuple[bytes, Any]]:
    """Members with their scores, however the client gives them."""
    if found and isinstance(found[0], tuple | list):
        return [(one[0], one[1]) for one in found]
    return list(zip(found[::2], found[1::2], strict=True))


async def _redis(shared: Shared) -> RedisNow | None:
    try:
        return redis_of(await shared.redis.info())
    except ResponseError as error:
        if is_outage(error):
            raise
        return None  # NOPERM: an account that may not ask


def redis_of(info: Mapping[str, Any]) -> RedisNow:
    """Of INFO."""
    limit = _whole(info.get("maxmemory"))
    databases = [
        cast("dict[str, Any]", one)
        for name, one in info.items()
        if name.startswith("db") and isinstance(one, dict)
    ]
    return RedisNow(
        version=str(info.get("valkey_version") or info.get("redis_version") or ""),
        uptime_ms=(_whole(info.get("uptime_in_seconds")) or 0) * 1000,
        memory_bytes=_whole(info.get("used_memory")),
        limit_bytes=limit or None,
        policy=str(info.get("maxmemory_policy") or ""),
        clients=_whole(info.get("connected_clients")),
        keys=sum(_whole(one.get("keys")) or 0 for one in databases),
        has_aof=bool(_whole(info.get("aof_enabled"))) if "aof_enabled" in info else None,
        aof_ok=info.get("aof_last_write_status", "ok") == "ok",
        saved_ms=(_whole(info.get("rdb_last_save_time")) or 0) * 1000 or None,
        save_ok=info.get("rdb_last_bgsave_status", "ok") == "ok",
    )


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
