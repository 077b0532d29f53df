"""How models stand: what their calls of the last day said, quarter by quarter, and whether the breaker lets them be asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard.calls import SLOT_MS, ModelAt, Slot, Standing
from dashboard.shared import Shared
from infra import keys
from infra.together import checked, together

SHOWN_SLOTS = 96
"""A day."""
TONES: Mapping[Standing, str] = {"up": "answered", "throttled": "fallback", "down": "failed"}
ORDER: tuple[Standing, ...] = ("down", "throttled", "up")
"""The worst first: it is what a quarter is shown as."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of a strip: one quarter of an hour with failures, or several that went well."""

    standing: Standing
    from_ms: int
    to_ms: int
    left: float
    """Where it begins, in percent of the strip."""
    width: float
    worked: int = 0
    failed: int = 0
    turn_id: str = ""
    """Of the newest failure; "" if there was none."""
    outcome: str = ""
    detail: str = ""

    @property
    def tone(self) -> str:
        """Its colour."""
        return TONES[self.standing]


@dataclass(frozen=True, slots=True)
class Breaker:
    """Whether a model is asked. Times: ms of Redis' clock."""

    since_ms: int = 0
    """When it was opened; 0: it is closed, the model is asked as usual."""
    until_ms: int = 0
    """Until when nobody asks it; then one message at a time tries."""
    why: str = ""
    asked: bool = False
    """The service itself asked for that wait."""
    failures: int = 0
    """closed: without a success between them, within three minutes."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One model."""

    service: str
    model: str
    marks: tuple[Mark, ...]
    counts: Mapping[Standing, int]
    """Calls of the time shown."""
    breaker: Breaker
    redis_ms: int
    """Now, by Redis' clock."""


async def read_strips(
    shared: Shared, slots: Mapping[ModelAt, Mapping[int, Slot]], now_ms: int
) -> Sequence[Strip]:
    """Of the models that were asked within the last day, or are not asked now. One round trip.

    Raises what redis-py raises.
    """
    first = now_ms // SLOT_MS - SHOWN_SLOTS + 1
    asked = [
        command
        for service, model in slots
        for command in (
            ("HGETALL", keys.breaker_open(service, model)), ("GET", keys.breaker_failures(service, model)),
        )
    ]  # fmt: skip
    (seconds, micros), *found = checked(await together(shared.redis).run(("TIME",), *asked))
    redis_ms = int(seconds) * 1000 + int(micros) // 1000
    strips = [
        strip_of(at, slots[at], first, breaker_of(found[2 * nth], found[2 * nth + 1]), redis_ms)
        for nth, at in enumerate(slots)
    ]
    return sorted(
        (strip for strip in strips if strip.marks or strip.breaker.since_ms),
        key=lambda strip: (-sum(strip.counts.values()), strip.model),
    )


def strip_of(at: ModelAt, slots: Mapping[int, Slot], first: int, breaker: Breaker, redis_ms: int) -> Strip:
    """first: the quarter that the strip begins with."""
    shown = [(nth, slots[nth]) for nth in range(first, first + SHOWN_SLOTS) if nth in slots]
    counts: dict[Standing, int] = {
        standing: sum(slot.standings[standing] for _, slot in shown) for standing in ORDER
    }
    return Strip(*at, marks_of(shown, first), counts, breaker, redis_ms)


def marks_of(shown: Iterable[tuple[int, Slot]], first: int) -> tuple[Mark, ...]:
    """shown: quarters in their order; those that follow each other and went well become one mark."""
    marks: list[Mark] = []
    groups = groupby(enumerate(shown), key=lambda one: _group(one[0], *one[1]))
    for _, group in groups:
        quarters = [one for _, one in group]
        (begins, slot), ends = quarters[0], quarters[-1][0] + 1
        worked = sum(one.standings["up"] for _, one in quarters)
        failed = sum(one.standings.total() for _, one in quarters) - worked
        marks.append(
            Mark(
                standing=next(standing for standing in ORDER if slot.standings[standing]),
                from_ms=begins * SLOT_MS, to_ms=ends * SLOT_MS,
                left=round(100 * (begins - first) / SHOWN_SLOTS, 3),
                width=round(100 * (ends - begins) / SHOWN_SLOTS, 3),
                worked=worked, failed=failed, turn_id=slot.turn_id, outcome=slot.outcome, detail=slot.detail,
            )
        )  # fmt: skip
    return tuple(marks)


def _group(nth: int, at: int, slot: Slot) -> tuple[str, int]:
    """The same for quarters that follow each other and went well."""
    return ("failed", at) if slot.turn_id or slot.outcome else ("up", at - nth)


def breaker_of(opened: Mapping[bytes, bytes], failures: bytes | None) -> Breaker:
    """Of its two keys."""
    if b"until" not in opened:
        return Breaker(failures=_whole(failures))
    return Breaker(
        since_ms=_whole(opened.get(b"since")) or 1,
        until_ms=_whole(opened.get(b"until")),
        why=(opened.get(b"why") or b"").decode(),
        asked=opened.get(b"asked") == b"1",
    )


def _whole(raw: bytes | None) -> int:
    try:
        return int(float(raw or 0))
    except ValueError:
        return 0
