"""Time zones by name, by city, by place. Pure."""

import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from babel import Locale, UnknownLocaleError
from babel.core import get_global

from tools.times import zone_names
from workers.languages import KOI_SPEAKS, two_letters

type Names = Mapping[str, str]
type Zones = Mapping[str, Names]

MOST = 8
"""Zones that are offered."""
LIKELY = {
    "de": ("Europe/Berlin", "Europe/Vienna", "Europe/Zurich"),
    "en": ("Europe/London", "America/New_York", "America/Chicago", "America/Los_Angeles"),
    "es": ("Europe/Madrid", "America/Mexico_City", "America/Bogota", "America/Argentina/Buenos_Aires"),
    "fr": ("Europe/Paris", "Europe/Brussels", "America/Toronto"),
    "pt": ("America/Sao_Paulo", "Europe/Lisbon"),
    "ru": ("Europe/Moscow", "Asia/Yekaterinburg", "Asia/Novosibirsk", "Asia/Almaty"),
}
"""Where most speakers of a language live; of others, the zones of the country that is thought of first."""
LARGE = frozenset(zone for zones in LIKELY.values() for zone in zones)
SAMPLES = tuple(datetime(2026, month, 1, tzinfo=UTC) + timedelta(days=14) for month in range(1, 13))


def found_zone(name: str) -> ZoneInfo | None:
    """The zone of exactly this IANA name; None: there is none."""
    try:
        return ZoneInfo(name) if name in zone_names() else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


@lru_cache(maxsize=8)
def named(zone: tzinfo) -> ZoneInfo:
    """A zone with a name that shows the same times; UTC if there is none.

    The machine's own may have none, where /etc/localtime is a copy and no link.
    """
    if isinstance(zone, ZoneInfo) and zone.key:  # pyright: ignore[reportUnnecessaryComparison] — None, if read from a file
        return zone
    offsets = _offsets(zone)
    names = dict.fromkeys(("UTC", *sorted(LARGE), *(name for name in _all() if "/" in name)))
    return next((same for name in names if _offsets(same := ZoneInfo(name)) == offsets), ZoneInfo("UTC"))


def matching(wanted: str, language: str) -> tuple[str, ...]:
    """Names of the zones that these words mean, at most MOST: an IANA name, else a city as it is called in IANA or in
    `language`, else a country, else the beginning of a city.
    """
    words = _folded(wanted)
    if not words:
        return ()
    exact = next((name for name in _all() if _folded(name) == words), None)
    if exact is not None:
        return (exact,)
    cities = _cities(two_letters(language))
    for found in (
        (name for name, called in cities if words in called),
        _of_country(words, language),
        (name for name, called in cities if any(one.startswith(words) for one in called)),
    ):
        if names := tuple(found):
            return names[:MOST]
    return ()


def likely_zones(language: str, zone: ZoneInfo) -> tuple[str, ...]:
    """`zone` and those that speakers of the language live in, at most MOST."""
    code = two_letters(language)
    guesses = LIKELY.get(code) or _of_speakers(code)
    return tuple(dict.fromkeys((zone.key, *guesses)))[:MOST]


def zone_at(latitude: float, longitude: float) -> str:
    """IANA name of the zone at a place, degrees; "" for none. Slow the first time: not in the event loop."""
    from tzfpy import get_tz  # noqa: PLC0415 — 5 MB and up to half a second, for the rare location

    name = get_tz(longitude, latitude)
    return name if found_zone(name) else ""


@lru_cache(maxsize=1)
def _all() -> tuple[str, ...]:
    """Names of all zones, the canonical ones first."""
    aliases = get_global("zone_aliases")
    return tuple(sorted(available_timezones(), key=lambda name: (name in aliases, name)))


@lru_cache(maxsize=8)
def _cities(language: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Canonical zone → what its city is called, folded: in IANA, its older names included, and in spoken languages."""
    aliases = cast("Mapping[str, str]", get_global("zone_aliases"))
    called: dict[str, set[str]] = {}
    for name in _all():
        if "/" in name:
            called.setdefault(aliases.get(name, name), set()).add(_folded(name.rpartition("/")[2]))
    for spoken_in in _spoken_in(language):
        locale = _locale(spoken_in)
        for name, about in cast("Zones", locale.time_zones).items() if locale else ():
            if name in called and "city" in about:
                called[name].add(_folded(about["city"]))
    return tuple((name, frozenset(names)) for name, names in called.items())


def _of_country(words: str, language: str) -> tuple[str, ...]:
    """Zones of a country by its English name, or its name in `language`: the best known of those that show the same times."""
    for spoken_in in _spoken_in(language):
        locale = _locale(spoken_in)
        for code, name in cast("Names", locale.territories).items() if locale else ():
            if _folded(name) == words:
                return _by_times(get_global("territory_zones").get(code, ()))
    return ()


def _of_speakers(language: str) -> tuple[str, ...]:
    """Zones of the country where a language is mostly spoken."""
    territory = str(get_global("likely_subtags").get(language, "")).rpartition("_")[2]
    return _by_times(get_global("territory_zones").get(territory, ()))


def _by_times(names: Iterable[str]) -> tuple[str, ...]:
    """One of each that show the same times."""
    by_times: dict[tuple[timedelta | None, ...], str] = {}
    for name in sorted(names, key=lambda name: name not in LARGE):
        by_times.setdefault(_offsets(ZoneInfo(name)), name)
    return tuple(by_times.values())


def _spoken_in(language: str) -> tuple[str, ...]:
    """In which languages a place may be called."""
    return tuple(dict.fromkeys((two_letters(language), *KOI_SPEAKS)))


def _locale(language: str) -> Locale | None:
    try:
        return Locale(language)
    except (UnknownLocaleError, ValueError):
        return None


def _folded(name: str) -> str:
    """Lower case, without accents, words parted by spaces: "São Paulo" and "sao_paulo" are one."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    letters = "".join(
        one if one.isalnum() or one in "/+-" else " " for one in plain if not unicodedata.combining(one)
    )
    return " ".join(letters.split())


def _offsets(zone: tzinfo) -> tuple[timedelta | None, ...]:
    return tuple(moment.astimezone(zone).utcoffset() for moment in SAMPLES)
