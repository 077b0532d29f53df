"""What a worker does beside turns: shows that it lives, repairs lanes, lets old texts expire, tells of dead letters, mails."""

import asyncio

import structlog

from infra import health, keys
from lanes.sweep import sweep
from memory.expire import expire_texts
from schemas.dead import DeadLetter
from schemas.wire import NewerVersion, NotReadable, load
from workers.alert_text import GivenUp
from workers.alerts import HOUR_S, tell_owner
from workers.outgoing import Place
from workers.post import send_mails
from workers.reminders import fire_due
from workers.services import Services
from workers.watched import Job, Watched

DEAD_S = 5.0
EXPIRE_S = 30.0
MAIL_S = 5.0
REMINDERS_S = 1.0
SWEEP_S = 30.0
LOCK_SHARE = 0.8
"""Of a period: how long a job that one worker did keeps the others from doing it."""

log = structlog.get_logger()


async def upkeep(s: Services, beat: Job) -> None:
    """Until cancelled. beat: tells the others that this process lives."""
    async with asyncio.TaskGroup() as group:
        group.create_task(every(s, "beat", health.BEAT_S, beat))
        group.create_task(every(s, "dead", DEAD_S, lambda: tell_of_dead(s)))
        group.create_task(every(s, "expire", EXPIRE_S, lambda: expire(s), shared=True))
        group.create_task(every(s, "reminders", REMINDERS_S, lambda: fire_due(s)))
        if s.mail is not None:
            group.create_task(every(s, "mail", MAIL_S, lambda: send_mails(s)))
        group.create_task(every(s, "sweep", SWEEP_S, lambda: sweep(s.redis), shared=True))


async def every(s: Services, name: str, period_s: float, job: Job, *, shared: bool = False) -> None:
    """At once, then again and again.

    shared: from the second time on only if no other worker did it lately.
    """
    watched = Watched(s, name, job)
    while True:
        try:
            await watched()
            await s.sleep(period_s)
            while shared and not await _is_mine(s, name, period_s):
                await s.sleep(period_s)
        except Exception as error:  # noqa: BLE001 — the border of a job: turns go on, and it is tried again
            log.warning("upkeep_interrupted", job=name, error=type(error).__name__)
            await s.sleep(period_s)


async def expire(s: Services) -> int:
    """What became too old goes, also where nobody writes any more; gives how much."""
    return await expire_texts(s.redis, s.clock(), s.memory, s.session)


async def tell_of_dead(s: Services) -> None:
    """The owner hears of messages that were given up within the last hour; of replies, the bot that sends tells."""
    since_ms = s.clock() - HOUR_S * 1000
    members = await s.redis.zrangebyscore(keys.dead(), f"({since_ms}", "+inf")
    found = [await _letter(s, member) for member in members]
    letters = [letter for letter in found if letter and letter.job_id.startswith(keys.inbox_job(""))]
    if letters:
        newest = letters[-1]
        place = Place.of_lane(newest.job_id.removeprefix(keys.inbox_job("")), newest.owner)
        await tell_owner(s, GivenUp(len(letters), newest.reason), place)


async def _letter(s: Services, member: bytes) -> DeadLetter | None:
    owner, _, item_id = member.decode().rpartition("|")
    raw = await s.redis.hget(keys.dead_of(owner), item_id)
    try:
        return None if raw is None else load(DeadLetter, raw)
    except (NotReadable, NewerVersion):
        return None


async def _is_mine(s: Services, name: str, period_s: float) -> bool:
    return bool(
        await s.redis.set(keys.once(f"upkeep:{name}"), "1", px=round(period_s * LOCK_SHARE * 1000), nx=True)
    )
