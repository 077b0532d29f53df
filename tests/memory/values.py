"""Values that these tests talk about."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from memory.entry import make_entry
from memory.limits import MemoryLimits, SessionLimits
from memory.session import new_exchange
from schemas.memory import Exchange, RingEntry, Session, ToolCall, ToolRound

LIMITS = MemoryLimits()
SESSION_LIMITS = SessionLimits()
BERLIN = ZoneInfo("Europe/Berlin")
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
NOW_MS = int(datetime(2026, 4, 5, 12, 23, tzinfo=UTC).timestamp()) * 1000  # 14:23 in Berlin

PARCEL = "Check wo das Chemitek-Paket bleibt"
UPS = "UPS Tracking 1Z999AA10123456784 — Status: In Transit.\nVoraussichtliche Zustellung: Mittwoch, 09.04."


def exchange(number: int = 1, *, user: str = PARCEL, reply: str = UPS, at_ms: int = NOW_MS) -> Exchange:
    return new_exchange(f"turn-{number}", at_ms, user, reply)


def entry(
    number: int = 1, *, user: str = PARCEL, reply: str = UPS, at_ms: int = NOW_MS, lane: str = "7:42:0"
) -> RingEntry:
    return make_entry(
        exchange(number, user=user, reply=reply, at_ms=at_ms), LIMITS, session_name="telegram_42", lane=lane
    )


def session(*exchanges: Exchange, last_ms: int | None = None) -> Session:
    """A conversation of these, at least one."""
    end_ms = exchanges[-1].at_ms if last_ms is None else last_ms
    return Session(id="turn-1", started_ms=exchanges[0].at_ms, last_ms=end_ms, exchanges=exchanges)


def tool_round(number: int = 1, *, result: str = "sunny") -> ToolRound:
    call = ToolCall(id=f"call-{number}", name="look", arguments=f'{{"day": {number}}}')
    return ToolRound(calls=(call,), results=(result,))
