"""Limits against floods: how many messages of one person are read in a minute and in an hour.

Counted in this process only, without Redis: a person who writes to bots of two processes has the limits twice, and a
restart begins to count anew. Minutes and hours are those of the clock, by when a message was sent: around the end of one,
twice as many may be read. What waited with Telegram for an hour or more (koi was off) is no flood and not counted.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from bot import notice
from bot.texts import say_n
from infra.effect import Push
from infra.settings_sections import TelegramSettings
from schemas.inbound import InboundMessage

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
ALWAYS_READ = frozenset({"stop", "forget"})
"""Commands that nobody has to wait for."""


@dataclass(frozen=True, slots=True)
class Over:
    """One message too many."""

    period: Literal["minute", "hour"]
    limit: int
    ends_ms: int
    """When messages are read again, by Telegram's clock."""


@dataclass(slots=True)
class _Counted:
    """What one person sent in an hour."""

    read: set[str] = field(default_factory=set[str])
    """Messages, and albums, which are one each: whatever is delivered twice is counted once."""
    minutes: Counter[int] = field(default_factory=Counter[int])


class Floods:
    """The counters of everybody."""

    def __init__(self, limits: TelegramSettings) -> None:
        self._per_minute = limits.person_messages_per_minute
        self._per_hour = limits.person_messages_per_hour
        self._hours: dict[int, dict[str, _Counted]] = {}

    def over(self, message: InboundMessage, now_ms: int) -> Over | None:
        """None: it may be read, and is counted. The same message always gets the same answer.

        now_ms: by Telegram's clock.
        """
        sent_ms = min(message.sent_at_ms, now_ms)
        if message.command in ALWAYS_READ or now_ms - sent_ms >= HOUR_MS:
            return None
        hour, minute = sent_ms // HOUR_MS, sent_ms // MINUTE_MS
        counted = self._of(hour, now_ms // HOUR_MS).setdefault(message.user_id, _Counted())
        item = message.album or message.id
        if item in counted.read:
            return None
        if len(counted.read) >= self._per_hour:
            return Over("hour", self._per_hour, (hour + 1) * HOUR_MS)
        if counted.minutes[minute] >= self._per_minute:
            return Over("minute", self._per_minute, (minute + 1) * MINUTE_MS)
        counted.read.add(item)
        counted.minutes[minute] += 1
        return None

    def _of(self, hour: int, this_hour: int) -> dict[str, _Counted]:
        """The counters of one hour; those of hours that are no longer counted go."""
        if hour not in self._hours:
            kept: Iterable[int] = (this_hour - 1, this_hour)
            self._hours = {one: self._hours[one] for one in kept if one in self._hours}
            self._hours[hour] = {}
        return self._hours[hour]


def flood_line(message: InboundMessage, over: Over, *, now_ms: int) -> Push:
    """Once per chat and period: it has the same id until messages are read again."""
    if over.period == "minute":
        text = say_n(
            message.language,
            "That was quick! I read at most {n} message a minute. What you sent beyond that I have not read: please send it "
            "again in a minute.",
            "That was quick! I read at most {n} messages a minute. What you sent beyond that I have not read: please send it "
            "again in a minute.",
            over.limit,
        )
    else:
        text = say_n(
            message.language,
            "That was a lot! I read at most {n} message an hour. What you sent beyond that I have not read: please send it "
            "again in {minutes} min.",
            "That was a lot! I read at most {n} messages an hour. What you sent beyond that I have not read: please send it "
            "again in {minutes} min.",
            over.limit,
            minutes=max(1, -(-(over.ends_ms - now_ms) // 60_000)),
        )
    once_id = f"{message.bot_id}:{message.chat_id}:flood:{message.user_id}:{over.period}:{over.ends_ms}"
    return notice.answer(message, once_id, text)
