"""Records of lives for tests, as workers and bots write them."""

from typing import Any

from infra import keys
from infra.effect import Push
from infra.redis_port import RedisPort
from lanes.ingest import ingest
from schemas.inbound import InboundMessage
from schemas.life import Attempt, SentLife, TurnLife
from schemas.memory import RingEntry
from schemas.wire import dump
from tests.dashboard.house import NOW_MS

ANNA, BEN = "7:1001:0", "7:1002:0"


def turn(nth: int = 1, *, at_ms: int = NOW_MS, **changes: Any) -> TurnLife:
    """A plain answer of two seconds that ended at a moment."""
    known: dict[str, Any] = {
        "id": f"host-1-ab:{nth}",
        "lane": ANNA,
        "owner": "home:u:1001",
        "bot": "home",
        "user_id": "1001",
        "message_ids": (f"7:{nth}",),
        "state": "answered",
        "sent_ms": at_ms - 3000,
        "received_ms": at_ms - 2000,
        "taken_ms": at_ms - 1800,
        "built_ms": at_ms - 1700,
        "committed_ms": at_ms,
        "attempts": (attempt(at_ms - 100),),
        "asked": "sonnet",
        "model": "sonnet",
        "why": "demanding",
        "tier": "strong",
        "input_tokens": 1500,
        "output_tokens": 200,
        "cost_microusd": 4100,
        "session_id": "s1",
        "exchange": nth,
        "reply_ids": (f"host-1-ab:{nth}:answer",),
    }
    return TurnLife(**known | changes)


def attempt(ended_ms: int, model: str = "sonnet", outcome: str = "answered", took_ms: int = 1500) -> Attempt:
    return Attempt(model=model, service="anthropic", outcome=outcome, ended_ms=ended_ms, took_ms=took_ms)


def fallback(nth: int = 1, *, at_ms: int = NOW_MS, **changes: Any) -> TurnLife:
    """Haiku answered, since Sonnet was rate-limited."""
    attempts = (
        attempt(at_ms - 800, outcome="rate_limited", took_ms=300),
        attempt(at_ms - 100, "haiku", took_ms=600),
    )
    known: dict[str, Any] = {"model": "haiku", "attempts": attempts}
    return turn(nth, at_ms=at_ms, **known | changes)


def dead(nth: int = 1, *, at_ms: int = NOW_MS, **changes: Any) -> TurnLife:
    """Given up: Sonnet was overloaded."""
    failed = tuple(attempt(at_ms - ago, outcome="overloaded", took_ms=200) for ago in (900, 600, 300))
    known: dict[str, Any] = {
        "state": "dead", "model": "", "exchange": 0, "session_id": "", "attempts": failed, "failures": 2, "reason": "overloaded"
    }  # fmt: skip
    return turn(nth, at_ms=at_ms, **known | changes)


def sent(nth: int = 1, *, at_ms: int = NOW_MS + 400, **changes: Any) -> SentLife:
    known: dict[str, Any] = {
        "reply_id": f"host-1-ab:{nth}:answer",
        "lane": ANNA,
        "bot_id": "7",
        "taken_ms": at_ms - 300,
        "sent_ms": (at_ms,),
        "ended_ms": at_ms,
    }
    return SentLife(**known | changes)


async def write(redis: RedisPort, *lives: TurnLife | SentLife) -> None:
    """To the stream."""
    for life in lives:
        await redis.xadd(keys.life(), {"turn" if isinstance(life, TurnLife) else "sent": dump(life)})


async def remember(redis: RedisPort, owner: str, turn_id: str, text: str, *, at_ms: int = NOW_MS) -> None:
    """As the memory of its owner has it."""
    entry = RingEntry(
        id=turn_id, at_ms=at_ms, user_message=text, summary="an answer", reply="The whole answer."
    )
    await redis.rpush(keys.ring(owner), dump(entry))


def message(
    nth: int, text: str = "Is the boiler on?", *, chat: str = "1001", **changes: Any
) -> InboundMessage:
    known: dict[str, Any] = {
        "id": f"7:{nth}",
        "bot_id": "7",
        "bot": "home",
        "chat_id": chat,
        "user_id": chat,
        "sent_at_ms": NOW_MS,
        "text": text,
    }
    return InboundMessage(**known | changes)


async def wait(redis: RedisPort, *messages: InboundMessage) -> None:
    """As the bot takes them in."""
    for one in messages:
        job = keys.inbox_job(one.lane)
        await ingest(redis, [Push(job, keys.inbox_queue(), one.id, dump(one), one.owner)])
