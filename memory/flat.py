"""The flat list: memory as a JSON file that people, scripts and older bots write and read. Pure.

    [{"timestamp": "2026-04-05T14:23:00.000+02:00", "user_message": …, "assistant_summary": …,
      "session_name": "telegram_42", "workdir": ""}, …]

In: `timestamp` may also be ISO without offset (then in koi's zone) or a number (seconds or ms since 1970); the summary
may be missing, empty or long; `assistant_reply` is the whole answer; other fields are ignored; instead of a list, an
object that holds one, or one object per line.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast

import orjson

from infra.cut import cut
from infra.texts import later
from memory.entry import user_of
from memory.features import with_features
from memory.limits import MemoryLimits
from memory.summary import summarise
from schemas.memory import RingEntry

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUMBER = re.compile(r"\d{9,13}(\.\d+)?")
MS_FROM = 100_000_000_000
"""Numbers from here on are ms since 1970 (1973), below it seconds (5138)."""
SKEW_MS = 60_000
"""Two machines' clocks may differ by this much."""

NAME_CHARS = 1000
"""Of a session name, a workdir, a bot's name."""

NO_OBJECT = later("not an object")
NO_TIME = later("timestamp is missing, or is not a time")
IN_FUTURE = later("timestamp lies in the future (times without an offset are taken in koi's zone)")
NO_MESSAGE = later("user_message is missing, or is not a text")
NO_SUMMARY = later("assistant_summary is not a text")
NO_TEXT = later("both texts are empty")


class NotAList(ValueError):
    """The file holds no list of entries; says where it stops being JSON, if it does."""


@dataclass(frozen=True, slots=True)
class Refused:
    number: int
    """Which entry of the file, the first is 1."""
    reason: str
    """One of the sentences above, in English: say it through memory.labels.CATALOG."""


@dataclass(frozen=True, slots=True)
class Found:
    """One readable entry of a file."""

    entry: RingEntry
    user_id: str | None
    """Whose it is, if its session name says so."""


def write_flat(entries: Iterable[RingEntry], zone: tzinfo, *, with_replies: bool = False) -> str:
    """The list as JSON, indented, umlauts as they are; with_replies: the whole answers and the bots' names too."""
    rows = [_row(entry, zone) | (_more(entry) if with_replies else {}) for entry in entries]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()


def read_flat(
    text: str, zone: tzinfo, now_ms: int, limits: MemoryLimits
) -> tuple[tuple[Found, ...], tuple[Refused, ...]]:
    """The entries of a file, expired ones included, and those that cannot be taken.

    Raises: NotAList: the text as a whole is none.
    """
    found: list[Found] = []
    refused: list[Refused] = []
    for number, row in enumerate(_rows(text), start=1):
        try:
            found.append(_found(row, zone, now_ms, limits))
        except _Refusal as refusal:
            refused.append(Refused(number, str(refusal)))
    return tuple(found), tuple(refused)


def parse_time(value: object, zone: tzinfo) -> int | None:
    """A timestamp of a flat list, ms since 1970; None if it is none."""
    try:
        match value:
            case bool():
                return None
            case int() | float():
                return int(value if value >= MS_FROM else value * 1000)
            case str() if NUMBER.fullmatch(value.strip()):
                return parse_time(float(value), zone)
            case str():
                moment = datetime.fromisoformat(value.strip())
                aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
                return (aware - EPOCH) // timedelta(milliseconds=1)
            case _:
                return None
    except (ValueError, OverflowError):
        return None


class _Refusal(Exception):
    """Why one entry is not taken."""


def _row(entry: RingEntry, zone: tzinfo) -> dict[str, str]:
    moment = (EPOCH + timedelta(milliseconds=entry.at_ms)).astimezone(zone)
    return {
        "timestamp": moment.isoformat(timespec="milliseconds"),
        "user_message": entry.user_message,
        "assistant_summary": entry.summary,
        "session_name": entry.session_name,
        "workdir": entry.workdir,
    }


def _more(entry: RingEntry) -> dict[str, str]:
    return {"assistant_reply": entry.reply, "bot": entry.bot}


def _rows(text: str) -> Sequence[object]:
    """A list; or the only list that an object holds; or one object per line."""
    text = text.removeprefix("\ufeff")
    try:
        value: object = json.loads(text)
    except RecursionError as error:
        raise NotAList("nested too deeply") from error
    except json.JSONDecodeError as error:
        return _lines(text, error)
    except ValueError as error:  # a number of thousands of digits
        raise NotAList(str(error)) from error
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        if "timestamp" in fields:
            return [fields]
        held: list[object] = [one for one in fields.values() if isinstance(one, list)]
        value = held[0] if len(held) == 1 else None
    if not isinstance(value, list):
        raise NotAList("no list of entries")
    return cast("list[object]", value)


def _lines(text: str, error: json.JSONDecodeError) -> list[object]:
    """One value per line, if every line is one; `error`: why the text as a whole is none."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        rows = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        rows = []
    if not rows:
        raise NotAList(str(error)) from error
    return rows


def _found(row: object, zone: tzinfo, now_ms: int, limits: MemoryLimits) -> Found:
    if not isinstance(row, dict):
        raise _Refusal(NO_OBJECT)
    fields = cast("dict[str, object]", row)
    at_ms = parse_time(fields.get("timestamp"), zone)
    if at_ms is None:
        raise _Refusal(NO_TIME)
    if at_ms > now_ms + SKEW_MS:
        raise _Refusal(IN_FUTURE)
    entry = _entry(fields, at_ms, limits)
    return Found(entry, user_of(entry.session_name))


def _entry(fields: dict[str, object], at_ms: int, limits: MemoryLimits) -> RingEntry:
    message, summary = fields.get("user_message"), fields.get("assistant_summary") or ""
    if not isinstance(message, str):
        raise _Refusal(NO_MESSAGE)
    if not isinstance(summary, str):
        raise _Refusal(NO_SUMMARY)
    reply = _text(fields, "assistant_reply", limits.reply_chars) or summary
    if not message.strip() and not reply.strip():
        raise _Refusal(NO_TEXT)
    user_message = cut(message, limits.user_chars)
    entry = RingEntry(
        id=_id(at_ms, user_message),
        at_ms=at_ms,
        user_message=user_message,
        summary=summarise(summary or reply, limits.summary_chars),
        reply=cut(reply, limits.reply_chars) if limits.reply_chars else "",
        session_name=_text(fields, "session_name"),
        workdir=_text(fields, "workdir"),
        bot=_text(fields, "bot"),
    )
    return with_features(entry)


def _text(fields: dict[str, object], name: str, max_chars: int = NAME_CHARS) -> str:
    value = fields.get(name)
    return cut(value, max_chars) if isinstance(value, str) and max_chars else ""


def _id(at_ms: int, user_message: str) -> str:
    """The same for the same entry, however often it is imported."""
    return "import-" + hashlib.sha256(f"{at_ms}|{user_message}".encode()).hexdigest()[:24]
