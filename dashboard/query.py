"""The search language: `chat:anna state:failed model:haiku text:"boiler" before:2h`. Pure.

A word without a field is looked for in texts. Two values of one field: either of them. Two fields: both. `-field:value`: not.
`before:` and `after:` take "2026-11-30", "2026-11-30T14:00", "14:00" (today), "2h" (ago), "today", "yesterday"; a day means
its beginning, in the zone of the house.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo

from infra.texts import later

STATES = (
    "waiting", "running", "retrying", "paused", "stuck", "answered", "fallback", "line", "stopped", "failed",
)  # fmt: skip
FIELDS = ("chat", "person", "bot", "state", "model", "tool", "id", "text", "before", "after")
GERMAN = {
    "zustand": "state", "modell": "model", "werkzeug": "tool", "vor": "before", "nach": "after",
    "wartet": "waiting", "läuft": "running", "pausiert": "paused", "steckt": "stuck", "beantwortet": "answered",
    "ersatz": "fallback", "koi": "line", "abgebrochen": "stopped", "gescheitert": "failed", "fehlgeschlagen": "failed",
}  # fmt: skip
MOST_CHARS = 500

TOKEN = re.compile(r'(?P<not>-)?(?:(?P<field>[^\W\d]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]*))')
SPAN = re.compile(r"(\d{1,4})([smhdw]|min)")
UNIT_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked for; the empty one matches all."""

    said: str = ""
    """As it was written."""
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Field → values in lower case, one of which must fit."""
    unwanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    texts: tuple[str, ...] = ()
    """All of them must be in the text, in lower case."""
    not_texts: tuple[str, ...] = ()
    after_ms: int | None = None
    before_ms: int | None = None

    @property
    def needs_texts(self) -> bool:
        """Texts must be read to answer it."""
        return bool(self.texts or self.not_texts)

    @property
    def has_times(self) -> bool:
        """It has an end in time."""
        return self.after_ms is not None or self.before_ms is not None

    def __bool__(self) -> bool:
        return bool(self.wanted or self.unwanted or self.needs_texts or self.has_times)


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """What of a query cannot be understood. sentence: a msgid with {what} and {known}."""

    sentence: str
    what: str
    known: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What of a message a query looks at."""

    states: tuple[str, ...]
    at_ms: int
    chat: tuple[str, ...] = ()
    """Name and ids."""
    person: tuple[str, ...] = ()
    bot: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()


NO_FIELD = later("There is nothing called {what}: to search by. You can use {known}.")
NO_STATE = later("{what} is no state. You can use {known}.")
NO_TIME = later("{what} is no time. Write for example 2026-11-30, 14:00, 2h, today or yesterday.")
NO_VALUE = later("Something is missing after {what}:")
TOO_LONG = later("The search is longer than {known} characters.")


def parse(said: str, now_ms: int, zone: tzinfo) -> Query | NotUnderstood:
    """The query that somebody wrote, or one thing that is wrong with it."""
    if len(said) > MOST_CHARS:
        return NotUnderstood(TOO_LONG, "", str(MOST_CHARS))
    query = Query(said.strip())
    for is_not, name, value in _tokens(said):
        read = _with(query, name, value, is_not=is_not, now=_local(now_ms, zone))
        if isinstance(read, NotUnderstood):
            return read
        query = read
    return query


def matches(query: Query, found: Found) -> bool:
    """Does it fit, as far as it can be told without its text?"""
    if query.after_ms is not None and found.at_ms < query.after_ms:
        return False
    if query.before_ms is not None and found.at_ms >= query.before_ms:
        return False
    return all(_fits(found, name, values) for name, values in query.wanted.items()) and not any(
        _fits(found, name, values) for name, values in query.unwanted.items()
    )


def matches_text(query: Query, text: str | None) -> bool:
    """None: the text is no longer kept, so nothing can be found in it."""
    if not query.needs_texts:
        return True
    if text is None:
        return False
    lower = text.casefold()
    return all(one in lower for one in query.texts) and not any(one in lower for one in query.not_texts)


def _fits(found: Found, name: str, values: Iterable[str]) -> bool:
    return fits_one(name, values, getattr(found, "states" if name == "state" else name))


def fits_one(name: str, values: Iterable[str], words: Iterable[str]) -> bool:
    """Is one of the values among the words of a field? States and ids whole, others as a part."""
    lower = [word.casefold() for word in words]
    if name in {"state", "id"}:
        return any(value in lower for value in values)
    return any(value in word for value in values for word in lower)


def _tokens(said: str) -> Iterator[tuple[bool, str, str]]:
    """Is it a "not", the field in lower case or "", the value."""
    for match in TOKEN.finditer(said):
        value = match["quoted"] if match["quoted"] is not None else match["bare"]
        name = (match["field"] or "").casefold()
        if value.strip() or name:
            yield bool(match["not"]), GERMAN.get(name, name), value.strip()


def _with(query: Query, name: str, value: str, *, is_not: bool, now: datetime) -> Query | NotUnderstood:
    """One token more."""
    lower = value.casefold()
    if name in {"before", "after"} and lower:
        return _with_time(query, name, value, now, is_not=is_not)
    if name == "state":
        lower = GERMAN.get(lower, lower)
    if fault := _fault(name, value, lower):
        return fault
    if name in {"", "text"}:
        if is_not:
            return replace(query, not_texts=(*query.not_texts, lower))
        return replace(query, texts=(*query.texts, lower))
    if is_not:
        return replace(query, unwanted=_more(query.unwanted, name, lower))
    return replace(query, wanted=_more(query.wanted, name, lower))


def _fault(name: str, value: str, lower: str) -> NotUnderstood | None:
    """What is wrong with a token."""
    if name and name not in FIELDS:
        return NotUnderstood(NO_FIELD, name, ", ".join(f"{one}:" for one in FIELDS))
    if not lower:
        return NotUnderstood(NO_VALUE, name)
    if name == "state" and lower not in STATES:
        return NotUnderstood(NO_STATE, value, ", ".join(STATES))
    return None


def _more(known: Mapping[str, tuple[str, ...]], name: str, value: str) -> Mapping[str, tuple[str, ...]]:
    return {**known, name: (*known.get(name, ()), value)}


def _with_time(query: Query, name: str, value: str, now: datetime, *, is_not: bool) -> Query | NotUnderstood:
    at_ms = moment_of(value, now)
    if at_ms is None:
        return NotUnderstood(NO_TIME, value)
    if (name == "before") != is_not:  # not before: from then on
        return replace(query, before_ms=min(at_ms, query.before_ms) if query.before_ms is not None else at_ms)
    return replace(query, after_ms=max(at_ms, query.after_ms) if query.after_ms is not None else at_ms)


def moment_of(value: str, now: datetime) -> int | None:
    """What a time in a query means, ms; None: it is none. now: in the zone of the house."""
    lower, midnight = value.casefold(), now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if lower in {"today", "heute"}:
            at = midnight
        elif lower in {"yesterday", "gestern"}:
            at = midnight - timedelta(days=1)
        elif match := SPAN.fullmatch(lower):
            passed = timedelta(seconds=int(match[1]) * UNIT_S[match[2]])
            at = (now.astimezone(UTC) - passed).astimezone(now.tzinfo)
        elif match := CLOCK.fullmatch(lower):
            at = midnight.replace(hour=int(match[1]), minute=int(match[2]))
        else:
            at = datetime.fromisoformat(value)
            at = at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
        return round(at.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def _local(now_ms: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(zone)
