"""Rules of reminders (RFC 5545) in words, as far as they are simple. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import cast

from babel import Locale
from babel.dates import format_date

from dashboard.texts import say, say_n, spoken

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
KNOWN = frozenset({"FREQ", "INTERVAL", "BYDAY", "COUNT", "UNTIL", "WKST"})


def rule_words(rule: str, language: str) -> str:
    """ "FREQ=WEEKLY;BYDAY=MO,TH" → "every week on Mon, Thu"; "" for once; a rule that says more stays as it is."""
    if not rule:
        return ""
    parts = dict(part.split("=", 1) for part in rule.split(";") if "=" in part)
    days = [day for day in parts.get("BYDAY", "").split(",") if day]
    interval = parts.get("INTERVAL", "1")
    every = _every(parts.get("FREQ", ""), int(interval) if interval.isdecimal() else 0, language)
    if not every or parts.keys() - KNOWN or any(day not in DAYS for day in days):
        return rule
    return " ".join(filter(None, (every, _on(days, language), _end(parts, language))))


def _every(freq: str, n: int, language: str) -> str:
    if n < 1:
        return ""
    return {
        "HOURLY": say_n(language, "every hour", "every {n} hours", n),
        "DAILY": say_n(language, "every day", "every {n} days", n),
        "WEEKLY": say_n(language, "every week", "every {n} weeks", n),
        "MONTHLY": say_n(language, "every month", "every {n} months", n),
        "YEARLY": say_n(language, "every year", "every {n} years", n),
    }.get(freq, "")


def _on(days: Sequence[str], language: str) -> str:
    if not days:
        return ""
    names = cast("Mapping[int, str]", Locale.parse(spoken(language)).days["stand-alone"]["abbreviated"])
    return say(language, "on {days}", days=", ".join(names[DAYS.index(day)] for day in days))


def _end(parts: Mapping[str, str], language: str) -> str:
    if (count := parts.get("COUNT", "")).isdecimal():
        return say_n(language, "({n} time)", "({n} times)", int(count))
    until = parts.get("UNTIL", "")[:8]
    if len(until) < 8 or not until.isdecimal():
        return ""
    try:
        last = date(int(until[:4]), int(until[4:6]), int(until[6:]))
    except ValueError:
        return ""
    return say(language, "until {day}", day=format_date(last, "d MMM y", locale=spoken(language)))
