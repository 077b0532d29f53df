"""Reads what Now shows: counters, lanes, money, dead letters, in a few round trips."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from dashboard.asked import Asked
from dashboard.counts import Counts, day_begins_ms, read_counts, read_money
from dashboard.kinds import state_of, tone_of
from dashboard.lives import Row
from dashboard.names import Names, Place, bots_of, read_names
from dashboard.numbers import Condition, Numbers, condition_of, conversations_in, numbers_of
from dashboard.queue import DONE_SHOWN, LANES_SHOWN, Block, LaneRow, QueueNow, lane_rows, queue_now
from dashboard.shared import Shared
from infra import keys
from infra.clock import ms

MONTH_MS = 31 * 86_400_000
CONVERSATION_DAYS = 2
"""A conversation of today may have begun so many days before."""
LATEST_ROWS = 200
"""Looked at for what goes wrong now."""


@dataclass(frozen=True, slots=True)
class HouseNow:
    """Everything at one moment."""

    numbers: Numbers
    condition: Condition
    counts: Counts
    queue: QueueNow
    names: Names
    lanes: tuple[LaneRow, ...]
    has_history: bool
    """At least one turn was recorded."""


async def house_now(asked: Asked) -> HouseNow:
    """Raises what redis-py raises."""
    shared, now_ms = asked.shared, asked.now_ms
    await shared.lives.read_on(shared.redis)
    names = await read_names(shared)
    queue = await queue_now(shared.redis, bot_ids_of(shared))
    counts = await read_counts(shared.redis, now_ms, shared.zone)
    numbers = await _numbers(shared, now_ms, names, queue, counts)
    latest = list(
        islice((row for row in shared.lives.newest_first() if row.asked or row.state == "dead"), LATEST_ROWS)
    )
    return HouseNow(
        numbers,
        condition_of(numbers, queue, latest, now_ms),
        counts,
        queue,
        names,
        lanes_of(shared, queue),
        len(shared.lives) > 0,
    )


def bot_ids_of(shared: Shared) -> tuple[str, ...]:
    """Bots that have answered, or that the settings name."""
    answered = (Place.of(lane).bot_id for lane in shared.lives.talk_of_lane)
    return tuple(dict.fromkeys(chain(bots_of(shared.settings), answered, ("local",))))


async def _numbers(shared: Shared, now_ms: int, names: Names, queue: QueueNow, counts: Counts) -> Numbers:
    lives, midnight_ms = shared.lives, day_begins_ms(now_ms, shared.zone)
    month_ms, open_since_ms = midnight_ms - MONTH_MS, now_ms - ms(shared.settings.session.idle)
    people = chain(names.people.by_id, names.people.allowed, [names.people.owner_id], lives.people)
    money = await read_money(shared.redis, filter(None, people), now_ms, shared.zone)
    if lives.unpriced_ms >= month_ms:
        money = replace(money, has_unpriced=True)
    conversations = conversations_in(
        lives.talks_since(min(midnight_ms, open_since_ms)),
        lives.talk_of_lane,
        day_begins_ms=midnight_ms,
        open_since_ms=open_since_ms,
    )
    dead, lost = await shared.redis.zcard(keys.dead()), lives.lost_since(midnight_ms)
    return numbers_of(counts, queue, conversations, money, dead=dead, lost=lost)


def lanes_of(shared: Shared, queue: QueueNow) -> tuple[LaneRow, ...]:
    """Of each chat that is busy or was answered last: its newest turns."""
    busy = {one.lane for one in queue.inbox}
    rows: dict[str, list[Row]] = {}
    last_ms: dict[str, int] = {}
    for row in islice(shared.lives.newest_first(), 2000):
        if len(last_ms) < LANES_SHOWN:
            last_ms.setdefault(row.lane, row.ended_ms)
        if (row.lane in busy or row.lane in last_ms) and len(
            found := rows.setdefault(row.lane, [])
        ) < DONE_SHOWN:
            found.append(row)
    return lane_rows(queue, {lane: blocks_of(found) for lane, found in rows.items()}, last_ms)


def blocks_of(newest_first: Sequence[Row]) -> tuple[Block, ...]:
    """In the order in which they ended."""
    return tuple(
        Block(tone_of(state), state, row.id, row.ended_ms - row.received_ms)
        for row in reversed(newest_first)
        for state in [state_of(row)]
    )
