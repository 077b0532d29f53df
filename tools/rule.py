"""A recurrence rule (RFC 5545, 3.3.10) as a value, and how it is read from what a model wrote. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal, Never, get_args

from tools.tool import Refused

type Freq = Literal["HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MOST_CHARS = 300
MOST_TIMES = 1_000
"""COUNT and INTERVAL."""
_KNOWN = (
    "FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYHOUR", "BYMINUTE", "BYSETPOS", "WKST",
)  # fmt: skip
_BY_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_UNTIL = re.compile(r"(\d{8})(?:T(\d{6})(Z)?)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rule:
    """What is left out is empty, as in the text."""

    freq: Freq
    interval: int = 1
    count: int | None = None
    until: datetime | None = None
    """Naive, the last moment; in UTC if `until_utc`."""
    until_utc: bool = False
    months: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    """Negative ones count from the end."""
    week_days: frozenset[tuple[int, int]] = frozenset()
    """Which one of its month or year (0: each), and the weekday (0: Monday)."""
    hours: tuple[int, ...] = ()
    """In order."""
    minute: int | None = None
    places: tuple[int, ...] = ()
    """BYSETPOS."""
    week_start: int = 0


@lru_cache(maxsize=512)
def read_rule(text: str) -> Rule:
    """ "FREQ=WEEKLY;BYDAY=MO,TH"; case and a leading "RRULE:" do not matter. At most hourly.

    Raises: Refused.
    """
    if len(text) > MOST_CHARS:
        raise Refused(f"The rrule has {len(text)} characters; at most {MOST_CHARS} are allowed.")
    parts = _parts(text.strip().upper().removeprefix("RRULE:"))
    freq = _freq(parts)
    rule = Rule(
        freq=freq,
        interval=_one(parts, "INTERVAL", 1, MOST_TIMES) or 1,
        count=_one(parts, "COUNT", 1, MOST_TIMES),
        until=_until(parts.get("UNTIL", "")),
        until_utc=parts.get("UNTIL", "").endswith("Z"),
        months=frozenset(_numbers(parts, "BYMONTH", 1, 12)),
        month_days=frozenset(_numbers(parts, "BYMONTHDAY", -31, 31)),
        week_days=frozenset(_week_days(parts.get("BYDAY", ""))),
        hours=_numbers(parts, "BYHOUR", 0, 23),
        minute=_one(parts, "BYMINUTE", 0, 59),
        places=_numbers(parts, "BYSETPOS", -366, 366),
        week_start=_week_start(parts),
    )
    _check(rule)
    return rule


def canonical(text: str) -> str:
    """As things keep it. Raises: Refused."""
    read_rule(text)
    return text.strip().upper().removeprefix("RRULE:")


def _parts(text: str) -> Mapping[str, str]:
    parts: dict[str, str] = {}
    for part in text.rstrip(";").split(";"):
        name, _, value = part.partition("=")
        if not value or name not in _KNOWN:
            raise Refused(f"The rrule has {part[:40]!r}; it may have {', '.join(_KNOWN)}, each with a value.")
        if name in parts:
            raise Refused(f"The rrule has {name} twice.")
        parts[name] = value
    return parts


def _freq(parts: Mapping[str, str]) -> Freq:
    freq = parts.get("FREQ", "")
    if freq in {"SECONDLY", "MINUTELY"}:
        raise Refused(f"FREQ={freq} is too often; at most HOURLY is possible.")
    for known in get_args(Freq.__value__):
        if known == freq:
            return known
    raise Refused("The rrule must have FREQ=HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY.")


def _numbers(parts: Mapping[str, str], name: str, least: int, most: int) -> tuple[int, ...]:
    """In order, each once; 0 only where it is the least."""
    found: set[int] = set()
    for word in parts.get(name, "").split(",") if name in parts else ():
        number = int(word) if _NUMBER.fullmatch(word) else most + 1
        if not least <= number <= most or (number == 0 and least < 0):
            raise Refused(
                f"The rrule has {name}={word[:20]}; it must be {least} to {most}{', not 0' * (least < 0)}."
            )
        found.add(number)
    return tuple(sorted(found))


def _one(parts: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    numbers = _numbers(parts, name, least, most)
    if len(numbers) > 1:
        raise Refused(f"The rrule has several values of {name}; more often than hourly is not possible.")
    return numbers[0] if numbers else None


def _week_days(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for word in text.split(",") if text else ():
        shape = _BY_DAY.fullmatch(word)
        nth = int(shape[1] or 0) if shape else 0
        if shape is None or (shape[1] and nth == 0) or abs(nth) > 53:
            raise Refused(f"The rrule has BYDAY={word[:20]}; write MO,TH or 1MO or -1FR.")
        found.append((nth, WEEKDAYS.index(shape[2])))
    return found


def _week_start(parts: Mapping[str, str]) -> int:
    day = parts.get("WKST", "MO")
    if day not in WEEKDAYS:
        raise Refused(f"The rrule has WKST={day[:20]}; it must be one of {', '.join(WEEKDAYS)}.")
    return WEEKDAYS.index(day)


def _until(text: str) -> datetime | None:
    """A date means its end."""
    if not text:
        return None
    shape = _UNTIL.fullmatch(text)
    try:
        return datetime.fromisoformat(f"{shape[1]}T{shape[2] or '235959'}") if shape else _no_until(text)
    except ValueError:
        return _no_until(text)


def _no_until(text: str) -> Never:
    raise Refused(f"The rrule has UNTIL={text[:20]}; write UNTIL=20271231 or UNTIL=20271231T080000.")


_WRONG: tuple[tuple[Callable[[Rule], bool], str], ...] = (
    (lambda r: r.count is not None and r.until is not None, "COUNT and UNTIL exclude each other"),
    (
        lambda r: any(nth for nth, _ in r.week_days) and r.freq not in {"MONTHLY", "YEARLY"},
        "BYDAY with a number needs FREQ=MONTHLY or YEARLY",
    ),
    (lambda r: bool(r.month_days) and r.freq == "WEEKLY", "BYMONTHDAY does not go with FREQ=WEEKLY"),
    (
        lambda r: bool(r.places) and r.freq in {"DAILY", "HOURLY"},
        "BYSETPOS needs FREQ=WEEKLY, MONTHLY or YEARLY",
    ),
    (
        lambda r: bool(r.places) and not (r.week_days or r.month_days or r.months or r.hours),
        "BYSETPOS needs another part that begins with BY",
    ),
)


def _check(rule: Rule) -> None:
    for is_wrong, sentence in _WRONG:
        if is_wrong(rule):
            raise Refused(f"The rrule cannot be: {sentence}.")
