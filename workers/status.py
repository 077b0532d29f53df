"""/status: how koi is doing, for the owner."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from infra import health, keys
from infra.pause import PARKED_MS
from infra.redis_port import RedisPort
from infra.settings import MoneySettings
from infra.together import checked, together
from schemas.call import CallRecord
from schemas.wire import NewerVersion, NotReadable, load
from workers.periods import day_of
from workers.records import ANSWERS, FOLD
from workers.texts import say, say_n
from workers.times import span
from workers.usage import cost_text

LOOKED_AT = 1_000
"""Newest calls that are looked at; if all of them are of today, there were more."""
LATE_MS = 60_000
"""Who waits longer than that is waited for."""


@dataclass(frozen=True, slots=True)
class Status:
    """What is known at one moment."""

    bots: int
    """Processes."""
    workers: int
    lanes: int
    """With something to answer or to fold, whether somebody is at it or not."""
    waiting: int
    """Of those, how many could be taken and were not; one of a paused bot is not among them."""
    oldest_ms: int
    """How long the first of them waits; 0: none does."""
    dead: int
    """Messages and replies that were given up."""
    answers: int = 0
    """Today."""
    microusd: int = 0
    unpriced: int = 0
    """Calls of today whose price is not known."""
    fallbacks: int = 0
    """Answers of today by another model than the first choice."""
    parked: int = 0
    """Lanes that wait for the end of a pause."""
    is_all: bool = True
    """False: there were more calls today than were looked at."""


async def load_status(redis: RedisPort, now_ms: int, zone: tzinfo) -> Status:
    """Two round trips: queue times are those of Redis' clock.

    Raises what redis-py raises.
    """
    seconds, micros = await redis.time()
    redis_ms = seconds * 1000 + micros // 1000
    living = redis_ms - health.ALIVE_MS
    bots, workers, lanes, parked, waiting, first, dead, calls = checked(
        await together(redis).run(
            ("ZRANGEBYSCORE", keys.alive("bot"), living, "+inf"),
            ("ZRANGEBYSCORE", keys.alive("worker"), living, "+inf"),
            ("ZCOUNT", keys.inbox_queue(), "-inf", f"({PARKED_MS}"),
            ("ZCOUNT", keys.inbox_queue(), PARKED_MS, "+inf"),
            ("ZCOUNT", keys.inbox_queue(), "-inf", redis_ms),
            ("ZRANGE", keys.inbox_queue(), 0, 0, "WITHSCORES"),
            ("ZCARD", keys.dead()),
            ("XREVRANGE", keys.calls(), "+", "-", "COUNT", LOOKED_AT),
        )
    )
    oldest_ms = _age_ms(first, redis_ms)
    status = Status(_living(bots), _living(workers), lanes, waiting, oldest_ms, dead, parked=parked)
    return with_calls(status, _records(calls), day_of(now_ms, zone), zone)


def with_calls(status: Status, newest: Sequence[CallRecord], today: str, zone: tzinfo) -> Status:
    """What the newest calls say of today."""
    ours = [record for record in newest if day_of(record.at_ms, zone) == today]
    answers = [record for record in ours if record.outcome in ANSWERS and record.why != FOLD]
    return replace(
        status,
        answers=len(answers),
        microusd=sum(record.cost_microusd or 0 for record in ours),
        unpriced=sum(record.cost_microusd is None for record in ours),
        fallbacks=sum(record.asked not in {"", record.model} for record in answers),
        is_all=len(ours) < LOOKED_AT,
    )


def status_text(status: Status, money: MoneySettings, language: str) -> str:
    """A line each; what is wrong has a ⚠."""
    cost = cost_text(status.microusd, money, language)
    lines = [
        _warned(status.bots == 0, say_n(language, "{n} bot process", "{n} bot processes", status.bots)),
        _warned(status.workers == 0, say_n(language, "{n} worker", "{n} workers", status.workers)),
        _lanes_line(status, language),
        _warned(status.dead > 0, say_n(language, "{n} dead letter", "{n} dead letters", status.dead)),
        say_n(language, "Today: {n} answer, {cost}", "Today: {n} answers, {cost}", status.answers, cost=cost),
        say_n(
            language, "{n} of them by another model than the first choice", "{n} of them by another model than the first choice",
            status.fallbacks,
        ),
    ]  # fmt: skip
    if status.parked:
        paused = say_n(
            language, "{n} conversation waits: its bot is paused", "{n} conversations wait: their bots are paused",
            status.parked,
        )  # fmt: skip
        lines.insert(3, _warned(True, paused))
    if status.unpriced:
        lines.append(
            say_n(
                language,
                "{n} call of today has no known price and is not in the sum.",
                "{n} calls of today have no known price and are not in the sum.",
                status.unpriced,
            )
        )
    if not status.is_all:
        lines.append(
            say(language, "Only the newest {n} calls were looked at; there were more today.", n=LOOKED_AT)
        )
    return "\n".join(lines)


def _lanes_line(status: Status, language: str) -> str:
    busy = say_n(
        language, "{n} conversation in work", "{n} conversations in work", status.lanes - status.waiting
    )
    if not status.waiting:
        return busy
    age = span(status.oldest_ms, language)
    waits = say_n(
        language, "{n} waits, the oldest for {age}", "{n} wait, the oldest for {age}", status.waiting, age=age
    )
    return _warned(status.oldest_ms >= LATE_MS, f"{busy}, {waits}")


def _warned(is_wrong: bool, line: str) -> str:
    return f"⚠ {line}" if is_wrong else line


def _living(found: Sequence[bytes]) -> int:
    return sum(not health.is_dead_here(process_id.decode()) for process_id in found)


def _age_ms(first: Sequence[bytes], redis_ms: int) -> int:
    """first: member and score of the job that is due first, as Redis gives them."""
    return max(0, redis_ms - round(float(first[1]))) if first else 0


def _records(calls: Sequence[tuple[bytes, Mapping[bytes, bytes]]]) -> list[CallRecord]:
    records: list[CallRecord] = []
    for _, fields in calls:
        with contextlib.suppress(NotReadable, NewerVersion):
            records.append(load(CallRecord, fields[b"record"]))
    return records
