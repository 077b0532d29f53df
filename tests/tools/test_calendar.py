"""Events, the agenda, and reminders as they are made."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from infra import keys
from infra.effect import Effect
from schemas.things import Event, Reminder
from tests.tools.stage import GERMAN, HERE, NOTHING, after, call, made, preview
from tools.calendar import EVENTS_MOST
from tools.reminders import WAITING_MOST
from tools.times import at_ms, kept_local
from tools.tool import Here, Refused, Things


def event(things: Things, id_: str = "e1") -> Event:
    found = things.by_id[id_]
    assert isinstance(found, Event)
    return found


def reminder(things: Things, id_: str = "r1") -> Reminder:
    found = things.by_id[id_]
    assert isinstance(found, Reminder)
    return found


def rows(things: Things, here: Here = HERE, **asked: Any) -> list[dict[str, str]]:
    entries = orjson.loads(call("list_agenda", things, here, **asked).text)["entries"]
    return [] if entries == "none" else entries


def shown(things: Things, here: Here = HERE, **asked: Any) -> list[str]:
    return [f"{row['id']} {row['at']}" for row in rows(things, here, **asked)]


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_event_is_kept_as_it_was_said() -> None:
    ran = call(
        "create_calendar_event",
        title="Dentist",
        start="2027-06-03T10:00",
        end="2027-06-03T10:45",
        place="Mitte",
    )

    kept = event(after(NOTHING, ran))
    assert (kept.start, kept.end, kept.zone, kept.place) == (
        "2027-06-03T10:00", "2027-06-03T10:45", "Europe/Berlin", "Mitte",
    )  # fmt: skip
    assert orjson.loads(ran.text) == {
        "made": "event", "id": "e1", "title": "Dentist", "start": "Thu 2027-06-03T10:00",
        "end": "Thu 2027-06-03T10:45", "zone": "Europe/Berlin", "place": "Mitte",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"start": "2026-11-29"}, "is past"),
        ({"start": "2026-11-30T10:00", "end": "2026-11-30T11:00"}, "is past"),
        ({"start": "2026-02-30"}, "does not exist"),
        ({"start": "2027-03-28T02:30"}, "jumps from 02:00 to 03:00"),
        ({"start": "2027-10-31T02:30"}, "happens twice"),
        ({"start": "2026-12-01T10:00", "end": "2026-12-01T09:00"}, "must be after start"),
        ({"start": "2026-12-01T10:00", "end": "2026-12-01T10:00"}, "must be after start"),
        ({"start": "2026-12-01T10:00", "end": "2026-12-02"}, "end must be a date-time as start is"),
        ({"start": "2026-12-02", "end": "2026-12-01"}, "must be after start"),
        ({"start": "2026-12-01", "rrule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}, "never occurs"),
        ({"start": "2020-01-01", "rrule": "FREQ=DAILY;COUNT=3"}, "never occurs again"),
        ({"start": "2026-12-01T10:00", "zone": "Berlin"}, "near: Europe/Berlin"),
    ],
)
def test_an_event_that_cannot_be_is_refused_and_not_shown_either(asked: dict[str, Any], told: str) -> None:
    for ask in (call, preview):
        with pytest.raises(Refused, match=told):
            ask("create_calendar_event", title="x", **asked)


def test_one_that_is_under_way_and_a_birthday_long_ago_can_be_made() -> None:
    assert made("create_calendar_event", title="x", start="2026-11-30T11:00", end="2026-11-30T13:00").by_id
    born = made("create_calendar_event", title="Oma", start="1940-05-03", rrule="FREQ=YEARLY")
    assert shown(born, first_day="2027-05-01") == ["e1 Mon 2027-05-03"]


def test_which_of_two_moments_is_meant_is_kept() -> None:
    things = made("create_calendar_event", title="x", start="2027-10-31T02:30", fold="second")

    assert event(things).fold == "second"
    moved = made("update_calendar_event", things, id="e1", place="Mitte")
    assert event(moved).fold == "second"


def test_a_rule_begins_with_its_first_occurrence() -> None:
    """Tuesday was said, the rule says Mondays."""
    kept = event(
        made(
            "create_calendar_event", title="x", start="2026-12-01T09:00", end="2026-12-01T10:00",
            rrule="rrule:freq=weekly;byday=mo",
        )
    )  # fmt: skip

    assert (kept.start, kept.end, kept.rrule) == (
        "2026-12-07T09:00", "2026-12-07T10:00", "FREQ=WEEKLY;BYDAY=MO",
    )  # fmt: skip


def test_an_event_that_is_moved_takes_its_end_along() -> None:
    things = made("create_calendar_event", title="x", start="2026-12-01T09:00", end="2026-12-01T10:30")

    kept = event(made("update_calendar_event", things, id="e1", start="2026-12-04T14:00"))

    assert (kept.start, kept.end) == ("2026-12-04T14:00", "2026-12-04T15:30")


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"title": "New"}, "title", "New"),
        ({"end": ""}, "end", ""),
        ({"start": "2026-12-04"}, "end", ""),
        ({"zone": "Asia/Tokyo"}, "zone", "Asia/Tokyo"),
        ({"zone": ""}, "zone", "Europe/Berlin"),
        ({"rrule": "FREQ=DAILY"}, "rrule", "FREQ=DAILY"),
        ({"note": "bring papers"}, "note", "bring papers"),
    ],
)
def test_an_event_is_changed_in_what_was_said(change: dict[str, Any], field: str, value: str) -> None:
    things = made("create_calendar_event", title="x", start="2026-12-01T09:00", end="2026-12-01T10:30")

    assert getattr(event(made("update_calendar_event", things, id="e1", **change)), field) == value


def test_a_note_on_an_event_that_is_past_needs_no_new_time() -> None:
    things = made("create_calendar_event", title="x", start="2026-12-01T09:00")
    later = replace(HERE, now_ms=HERE.now_ms + 90 * 24 * 3_600_000)

    assert event(made("update_calendar_event", things, later, id="e1", note="was good")).note == "was good"
    with pytest.raises(Refused, match="is past"):
        call("update_calendar_event", things, later, id="e1", start="2026-12-02T09:00")


def test_a_change_to_what_is_already_so_changes_nothing() -> None:
    things = made("create_calendar_event", title="x", start="2026-12-01T09:00")

    assert not call("update_calendar_event", things, id="e1", title="x").put
    with pytest.raises(Refused, match="Nothing to change"):
        call("update_calendar_event", things, id="e1")


def test_a_deleted_event_names_what_is_still_kept_about_it() -> None:
    things = made("create_calendar_event", title="x", start="2026-12-01T09:00")
    things = made("create_reminder", things, text="leave", at="2026-12-01T08:00", about="e1")

    ran = call("update_calendar_event", things, id="e1", status="deleted")

    assert ran.drop == ("e1",)
    assert orjson.loads(ran.text)["still_kept_about_it"] == ["r2"]


def test_events_are_bounded() -> None:
    one = event(made("create_calendar_event", title="x", start="2026-12-01T09:00"))
    full = Things(EVENTS_MOST, {f"e{n}": one.model_copy(update={"id": f"e{n}"}) for n in range(EVENTS_MOST)})

    with pytest.raises(Refused, match="500 events already"):
        call("create_calendar_event", full, title="x", start="2026-12-01T09:00")


def test_previews_are_in_the_persons_language_and_show_when_it_comes_again() -> None:
    assert preview(
        "create_calendar_event", here=GERMAN, title="Yoga", start="2026-12-01T18:00", end="2026-12-01T19:30",
        place="Halle", rrule="FREQ=WEEKLY",
    ) == (
        "Neuer Termin: Di., 01.12., 18:00–19:30 · Yoga\nHalle\n"
        "Wiederholt sich: Di., 08.12., 18:00; Di., 15.12., 18:00 …"
    )  # fmt: skip
    things = made("create_calendar_event", title="Trip", start="2026-12-05", end="2026-12-06")
    assert (
        preview("update_calendar_event", things, GERMAN, id="e1", start="2026-12-12")
        == "Termin Trip ändern: Sa., 12.12. – So., 13.12. · Trip"
    )
    assert (
        preview("update_calendar_event", things, id="e1", status="deleted")
        == "Delete event: Sat, 5 Dec – Sun, 6 Dec · Trip"
    )


# ── agenda ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_agenda_has_events_tasks_and_reminders_in_order_of_time() -> None:
    things = made("create_calendar_event", title="Dentist", start="2026-12-01T10:00")
    things = made("create_task", things, title="Bread", due="2026-12-01T09:00")
    things = made("create_task", things, title="Tax", due="2026-12-01")
    things = made("create_reminder", things, text="Pills", at="2026-12-01T08:00", rrule="FREQ=DAILY;COUNT=2")
    things = made("create_calendar_event", things, title="Later", start="2027-01-01")
    things = made("create_task", things, title="Some day")

    assert [(row["id"], row["kind"], row["at"]) for row in rows(things)] == [
        ("t3", "task", "Tue 2026-12-01"),
        ("r4", "reminder", "Tue 2026-12-01T08:00"),
        ("t2", "task", "Tue 2026-12-01T09:00"),
        ("e1", "event", "Tue 2026-12-01T10:00"),
        ("r4", "reminder", "Wed 2026-12-02T08:00"),
    ]  # fmt: skip
    assert shown(made("update_task", things, id="t2", status="done"), query="bread") == []
    assert shown(things, query="later") == ["e5 Fri 2027-01-01"]


@pytest.mark.parametrize(
    ("days", "found"),
    [
        (("2026-12-05", "2026-12-05"), ["e1 Sat 2026-12-05"]),
        (("2026-12-06", "2026-12-06"), ["e1 Sat 2026-12-05"]),
        (("2026-12-07", "2026-12-07"), []),
        (("2026-12-04", "2026-12-04"), []),
        (("2026-12-19", "2026-12-20"), ["e1 Sat 2026-12-19"]),
    ],
)
def test_what_lasts_into_a_day_stands_on_it(days: tuple[str, str], found: list[str]) -> None:
    things = made(
        "create_calendar_event",
        title="Trip",
        start="2026-12-05",
        end="2026-12-06",
        rrule="FREQ=WEEKLY;INTERVAL=2",
    )

    assert shown(things, first_day=days[0], last_day=days[1]) == found


def test_an_event_of_another_zone_stands_where_it_is_here() -> None:
    things = made("create_calendar_event", title="Call", start="2026-12-01T20:00", zone="America/New_York")

    assert shown(things, first_day="2026-12-02", last_day="2026-12-02") == ["e1 Wed 2026-12-02T02:00"]
    (row,) = rows(things)
    assert (row["zone"], row["start_there"]) == ("America/New_York", "2026-12-01T20:00")


def test_what_recurs_keeps_its_wall_time_on_the_agenda_and_is_moved_by_a_gap() -> None:
    """C50"""
    things = made("create_calendar_event", title="x", start="2026-12-01T02:30", rrule="FREQ=DAILY")
    things = made("create_reminder", things, text="y", at="2026-12-01T02:30", rrule="FREQ=DAILY")
    things = made("create_calendar_event", things, title="z", start="2026-12-01", rrule="FREQ=DAILY")

    assert shown(things, first_day="2027-03-27", last_day="2027-03-29") == [
        "e3 Sat 2027-03-27", "e1 Sat 2027-03-27T02:30", "r2 Sat 2027-03-27T02:30",
        "e3 Sun 2027-03-28", "e1 Sun 2027-03-28T03:30", "r2 Sun 2027-03-28T03:30",
        "e3 Mon 2027-03-29", "e1 Mon 2027-03-29T02:30", "r2 Mon 2027-03-29T02:30",
    ]  # fmt: skip


def test_what_a_gap_moves_onto_another_occurrence_stands_there_once() -> None:
    things = made("create_reminder", text="y", at="2027-03-28T01:30", rrule="FREQ=HOURLY;COUNT=4")

    assert shown(things, first_day="2027-03-28", last_day="2027-03-28") == [
        "r1 Sun 2027-03-28T01:30", "r1 Sun 2027-03-28T03:30", "r1 Sun 2027-03-28T04:30",
    ]  # fmt: skip


def test_the_next_times_of_a_rule_are_days_for_days_and_moved_by_a_gap() -> None:
    spring = replace(HERE, now_ms=at_ms(kept_local("2027-03-27T01:00"), HERE.zone))

    of_days = preview(
        "create_calendar_event", here=spring, title="x", start="2027-03-27", rrule="FREQ=DAILY;COUNT=3"
    )
    of_times = preview("create_reminder", here=spring, text="y", at="2027-03-27T02:30", rrule="FREQ=DAILY")

    assert of_days.endswith("\nRepeats: Sun, 28 Mar; Mon, 29 Mar")
    assert of_times.endswith("\nRepeats: Sun, 28 Mar, 03:30; Mon, 29 Mar, 02:30 …")


def test_a_rule_of_another_release_occurs_once_and_hides_nothing_else() -> None:
    things = made("create_calendar_event", title="x", start="2026-12-01T10:00")
    things = made("create_calendar_event", things, title="y", start="2026-12-02T10:00")
    strange = event(things).model_copy(update={"rrule": "FREQ=FORTNIGHTLY"})

    assert shown(Things(2, {**things.by_id, "e1": strange})) == [
        "e1 Tue 2026-12-01T10:00",
        "e2 Wed 2026-12-02T10:00",
    ]


def test_what_is_late_is_not_of_the_days_that_a_model_asks_for() -> None:
    things = made("create_task", title="x", due="2026-12-01")

    assert shown(things, first_day="2026-12-02") == []


def test_at_most_fifty_rows_are_shown_and_that_there_are_more() -> None:
    things = made("create_calendar_event", title="x", start="2026-12-01T00:00", rrule="FREQ=HOURLY")

    ran = call("list_agenda", things)

    answer = orjson.loads(ran.text)
    assert len(answer["entries"]) == 50
    assert answer["more"] == "only the first 50 are here"


@pytest.mark.parametrize(
    "days", [("2026-12-02", "2026-12-01"), ("2026-12-01", "2028-01-01"), ("2026-02-31", "")]
)
def test_days_that_cannot_be_are_refused(days: tuple[str, str]) -> None:
    with pytest.raises(Refused):
        call("list_agenda", first_day=days[0], last_day=days[1])


# ── reminders ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_reminder_is_kept_with_its_chat_and_language_and_stands_in_the_zset() -> None:
    ran = call("create_reminder", here=GERMAN, text="Tabletten", at="2026-12-01T08:00")

    kept = reminder(after(NOTHING, ran))
    due_ms = at_ms(kept_local("2026-12-01T08:00"), HERE.zone)
    assert (kept.local, kept.due_ms, kept.lane, kept.language) == (
        "2026-12-01T08:00",
        due_ms,
        HERE.lane,
        "de",
    )
    assert ran.effects == (Effect("ZADD", keys.due(), (due_ms, f"{HERE.owner}|r1")),)


def test_a_recurring_reminder_waits_for_its_next_occurrence() -> None:
    """It was said at noon that it is daily at eight from today on."""
    kept = reminder(made("create_reminder", text="x", at="2026-11-30T08:00", rrule="FREQ=DAILY"))

    assert (kept.first, kept.local) == ("2026-11-30T08:00", "2026-12-01T08:00")


def test_a_rule_may_begin_in_a_gap_and_at_the_second_of_two() -> None:
    gap = reminder(made("create_reminder", text="x", at="2027-03-28T02:30", rrule="FREQ=DAILY"))
    folds: tuple[dict[str, Any], ...] = ({}, {"fold": "second"})
    twice = [
        reminder(made("create_reminder", text="x", at="2027-10-31T02:30", rrule="FREQ=DAILY", **fold))
        for fold in folds
    ]

    assert gap.due_ms == at_ms(kept_local("2027-03-28T03:30"), HERE.zone)
    assert twice[1].due_ms - twice[0].due_ms == 3_600_000


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"at": "2026-11-30T11:00"}, "is past; it is Mon 2026-11-30T12:00"),
        ({"at": "2026-12-01"}, "has no time of day; write 2026-12-01T08:00"),
        ({"at": "2026-12-01", "rrule": "FREQ=DAILY"}, "has no time of day"),
        ({"at": "2027-03-28T02:30"}, "jumps from 02:00 to 03:00"),
        ({"at": "2027-10-31T02:30"}, "happens twice"),
        ({"at": "2026-12-01T08:00", "about": "t9"}, "There is nothing with the id 't9'"),
        ({"at": "2026-12-01T08:00", "rrule": "FREQ=MINUTELY"}, "too often"),
        ({"at": "2020-12-01T08:00", "rrule": "FREQ=DAILY;COUNT=2"}, "never occurs again"),
        ({"at": "2026-12-01T08:00", "text": ""}, "text"),
    ],
)
def test_a_reminder_that_cannot_be_is_refused_and_not_shown_either(asked: dict[str, Any], told: str) -> None:
    whole: dict[str, Any] = {"text": "x", **asked}
    for ask in (call, preview):
        with pytest.raises(Refused, match=told):
            ask("create_reminder", **whole)


def test_reminders_that_wait_are_bounded_and_those_that_fired_do_not_count() -> None:
    one = reminder(made("create_reminder", text="x", at="2026-12-01T08:00"))
    many = {f"r{n}": one.model_copy(update={"id": f"r{n}"}) for n in range(WAITING_MOST)}

    with pytest.raises(Refused, match="100 reminders waiting"):
        call("create_reminder", Things(500, many), text="x", at="2026-12-01T08:00")
    many["r0"] = many["r0"].model_copy(update={"due_ms": 0})
    assert call("create_reminder", Things(500, many), text="x", at="2026-12-01T08:00").put


def test_a_cancelled_reminder_leaves_the_zset() -> None:
    things = made("create_reminder", text="Pills", at="2026-12-01T08:00")

    ran = call("cancel_reminder", things, id="R1")

    assert ran.drop == ("r1",)
    assert ran.effects == (Effect("ZREM", keys.due(), (f"{HERE.owner}|r1",)),)
    with pytest.raises(Refused, match="no reminder 'r7'; the nearest are r1"):
        call("cancel_reminder", things, id="r7")


def test_reminders_are_shown_before_they_are_made_or_cancelled() -> None:
    assert (
        preview(
            "create_reminder",
            here=GERMAN,
            text="Tabletten",
            at="2026-12-01T08:00",
            rrule="FREQ=DAILY;COUNT=2",
        )
        == "Neue Erinnerung: Di., 01.12., 08:00 · Tabletten\nWiederholt sich: Mi., 02.12., 08:00"
    )
    things = made("create_reminder", text="Pills", at="2026-12-01T08:00", zone="Asia/Tokyo")
    assert (
        preview("cancel_reminder", things, id="r1")
        == "Cancel reminder: Tue, 1 Dec, 08:00 (Asia/Tokyo) · Pills"
    )
