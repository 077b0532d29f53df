"""Fills a Redis as bots and workers do: calls of models with the counters of people, lives of turns, memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from itertools import count
from typing import Any

from infra import keys
from infra.lives import written
from infra.redis_port import RedisPort
from infra.settings_sections import PriceSettings
from llm.request import CallEnded, Usage
from schemas.life import TurnLife
from schemas.memory import RingEntry, Session
from schemas.wire import dump
from tests.dashboard.house import NOW_MS
from workers.records import Recorder

PRICES = {"sonnet": PriceSettings(input=3, output=15), "haiku": PriceSettings(input=1, output=5)}
USED = Usage(1_000, 200, 3_000, 500)
"""Input, written to the cache, read from it, output."""
NUMBERS = count(1)
DAY_MS, HOUR_MS, MINUTE_MS = 24 * 3_600_000, 3_600_000, 60_000


@dataclass(slots=True)
class Caller:
    """Records calls, at times that are set by hand."""

    redis: RedisPort
    zone: tzinfo = UTC
    now_ms: int = NOW_MS
    made: list[Any] = field(default_factory=list[Any])

    async def calls(
        self, model: str = "sonnet", outcome: Any = "answered", *, times: int = 1, usage: Usage = USED,
        user_id: str = "42", bot: str = "parcels", turn_id: str = "t1", detail: str = "", service: Any = "anthropic",
    ) -> None:  # fmt: skip
        recorder = Recorder(self.redis, lambda: self.now_ms, zone=self.zone, prices=PRICES)
        for _ in range(times):
            ended = CallEnded(f"c{next(NUMBERS)}", service, model, outcome, 800, usage=usage, detail=detail)
            self.made.append(
                recorder.ended(
                    ended,
                    turn_id=turn_id,
                    lane=f"7:{user_id}:0",
                    user_id=user_id,
                    bot=bot,
                    asked=model,
                    why="asked_for",
                )
            )
        await recorder.flush()


def life(turn_id: str = "", **changes: Any) -> TurnLife:
    """A turn that was answered ten minutes ago."""
    values: dict[str, Any] = {
        "id": turn_id or f"turn{next(NUMBERS)}", "lane": "7:42:0", "owner": "home:u:42", "bot": "parcels",
        "user_id": "42", "message_ids": ("7:1",), "state": "answered", "sent_ms": NOW_MS - 10 * MINUTE_MS,
        "received_ms": NOW_MS - 10 * MINUTE_MS, "taken_ms": NOW_MS - 10 * MINUTE_MS,
        "committed_ms": NOW_MS - 10 * MINUTE_MS + 1500, "asked": "sonnet", "model": "sonnet",
        "cost_microusd": 4_000, "session_id": "s1", "exchange": 1,
    }  # fmt: skip
    return TurnLife(**(values | changes))


async def live(redis: RedisPort, lives: Iterable[TurnLife]) -> None:
    """Into keys.life(), oldest first."""
    async with redis.pipeline(transaction=False) as pipe:
        for one in lives:
            for effect in written("turn", one):
                pipe.execute_command(effect.command, effect.key, *effect.args)
        await pipe.execute()


async def remember(
    redis: RedisPort, entries: Sequence[RingEntry], owner: str = "home:u:42", max_age_ms: int = DAY_MS
) -> None:
    """Into the ring of an owner, as memory.store does it."""
    for entry in entries:
        await redis.rpush(keys.ring(owner), dump(entry))
    await redis.zadd(keys.expiry(), {keys.ring(owner): min(entry.at_ms for entry in entries) + max_age_ms})


def entry(entry_id: str = "0123456789abcdef:1", **changes: Any) -> RingEntry:
    values: dict[str, Any] = {
        "v": 2, "id": entry_id, "at_ms": NOW_MS - HOUR_MS, "user_message": "Wo ist das Paket?", "summary": "Kommt Mittwoch.",
        "reply": "UPS sagt: Es kommt am Mittwoch.", "session_name": "telegram_42", "bot": "parcels", "lane": "7:42:0",
    }  # fmt: skip
    return RingEntry(**(values | changes))


async def converse(redis: RedisPort, session: Session, lane: str = "7:42:0") -> None:
    """A conversation runs."""
    await redis.set(keys.session(lane), dump(session))
    await redis.sadd(keys.lanes_of("home:u:42"), keys.inbox_job(lane))
    await redis.zadd(keys.expiry(), {keys.session(lane): session.last_ms + 30 * MINUTE_MS})
