"""The numbers on top of Now, each with its definition, and the one sentence. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from dashboard.counts import Counts, Money
from dashboard.lives import Row, Talk, add_exchange
from dashboard.queue import QueueNow
from infra.pause import EVERYTHING

LATELY_MS = 15 * 60_000
"""What went wrong longer ago says nothing of now."""
LATEST = 10
"""Answers that the sentence speaks of."""
DEAD_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class Conversations:
    """Those that had an exchange today."""

    count: int = 0
    exchanges: float | None = None
    """On average, each from its beginning; None: there was none."""
    exchanges_p90: int | None = None
    open: int = 0
    """Of all chats: last exchange not longer ago than a conversation lasts, and none newer in its chat."""
    cost_microusd: float | None = None
    """On average; None: of none is the cost known."""
    unpriced: int = 0
    """Conversations in which a call has no known price; they are not in the average."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything that the tiles show. None: not known."""

    waiting: int
    oldest_ms: int | None
    running: int
    slots: int | None
    failed_today: int
    dead: int
    """Dead letters that nobody has decided on."""
    retries_today: int
    answered_today: int
    lost_today: int
    conversations: Conversations
    cost_today: int | None
    cost_month: int | None
    unpriced_today: int
    fallback_today: float | None
    fallback_week: float | None


type Health = Literal[
    "no_worker", "paused", "failing", "stuck", "degraded", "some_paused", "lost", "quiet", "well"
]


@dataclass(frozen=True, slots=True)
class Condition:
    """What the one sentence says; the worst thing counts."""

    health: Health
    model: str = ""
    """degraded: that does not answer."""
    instead: str = ""
    """degraded: who does."""
    outcome: str = ""
    """degraded, failing: why, schemas.call.CallRecord.outcome; "" if nobody knows."""
    n: int = 0
    """degraded: of the latest answers, how many came from others. stuck: chats. some_paused: bots."""
    of: int = 0
    since_ms: int = 0
    """paused."""

    @property
    def tone(self) -> str:
        """Its colour: red only when somebody must do something."""
        return {
            "no_worker": "failed", "failing": "failed", "stuck": "failed", "lost": "failed", "degraded": "fallback",
            "paused": "waiting", "some_paused": "waiting", "quiet": "waiting", "well": "answered",
        }[self.health]  # fmt: skip


def numbers_of(
    counts: Counts, queue: QueueNow, conversations: Conversations, money: Money, *, dead: int, lost: int
) -> Numbers:
    """lost: parts of replies that were given up today."""
    today, week = counts.today, counts.week
    return Numbers(
        waiting=queue.waiting,
        oldest_ms=queue.oldest_ms,
        running=queue.running,
        slots=queue.slots,
        failed_today=today["failed"],
        dead=dead,
        retries_today=today["retries"],
        answered_today=today["answered"],
        lost_today=lost,
        conversations=conversations,
        cost_today=None if not money.today and money.unpriced else money.today,
        cost_month=None if not money.month and money.has_unpriced else money.month,
        unpriced_today=money.unpriced,
        fallback_today=share(today["fallback"], today["answered"]),
        fallback_week=share(week["fallback"], week["answered"]),
    )


def share(part: int, whole: int) -> float | None:
    """0…1; None of nothing."""
    return part / whole if whole else None


def conversations_of(rows: Iterable[Row], *, day_begins_ms: int, now_ms: int, idle_ms: int) -> Conversations:
    """rows: newest first; they must reach back to where conversations of today began."""
    talks: dict[str, Talk] = {}
    newest_of_lane: dict[str, str] = {}
    for row in reversed([row for row in rows if row.exchange]):
        newest_of_lane[row.lane] = row.session_id
        add_exchange(talks, row)
    return conversations_in(
        tuple(talks.values()), newest_of_lane, day_begins_ms=day_begins_ms, open_since_ms=now_ms - idle_ms
    )


def conversations_in(
    talks: Sequence[Talk], newest_of_lane: Mapping[str, str], *, day_begins_ms: int, open_since_ms: int
) -> Conversations:
    """talks: with an exchange since midnight, or since `open_since_ms`. newest_of_lane: lane → its newest conversation."""
    today = [one for one in talks if one.ended_ms >= day_begins_ms]
    is_open = (one.ended_ms >= open_since_ms and newest_of_lane.get(one.lane) == one.id for one in talks)
    known = [one.cost_microusd for one in today if one.cost_microusd is not None]
    sizes = sorted(one.exchanges for one in today)
    return Conversations(
        count=len(today),
        exchanges=sum(sizes) / len(sizes) if sizes else None,
        exchanges_p90=percentile(sizes, 0.9),
        open=sum(is_open),
        cost_microusd=sum(known) / len(known) if known else None,
        unpriced=len(today) - len(known),
    )


def percentile(ordered: Sequence[int], share_below: float) -> int | None:
    """The smallest value that at least this share does not exceed; None of nothing."""
    return ordered[max(0, ceil(share_below * len(ordered)) - 1)] if ordered else None


def condition_of(numbers: Numbers, queue: QueueNow, latest: Sequence[Row], now_ms: int) -> Condition:
    """latest: turns of models and those that failed, newest first."""
    since_ms, bots = queue.paused.since_ms.get(EVERYTHING), len(queue.paused.since_ms)
    lately = [row for row in latest if now_ms - row.ended_ms <= LATELY_MS]
    if not queue.workers:
        return Condition("no_worker", n=queue.waiting)
    if since_ms is not None:
        return Condition("paused", since_ms=since_ms, n=queue.waiting)
    if len(lately) >= DEAD_IN_A_ROW and all(row.state == "dead" for row in lately[:DEAD_IN_A_ROW]):
        return Condition(
            "failing", outcome=_last_outcome(lately[0]), n=sum(row.state == "dead" for row in lately)
        )
    if stuck := queue.stuck:
        return Condition("stuck", n=len(stuck))
    if numbers.lost_today:
        return Condition("lost", n=numbers.lost_today)
    return _degraded(lately[:LATEST]) or _calm(numbers, bots)


def _calm(numbers: Numbers, paused_bots: int) -> Condition:
    if paused_bots:
        return Condition("some_paused", n=paused_bots)
    return Condition("well" if numbers.answered_today else "quiet")


def _degraded(latest: Sequence[Row]) -> Condition | None:
    """Another model answers, and the last word of the first one was a failure."""
    answered = [row for row in latest if row.state == "answered"]
    others = [row for row in answered if row.fell_back]
    if not others or answered[0] is not others[0]:  # the newest answer came from where it was asked
        return None
    row = others[0]
    return Condition("degraded", row.asked, row.model, _why_not(row), len(others), len(answered))


def _why_not(row: Row) -> str:
    """How the first choice failed; "" if it was not even asked: it had failed just before."""
    life = row.life()
    failed = (one.outcome for one in life.attempts if one.model == life.asked and one.model != life.model)
    return next(failed, "")


def _last_outcome(row: Row) -> str:
    attempts = row.life().attempts
    return attempts[-1].outcome if attempts else ""


def chart_of(counts: Counts, labels: Mapping[str, str]) -> dict[str, object]:
    """Messages per minute, as widgets.chart takes it."""
    first_s = counts.first_minute_ms // 1000
    return {
        "x": [first_s + 60 * nth for nth in range(len(counts.minutes.get("answered", ())))],
        "series": [
            {
                "label": label,
                "tone": what,
                "values": list(counts.minutes.get(what, ())),
                "fill": what == "answered",
            }
            for what, label in labels.items()
        ],
    }
