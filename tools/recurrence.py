"""When a recurring thing occurs: in wall time, each occurrence then turned into UTC (tools.times.at_ms). Pure.

Daily 08:00 is 08:00 on every day of the year, whatever the zone's clock does in between. In a gap the same wall time is
moved forward by the gap (02:30 → 03:30; the day after it is 02:30 again); in an overlap it is the first. So a day has one
occurrence, also the two days on which the clock changes.

dateutil's rrule is not used: it looks for a date that never comes until the year 9999 (seconds of CPU for
FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30), and it counts from the first occurrence each time. The tests compare with it.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import count as numbers
from itertools import takewhile
from zoneinfo import ZoneInfo

from tools.rule import Freq, Rule, read_rule
from tools.times import at_ms, local_at
from tools.tool import Refused

HORIZON = timedelta(days=28 * 365 + 7)
"""How far ahead an occurrence is looked for: after 28 years weekdays and leap days fall on the same dates again, so that
what does not occur by then never does, or so rarely that nobody waits for it. It bounds the days looked at to 10,227, whatever
a rule says; with COUNT, which must be counted, to those since the first occurrence too.
"""
DAY = timedelta(days=1)

type Looked = Callable[[], None]
"""Called for each day that is looked at, so that a test can count them."""


def next_occurrence(
    first_local: datetime, rrule: str, zone: ZoneInfo, after_local: datetime
) -> datetime | None:
    """The first occurrence after `after_local`, in naive wall time; None: there is none within HORIZON.

    first_local: what the rule counts from; an occurrence only if it fits the rule. zone: UNTIL may be in UTC.

    Raises: Refused: no rule.
    """
    found = occurrences(first_local, read_rule(rrule), zone, after_local)
    return next((local for local in found if local > after_local), None)


def next_firing(first: datetime, rrule: str, zone: ZoneInfo, after_ms: int) -> tuple[datetime, int] | None:
    """The first occurrence after a moment: its wall time, and when that is. Raises: Refused: no rule."""
    return next(_firings(first, rrule, zone, after_ms), None)


def firings_between(first: datetime, rrule: str, zone: ZoneInfo, after_ms: int, until_ms: int) -> int:
    """How many moments after the one and up to the other; two wall times that a gap moves onto each other are one.

    Raises: Refused: no rule.
    """
    times = (ms for _, ms in _firings(first, rrule, zone, after_ms))
    return len(set(takewhile(lambda ms: ms <= until_ms, times)))


def between(
    first: datetime, rrule: str, zone: ZoneInfo, start: datetime, end: datetime
) -> Iterator[datetime]:
    """The occurrences from `start` and before `end`, in wall time. Raises: Refused: no rule."""
    for local in occurrences(first, read_rule(rrule), zone, start):
        if local >= end:
            return
        if local >= start:
            yield local


def first_of(first: datetime, rrule: str, zone: ZoneInfo) -> datetime:
    """The first occurrence, which may be later than what was said: "weekly on Monday", said on a Wednesday. Everything
    that follows is the same if the rule counts from it.

    Raises: Refused: no rule, or nothing fits it.
    """
    found = next(occurrences(first, read_rule(rrule), zone, first), None)
    if found is None:
        raise Refused(f"The rrule {rrule} never occurs after {first.isoformat(timespec='minutes')}.")
    return found


def _firings(first: datetime, rrule: str, zone: ZoneInfo, after_ms: int) -> Iterator[tuple[datetime, int]]:
    """A gap or an overlap moves an occurrence by less than the day that is added here."""
    for local in occurrences(first, read_rule(rrule), zone, local_at(after_ms, zone) - DAY):
        ms = at_ms(local, zone)
        if ms > after_ms:
            yield local, ms


def occurrences(
    first: datetime, rule: Rule, zone: ZoneInfo, since: datetime, looked: Looked = lambda: None
) -> Iterator[datetime]:
    """In order: all from about `since` (some before it may come too), until HORIZON after it."""
    until, limit = _until(rule, zone), max(first, since) + HORIZON
    number = 0
    for period in _periods(rule, first, first if rule.count else max(first, since)):
        if period[0] > limit.date():
            return
        for local in _fitting(rule, first, period, looked):
            if local < first:
                continue
            number += 1
            if (until is not None and local > until) or (rule.count is not None and number > rule.count):
                return
            yield local


def _until(rule: Rule, zone: ZoneInfo) -> datetime | None:
    if rule.until is None or not rule.until_utc:
        return rule.until
    try:
        return rule.until.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None, fold=0)
    except OverflowError:  # "for ever": at the edge of what a calendar can say, no zone matters
        return rule.until


# ── periods: a week, month or year each ──────────────────────────────────────────────────────────────────────────
type Period = tuple[date, date]
"""Its first day, and the first one after it."""


def _periods(rule: Rule, first: datetime, since: datetime) -> Iterator[Period]:
    """Every INTERVALth one counted from that of `first`, beginning with the last that is not after `since`. Days and hours
    are gone through month by month, all months, so that those without any are passed over at once.
    """
    freq: Freq = "MONTHLY" if rule.freq in {"DAILY", "HOURLY"} else rule.freq
    step = rule.interval if freq == rule.freq else 1
    origin = _number(freq, first.date(), rule.week_start)
    ahead = _number(freq, since.date(), rule.week_start) - origin
    for number in numbers(origin + ahead // step * step, step):
        yield _day(freq, number, rule.week_start), _day(freq, number + 1, rule.week_start)


def _number(freq: Freq, day: date, week_start: int) -> int:
    """Periods of one kind are numbered without a gap."""
    match freq:
        case "YEARLY":
            return day.year
        case "WEEKLY":
            return (day.toordinal() - 1 - week_start) // 7  # day 1 was a Monday
        case _:
            return day.year * 12 + day.month - 1


def _day(freq: Freq, number: int, week_start: int) -> date:
    """The first of a period."""
    match freq:
        case "YEARLY":
            return date(number, 1, 1)
        case "WEEKLY":
            return date.fromordinal(number * 7 + 1 + week_start)
        case _:
            return date(number // 12, number % 12 + 1, 1)


# ── what fits within one ─────────────────────────────────────────────────────────────────────────────────────────
def _fitting(rule: Rule, first: datetime, period: Period, looked: Looked) -> Iterator[datetime]:
    days = _days(rule, first, period, looked)
    times = (datetime.combine(day, at) for day in days for at in _times(rule, first, day))
    if not rule.places:
        yield from times
        return
    found = list(times)
    places = {place - 1 if place > 0 else len(found) + place for place in rule.places}
    yield from (found[place] for place in sorted(places) if 0 <= place < len(found))


def _days(rule: Rule, first: datetime, period: Period, looked: Looked) -> Iterator[date]:
    """What the rule leaves open is as in `first`."""
    free = not rule.week_days and not rule.month_days
    months = rule.months or (frozenset({first.month}) if free and rule.freq == "YEARLY" else frozenset[int]())
    month_days = rule.month_days
    if free and rule.freq in {"MONTHLY", "YEARLY"}:
        month_days = frozenset({first.day})
    week_days = rule.week_days
    if free and rule.freq == "WEEKLY":
        week_days = frozenset({(0, first.weekday())})
    by_month = rule.freq == "MONTHLY" or bool(rule.months)
    day, end = period
    step = DAY * rule.interval if rule.freq == "DAILY" else DAY
    day += (first.date() - day) % step
    while day < end:
        looked()
        if months and day.month not in months:
            month = _next_month(day)
            day = month + (first.date() - month) % step
            continue
        if _is_month_day(day, month_days) and _is_week_day(day, week_days, by_month=by_month):
            yield day
        day += step


def _next_month(day: date) -> date:
    return _day("MONTHLY", _number("MONTHLY", day, 0) + 1, 0)


def _is_month_day(day: date, month_days: frozenset[int]) -> bool:
    if not month_days or day.day in month_days:
        return True
    if min(month_days) > 0:
        return False
    return day.day - 1 - (_next_month(day) - DAY).day in month_days


def _is_week_day(day: date, week_days: frozenset[tuple[int, int]], *, by_month: bool) -> bool:
    """by_month: numbers count within the month, else within the year."""
    weekday = day.weekday()
    if not week_days or (0, weekday) in week_days:
        return True
    asked = [nth for nth, wanted in week_days if wanted == weekday]
    if not asked:
        return False
    begin = day.replace(day=1) if by_month else day.replace(month=1, day=1)
    end = _next_month(day) if by_month else date(day.year + 1, 1, 1)
    return (day - begin).days // 7 + 1 in asked or -((end - DAY - day).days // 7) - 1 in asked


def _times(rule: Rule, first: datetime, day: date) -> Iterator[time]:
    minute = first.minute if rule.minute is None else rule.minute
    hours = rule.hours or (range(24) if rule.freq == "HOURLY" else (first.hour,))
    for hour in hours:
        since_first = (day - first.date()).days * 24 + hour - first.hour
        if rule.freq != "HOURLY" or since_first % rule.interval == 0:
            yield time(hour, minute, first.second)
