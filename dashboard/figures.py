"""Numbers, spans and times as the pages write them. Pure."""

from datetime import UTC, datetime, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

from babel.dates import LOCALTZ, format_datetime
from babel.numbers import format_currency, format_decimal, format_percent

from dashboard.texts import say, spoken
from infra.settings_sections import MoneySettings

SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1000, 60_000, 3_600_000, 86_400_000
MICRO = 1_000_000
SIGNIFICANT_DIGITS = 2
UNKNOWN = "–"
KEPT = 4096
"""Texts of each kind: the same few come again on every page, and Babel takes 10 to 50 µs for one."""


def zone_of(name: str) -> tzinfo:
    """IANA name → zone; "" is the machine's.

    Raises: ZoneInfoNotFoundError.
    """
    return ZoneInfo(name) if name else LOCALTZ


@lru_cache(KEPT)
def span_text(duration_ms: float, language: str) -> str:
    """Two figures at most: "85 ms", "1.5 s", "42 s", "3 min", "5 h", "2 d"."""
    took = max(0, round(duration_ms))
    if took < SECOND_MS:
        return say(language, "{n} ms", n=took)
    if took < 10 * SECOND_MS:
        return say(language, "{n} s", n=format_decimal(round(took / SECOND_MS, 1), locale=spoken(language)))
    if took < 2 * MINUTE_MS:
        return say(language, "{n} s", n=took // SECOND_MS)
    if took < 2 * HOUR_MS:
        return say(language, "{n} min", n=took // MINUTE_MS)
    if took < 2 * DAY_MS:
        return say(language, "{n} h", n=took // HOUR_MS)
    return say(language, "{n} d", n=took // DAY_MS)


def ago_text(at_ms: int, now_ms: int, language: str) -> str:
    """ "just now", "3 min ago", "in 2 h"."""
    passed = now_ms - at_ms
    if abs(passed) < 10 * SECOND_MS:
        return say(language, "just now")
    if passed < 0:
        return say(language, "in {span}", span=span_text(-passed, language))
    return say(language, "{span} ago", span=span_text(passed, language))


def local(at_ms: int, zone: tzinfo) -> datetime:
    """A stamp in the zone of the house."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone)


def clock_text(at_ms: int, zone: tzinfo) -> str:
    """ "12:03"."""
    return f"{local(at_ms, zone):%H:%M}"


@lru_cache(KEPT)
def moment_text(at_ms: int, zone: tzinfo, language: str) -> str:
    """Absolute, to the second: "30 Nov 2026, 14:23:05"."""
    return format_datetime(local(at_ms, zone), say(language, "d MMM y, HH:mm:ss"), locale=spoken(language))


def money_text(microusd: float | None, money: MoneySettings, language: str) -> str:
    """In the money of the house, two figures below 1: "€0.0031", "$3.80"; unknown is "–", never 0."""
    return UNKNOWN if microusd is None else _money(microusd, money.currency, money.rate, language)


@lru_cache(KEPT)
def _money(microusd: float, currency: str, rate: float, language: str) -> str:
    amount = Decimal(str(microusd)) * Decimal(str(rate)) / MICRO
    if 0 < amount < 1:
        amount = amount.quantize(Decimal(1).scaleb(amount.adjusted() - SIGNIFICANT_DIGITS + 1), ROUND_HALF_UP)
        if amount.adjusted() <= -SIGNIFICANT_DIGITS:  # else cents say both, and nothing is rounded twice
            return format_currency(amount, currency, locale=spoken(language), decimal_quantization=False)
    return format_currency(amount, currency, locale=spoken(language))


@lru_cache(KEPT)
def number_text(number: float | None, language: str, digits: int = 0) -> str:
    """Grouped as the language does: "12,400", "4.2"; None is "–"."""
    return UNKNOWN if number is None else format_decimal(round(number, digits), locale=spoken(language))


@lru_cache(KEPT)
def share_text(share: float | None, language: str) -> str:
    """0.104 → "10%"; below a tenth one digit more: "3.4%"; None is "–"."""
    if share is None:
        return UNKNOWN
    pattern = "0.#%" if 0 < share < 0.1 else "0%"
    text = format_percent(share, pattern, locale=spoken(language))
    return text if spoken(language) == "en" else text.replace("%", " %")
