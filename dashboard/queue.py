"""What waits and what runs, lane by lane, as it is now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from infra import health, keys
from infra.pause import Paused, due_ms, is_parked, paused_in
from infra.redis_port import RedisPort
from infra.scripts import Script
from infra.together import checked, together

type LaneState = Literal["running", "waiting", "held", "retrying", "paused", "stuck"]
"""held: for further parts of a message. retrying: its last attempt failed, or its worker died. stuck: due, and nobody takes it."""

STUCK_MS = 30_000
"""So long a lane may be due without anybody taking it; a worker looks every second."""
LANES_TOLD = 200
IDS_TOLD = 20

_LOOK = Script(Path(__file__).with_name("queue_look.lua"))


@dataclass(frozen=True, slots=True)
class LaneNow:
    """One side of a lane, with something in it."""

    job_id: str
    state: LaneState
    item_ids: tuple[str, ...]
    """The first of what is in it, oldest first."""
    items: int
    taken: int = 0
    """How many of them, from the front, the turn has taken that is fixed."""
    due_ms: int = 0
    """When it is due, or was; Redis' clock."""
    oldest_ms: int | None = None
    """How long the first one waits that does not run; None: not known."""
    failures: int = 0
    deaths: int = 0
    turn_id: str = ""
    """ "": none is fixed."""
    owner: str = ""
    worker: str = ""
    """Who holds it: "host-pid"."""

    @property
    def lane(self) -> str:
        """`bot:chat:topic`."""
        return self.job_id.partition(":")[2]

    @property
    def side(self) -> str:
        """in: to be answered. out: to be sent. fold: to be summarised."""
        return self.job_id.partition(":")[0]

    @property
    def running(self) -> int:
        """Items that are worked on."""
        return self.taken if self.state == "running" else 0

    @property
    def waiting(self) -> int:
        """Items that are not."""
        return self.items - self.running

    @property
    def has_failed(self) -> bool:
        """An attempt of its turn failed, or nobody takes it."""
        return bool(self.failures or self.deaths or self.state == "stuck")


@dataclass(frozen=True, slots=True)
class QueueNow:
    """All lanes at one moment. Times: Redis' clock, ms."""

    at_ms: int = 0
    lanes: tuple[LaneNow, ...] = ()
    """All that are held, and of each queue the LANES_TOLD that are due first."""
    waiting: int = 0
    """Messages whose turn has not begun, of all lanes."""
    running: int = 0
    """Turns in work."""
    sending: int = 0
    """Replies that are not sent yet."""
    slots: int | None = None
    """Turns that all workers together can have in work; None: no worker says."""
    workers: int = 0
    paused: Paused = field(default_factory=Paused)

    @property
    def inbox(self) -> tuple[LaneNow, ...]:
        """Lanes with messages to answer."""
        return tuple(lane for lane in self.lanes if lane.side == "in")

    @property
    def oldest_ms(self) -> int | None:
        """How long the oldest message waits; None: none does, or nobody knows."""
        return max(
            (one.oldest_ms for one in self.inbox if one.waiting and one.oldest_ms is not None), default=None
        )

    @property
    def stuck(self) -> tuple[LaneNow, ...]:
        """Due for long, and nobody takes them."""
        return tuple(lane for lane in self.lanes if lane.state == "stuck")


async def queue_now(redis: RedisPort, bot_ids: Iterable[str] = ()) -> QueueNow:
    """Two round trips. bot_ids: whose unsent replies are looked at.

    Raises what redis-py raises.
    """
    queues = [keys.inbox_queue(), *(keys.outbox_queue(bot_id) for bot_id in dict.fromkeys(bot_ids))]
    at_ms, sums, found = await _LOOK(redis, queues, [LANES_TOLD, IDS_TOLD])
    since_ms = at_ms - health.ALIVE_MS
    raw_paused, living = checked(
        await together(redis).run(
            ("HGETALL", keys.paused()), ("ZRANGEBYSCORE", keys.alive("worker"), since_ms, "+inf")
        )
    )
    workers = [one.decode() for one in living if not health.is_dead_here(one.decode())]
    paused = paused_in(raw_paused)
    lanes = tuple(lane_of(one, at_ms, paused) for one in found)
    slots = await _slots(redis, workers)
    if slots is not None and sums[0][2] >= slots:  # all hands are full: what is due waits for its turn
        lanes = tuple(replace(one, state="waiting") if one.state == "stuck" else one for one in lanes)
    inbox_items = int(sums[0][1])
    return QueueNow(
        at_ms,
        lanes,
        waiting=max(0, inbox_items - sum(one.running for one in lanes if one.side == "in")),
        running=sum(one.state == "running" for one in lanes if one.side != "out"),
        sending=sum(int(one[1]) for one in sums[1:]),
        slots=slots,
        workers=len(workers),
        paused=paused,
    )


async def _slots(redis: RedisPort, workers: Sequence[str]) -> int | None:
    if not workers:
        return None
    found = await redis.mget([keys.slots(one) for one in workers])
    known = [int(one) for one in found if one is not None and one.isdigit()]
    return sum(known) if known else None


def lane_of(raw: Sequence[Any], now_ms: int, paused: Paused) -> LaneNow:
    """One lane as queue_look.lua tells it."""
    (
        job_id,
        score,
        items,
        token,
        left_ms,
        turn,
        taken,
        failures,
        deaths,
        not_before,
        _hold,
        owner,
        age_ms,
        ids,
    ) = raw
    job = job_id.decode()
    at = float(score)
    attempts = _whole(failures) + _whole(deaths) + (_whole(not_before) > now_ms)
    state = state_of(job, at, now_ms, is_held=left_ms > 0, attempts=attempts, paused=paused)
    return LaneNow(
        job,
        state,
        tuple(one.decode()[2:] for one in ids),
        items,
        taken=taken,
        due_ms=round(due_ms(at)),
        oldest_ms=age_ms if age_ms >= 0 else None,
        failures=_whole(failures),
        deaths=_whole(deaths),
        turn_id=turn.decode(),
        owner=owner.decode(),
        worker=worker_of(token.decode()),
    )


def state_of(
    job_id: str, score: float, now_ms: int, *, is_held: bool, attempts: int, paused: Paused
) -> LaneState:
    """score: in its queue. attempts: that failed or died, or were put off."""
    if is_held:
        return "running"
    bot_id = job_id.split(":")[1]
    if is_parked(score) or (not job_id.startswith("out:") and paused.since(bot_id) is not None):
        return "paused"
    if score > now_ms:
        return "retrying" if attempts else "held"
    if now_ms - score > STUCK_MS:
        return "stuck"
    return "retrying" if attempts else "waiting"


def worker_of(token: str) -> str:
    """ "host-pid" of the token of a lease: `host-pid-hex:number`."""
    return token.rpartition(":")[0].rpartition("-")[0]


def _whole(raw: bytes) -> int:
    try:
        return int(float(raw))
    except ValueError:
        return 0


# ── lanes as blocks ──────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Block:
    """One turn, or one waiting message, of a lane."""

    tone: str
    state: str
    """dashboard.kinds.WORDS."""
    turn_id: str = ""
    """Of a recorded one."""
    took_ms: int = 0


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A chat with its turns in order: what is done, what runs, what waits."""

    lane: str
    blocks: tuple[Block, ...]
    more: int = 0
    """Waiting messages that have no block."""
    now: LaneNow | None = None
    """None: nothing is in it."""
    last_ms: int = 0
    """When its newest turn ended."""

    @property
    def is_stuck(self) -> bool:
        """Due for long, and nobody takes it."""
        return self.now is not None and self.now.state == "stuck"


DONE_SHOWN, WAITING_SHOWN, LANES_SHOWN = 8, 8, 12


def lane_rows(
    queue: QueueNow, done: Mapping[str, Sequence[Block]], last_ms: Mapping[str, int]
) -> tuple[LaneRow, ...]:
    """done: lane → its newest recorded turns, oldest first. last_ms: lane → when the newest ended, newest lane first.

    Stuck lanes first, then what runs and waits, the oldest first, then those that were answered last.
    """
    busy = {one.lane: one for one in queue.inbox}
    order = {"stuck": 0, "retrying": 1, "running": 2, "waiting": 2, "held": 2, "paused": 3}
    first = sorted(busy.values(), key=lambda one: (order[one.state], -(one.oldest_ms or 0)))
    names = list(dict.fromkeys((*(one.lane for one in first), *last_ms)))[:LANES_SHOWN]
    return tuple(_row(name, busy.get(name), done.get(name, ()), last_ms.get(name, 0)) for name in names)


def _row(lane: str, now: LaneNow | None, done: Sequence[Block], last_ms: int) -> LaneRow:
    blocks = list(done[-DONE_SHOWN:])
    waiting = 0
    if now is not None:
        if now.running:
            blocks.append(Block("running", "running"))
        waiting = now.waiting
        state = now.state if now.state in {"paused", "stuck", "retrying"} else "waiting"
        tone = {"stuck": "failed", "retrying": "scheduled"}.get(state, "waiting")
        blocks += [
            Block(tone if nth == 0 else "waiting", state if nth == 0 else "waiting")
            for nth in range(min(waiting, WAITING_SHOWN))
        ]
    return LaneRow(lane, tuple(blocks), max(0, waiting - WAITING_SHOWN), now, last_ms)
