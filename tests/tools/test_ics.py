"""The calendar file of an export: read back by icalendar, and its time zones compared with zoneinfo."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from icalendar import Calendar

from schemas.things import Event, Memo, Reminder, Task, Thing
from tools.ics import write_ics
from tools.ics_zone import changes, timezone_of
from tools.tool import Things

BERLIN = ZoneInfo("Europe/Berlin")
OWNER = "home:u:42"
NOW_MS = 1_796_000_000_123
MADE_MS, CHANGED_MS = 1_790_000_000_000, 1_795_000_000_000
UMLAUTS = 'Größe; Maße, "Ärger" \\ 🐟\nzweite Zeile'


def event(
    start: str, end: str = "", *, rrule: str = "", zone: str = "Europe/Berlin", title: str = "Event"
) -> Event:
    return Event.model_validate(
        {
            "id": "e1",
            "title": title,
            "start": start,
            "end": end,
            "zone": zone,
            "rrule": rrule,
            "made_ms": MADE_MS,
            "changed_ms": CHANGED_MS,
        }
    )


def raw(*things: Thing) -> bytes:
    return write_ics(Things(9, {thing.id: thing for thing in things}), owner=OWNER, now_ms=NOW_MS)


def read(*things: Thing) -> Any:
    """The calendar; its values are typed by what stands in the file, so they are Any here."""
    return Calendar.from_ical(raw(*things))


def only_event(thing: Event | Reminder) -> Any:
    (entry,) = read(thing).events
    return entry


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_event_keeps_its_texts_time_zone_place_and_stamps() -> None:
    one = event("2026-12-01T10:00", "2026-12-01T10:45", title=UMLAUTS).model_copy(
        update={"place": "Straße 3", "note": UMLAUTS, "project": "haus"}
    )

    entry = only_event(one)

    assert (str(entry.summary), entry.location, str(entry.description)) == (UMLAUTS, "Straße 3", UMLAUTS)
    assert entry.categories == ["haus"]
    assert (entry.start, entry.end) == (
        datetime(2026, 12, 1, 10, tzinfo=BERLIN), datetime(2026, 12, 1, 10, 45, tzinfo=BERLIN),
    )  # fmt: skip
    assert entry.stamp == datetime.fromtimestamp(NOW_MS // 1000, UTC)
    assert entry.created == datetime.fromtimestamp(MADE_MS // 1000, UTC)
    assert entry.last_modified == datetime.fromtimestamp(CHANGED_MS // 1000, UTC)


@pytest.mark.parametrize(
    ("start", "end", "after"),
    [("2026-12-24", "2026-12-26", date(2026, 12, 27)), ("2026-12-24", "", date(2026, 12, 25))],
    ids=["several days", "one day"],
)
def test_the_end_of_whole_days_is_the_day_after_the_last(start: str, end: str, after: date) -> None:
    entry = only_event(event(start, end))

    assert (entry.start, entry.end) == (date(2026, 12, 24), after)
    assert b"DTEND;VALUE=DATE:" in raw(event(start, end))


def test_an_event_without_an_end_has_none() -> None:
    assert b"DTEND" not in raw(event("2026-12-01T10:00"))


@pytest.mark.parametrize(
    ("start", "zone", "rrule", "until"),
    [
        ("2026-11-30T08:00", "Europe/Berlin", "FREQ=DAILY;UNTIL=20270328", datetime(2027, 3, 28, 21, 59, 59, tzinfo=UTC)),
        ("2026-11-30T08:00", "Europe/Berlin", "FREQ=DAILY;UNTIL=20270327T080000", datetime(2027, 3, 27, 7, tzinfo=UTC)),
        ("2026-11-30T08:00", "Europe/Berlin", "FREQ=DAILY;UNTIL=20270327T080000Z", datetime(2027, 3, 27, 8, tzinfo=UTC)),
        ("2026-11-30", "Europe/Berlin", "FREQ=DAILY;UNTIL=20270328", date(2027, 3, 28)),
        ("2026-11-30", "Europe/Berlin", "FREQ=DAILY;UNTIL=20270327T230000Z", date(2027, 3, 28)),
    ],
)  # fmt: skip
def test_the_end_of_a_rule_is_written_as_its_start_asks(
    start: str, zone: str, rrule: str, until: date
) -> None:
    (rule,) = only_event(event(start, rrule=rrule, zone=zone)).rrules

    assert rule["UNTIL"] == [until]
    assert rule["FREQ"] == ["DAILY"]


def test_a_rule_stays_as_it_is() -> None:
    entry = only_event(event("2026-11-02T09:00", rrule="FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO,-1FR;COUNT=5"))

    assert entry["RRULE"].to_ical() == b"FREQ=MONTHLY;COUNT=5;INTERVAL=2;BYDAY=1MO,-1FR"


def test_utc_needs_no_rules_of_a_zone() -> None:
    one = event("2026-12-01T10:00", zone="UTC")

    assert only_event(one).start == datetime(2026, 12, 1, 10, tzinfo=UTC)
    assert b"VTIMEZONE" not in raw(one)


# ── reminders and tasks ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_reminder_is_an_event_with_an_alarm_that_begins_where_its_rule_does() -> None:
    one = Reminder(
        id="r4", text="Pillen nehmen", local="2026-12-01T08:00", zone="Europe/Berlin", rrule="FREQ=DAILY",
        first="2026-10-24T08:00", due_ms=1, lane="7:42:0", made_ms=MADE_MS, changed_ms=CHANGED_MS,
    )  # fmt: skip

    entry = only_event(one)

    assert entry.start == datetime(2026, 10, 24, 8, tzinfo=BERLIN)  # C50
    assert entry["RRULE"].to_ical() == b"FREQ=DAILY"
    assert str(entry.summary) == "Pillen nehmen"
    (alarm,) = entry.walk("VALARM")
    assert (alarm["ACTION"], alarm["TRIGGER"].dt) == ("DISPLAY", timedelta(0))


def test_a_reminder_without_a_rule_is_there_once() -> None:
    one = Reminder(
        id="r4",
        text="Pills",
        local="2026-12-01T08:00",
        zone="Europe/Berlin",
        due_ms=1,
        lane="7:42:0",
        made_ms=MADE_MS,
        changed_ms=CHANGED_MS,
    )

    entry = only_event(one)

    assert entry.start == datetime(2026, 12, 1, 8, tzinfo=BERLIN)
    assert entry.rrules == []


@pytest.mark.parametrize(
    ("more", "priority", "status", "due"),
    [
        ({"priority": "high", "due": "2026-12-01"}, 1, "NEEDS-ACTION", date(2026, 12, 1)),
        (
            {"priority": "low", "due": "2026-12-01T08:00", "zone": "America/New_York"}, 9, "NEEDS-ACTION",
            datetime(2026, 12, 1, 8, tzinfo=ZoneInfo("America/New_York")),
        ),
        ({"done_ms": 1_795_000_000_999}, 5, "COMPLETED", None),
    ],
    ids=["day", "time", "done"],
)  # fmt: skip
def test_a_task_is_a_todo(more: dict[str, object], priority: int, status: str, due: date | None) -> None:
    one = Task.model_validate({
        "id": "t3", "title": "Brötchen", "note": UMLAUTS, "list_name": "Einkauf, groß", "project": "haus", "made_ms": 1, "changed_ms": 1, **more,
    })  # fmt: skip

    (todo,) = read(one).todos

    assert (str(todo.summary), str(todo.description)) == ("Brötchen", UMLAUTS)
    assert (todo["PRIORITY"], todo["STATUS"]) == (priority, status)
    assert (todo["DUE"].dt if "DUE" in todo else None) == due
    assert todo.categories == ["Einkauf, groß", "haus"]
    if status == "COMPLETED":
        assert todo["COMPLETED"].dt == datetime.fromtimestamp(1_795_000_000, UTC)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_ids_are_the_same_in_every_export_and_differ_between_people() -> None:
    one = event("2026-12-01T10:00")
    things = Things(1, {one.id: one})

    again = write_ics(things, owner=OWNER, now_ms=NOW_MS + 5_000)
    other: Any = Calendar.from_ical(write_ics(things, owner="home:u:43", now_ms=NOW_MS))

    same: Any = Calendar.from_ical(again)
    assert same.events[0].uid == only_event(one).uid
    assert other.events[0].uid != only_event(one).uid
    assert "home" not in only_event(one).uid


def test_memos_have_no_place_in_a_calendar_and_nothing_is_a_calendar_too() -> None:
    memo = Memo(id="m2", text="Key", made_ms=MADE_MS, changed_ms=CHANGED_MS)

    calendar = read(memo)

    assert (calendar.events, calendar.todos, calendar.version) == ([], [], "2.0")
    assert raw(memo).endswith(b"END:VCALENDAR\r\n")


def test_lines_are_folded_within_no_character() -> None:
    lines = raw(event("2026-12-01T10:00", title="ä🐟" * 60)).split(b"\r\n")

    assert max(map(len, lines)) <= 75
    assert all(line.decode() is not None for line in lines)


def test_control_characters_do_not_break_the_file() -> None:
    entry = only_event(event("2026-12-01T10:00", title="a\x00b\x1b[2J\r\nBEGIN:VEVENT"))

    assert "BEGIN:VEVENT" in str(entry.summary)
    assert "\x00" not in str(entry.summary)


# ── zones ────────────────────────────────────────────────────────────────────────────────────────────────────────
type Onset = tuple[datetime, timedelta]


def onsets_in(calendar: Any) -> list[Onset]:
    """What the VTIMEZONE says: from which wall time, in the time before it, which offset holds."""
    (zone,) = calendar.walk("VTIMEZONE")
    return [
        (onset, part["TZOFFSETTO"].td)
        for part in zone.subcomponents
        for onset in (part["DTSTART"].dt, *(one.dt for one in (part["RDATE"].dts if "RDATE" in part else ())))
    ]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"])
def test_the_rules_of_a_zone_are_those_of_zoneinfo(zone: str) -> None:  # C50
    onsets = onsets_in(read(event("2026-11-30T08:00", zone=zone)))
    half_hours = (datetime(2026, 11, 30) + timedelta(minutes=30 * n) for n in range(366 * 48))  # noqa: DTZ001 — wall time

    for local in half_hours:
        first, second = (local.replace(tzinfo=ZoneInfo(zone), fold=fold).utcoffset() for fold in (0, 1))
        if first == second:  # shown once
            assert max(one for one in onsets if one[0] <= local)[1] == first, local


def test_a_change_of_clocks_is_found_to_the_second() -> None:  # C50
    found = list(changes(BERLIN, datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)))

    assert [change.at for change in found] == [
        datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 10, 31, 1, tzinfo=UTC),
    ]  # fmt: skip


def test_the_beginning_of_summer_time_is_written_in_the_time_before_it() -> None:
    written = timezone_of(BERLIN, date(2027, 1, 1), date(2027, 12, 31)).to_ical().decode()

    assert "BEGIN:DAYLIGHT\r\nDTSTART:20270328T020000\r\n" in written
    assert "BEGIN:STANDARD\r\nDTSTART:20271031T030000\r\n" in written
