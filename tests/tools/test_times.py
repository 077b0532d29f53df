"""Local times as a model gives them, and the two days on which clocks change."""

# ruff: noqa: DTZ001 — wall times have no offset

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.stage import GERMAN, HERE
from tools.times import (
    at_ms,
    exact,
    for_model,
    for_people,
    future,
    local_at,
    now_line,
    read_when,
    written,
    zone_named,
)
from tools.tool import Refused

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/St_Johns"]


def utc(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%m-%d %H:%M}"


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("text", "kept", "at"),
    [
        ("2026-12-01T08:00", "2026-12-01T08:00", "12-01 07:00"),
        ("2026-12-01 08:00", "2026-12-01T08:00", "12-01 07:00"),
        ("2026-12-01T08:00:30", "2026-12-01T08:00:30", "12-01 07:00"),
        ("2026-12-01", "2026-12-01", "11-30 23:00"),
        ("2026-11-30", "2026-11-30", "11-29 23:00"),
    ],
    ids=["minute", "blank", "seconds", "day", "today is not past"],
)
def test_a_local_time_is_what_the_clock_in_the_persons_zone_shows(text: str, kept: str, at: str) -> None:
    found = future(text, "", HERE)

    assert (found.text, utc(found.ms), found.zone.key) == (kept, at, "Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "zone", "told"),
    [
        ("2026-02-31", "", "2026-02-31 does not exist"),
        ("2027-02-29T08:00", "", "does not exist"),
        ("2026-12-01T25:00", "", "does not exist: there is no such date or time of day"),
        ("tomorrow", "", "write 2026-12-01T08:00, or 2026-12-01"),
        ("20261201T080000", "", "write 2026-12-01T08:00"),
        ("0001-01-01T00:00", "", "the year must be 1900 to 2199"),
        ("2026-12-01T08:00Z", "", "local time without offset"),
        ("2026-12-01T08:00+01:00", "", "local time without offset"),
        ("2026-12-01T08:00 UTC", "", "local time without offset"),
        ("2026-11-30T12:00", "", "2026-11-30T12:00 is past; it is Mon 2026-11-30T12:00 in Europe/Berlin now"),
        ("2026-11-29", "", "is past"),
        ("2026-11-30T12:30", "Asia/Tokyo", "is past; it is Mon 2026-11-30T20:00 in Asia/Tokyo now"),
        ("2026-12-01T08:00", "Berlin", "'Berlin' is no IANA time zone; near: Europe/Berlin"),
        ("2026-12-01T08:00", "America/NewYork", "near: America/New_York"),
        ("2026-12-01T08:00", "../../etc/passwd", "is no IANA time zone"),
        ("2026-12-01T08:00", "Europe", "is no IANA time zone"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence_that_says_why(text: str, zone: str, told: str) -> None:
    with pytest.raises(Refused) as refused:
        future(text, zone, HERE)

    assert told in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("zone", "text", "start", "end"),
    [
        ("Europe/Berlin", "2027-03-28T02:30", "02:00", "03:00"),
        ("Europe/Berlin", "2027-03-28T02:00", "02:00", "03:00"),
        ("America/New_York", "2027-03-14T02:59", "02:00", "03:00"),
        ("Australia/Lord_Howe", "2027-10-03T02:15", "02:00", "02:30"),
    ],
)
def test_a_time_that_the_clock_jumps_over_is_refused_with_the_jump(
    zone: str, text: str, start: str, end: str
) -> None:
    with pytest.raises(
        Refused, match=f"does not exist in {zone}: that night the clock jumps from {start} to {end}"
    ):
        future(text, zone, HERE)


@pytest.mark.parametrize("text", ["2027-03-28T01:59", "2027-03-28T03:00"])
def test_the_minutes_around_a_gap_exist(text: str) -> None:
    assert future(text, "", HERE).text == text


@pytest.mark.parametrize(
    ("zone", "text", "hours"),
    [
        ("Europe/Berlin", "2027-10-31T02:30", 1),
        ("America/New_York", "2027-11-07T01:30", 1),
        ("Australia/Lord_Howe", "2027-04-04T01:45", 0.5),
    ],
)
def test_a_time_that_the_clock_shows_twice_is_asked_for_and_then_taken(
    zone: str, text: str, hours: float
) -> None:
    with pytest.raises(Refused, match=r'happens twice .* fold "first" or "second"'):
        future(text, zone, HERE)

    first, second = future(text, zone, HERE, "first"), future(text, zone, HERE, "second")

    assert second.ms - first.ms == hours * 3_600_000
    assert first.text == second.text == text


def test_a_fold_of_a_time_that_is_shown_once_changes_nothing() -> None:
    assert exact("2026-12-01T08:00", "", HERE, "second") == exact("2026-12-01T08:00", "", HERE)


def test_a_whole_day_is_not_asked_which_of_two_it_is() -> None:
    """In Beirut clocks change at midnight."""
    assert future("2027-10-31", "Asia/Beirut", HERE).text == "2027-10-31"


def test_unknown_zones_are_looked_up_once_they_are_asked_for() -> None:
    assert zone_named("", HERE) is HERE.zone
    assert zone_named("America/New_York", HERE).key == "America/New_York"


# ── wall time and ms ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("local", "second", "at"),
    [
        (datetime(2027, 3, 28, 2, 30), False, "03-28 01:30"),
        (datetime(2027, 3, 28, 2, 30), True, "03-28 01:30"),
        (datetime(2027, 10, 31, 2, 30), False, "10-31 00:30"),
        (datetime(2027, 10, 31, 2, 30), True, "10-31 01:30"),
    ],
    ids=["gap", "gap, second", "overlap", "overlap, second"],
)
def test_a_gap_moves_forward_and_an_overlap_is_the_first(local: datetime, second: bool, at: str) -> None:
    assert utc(at_ms(local, BERLIN, second=second)) == at


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(lambda at: at.replace(microsecond=0)),
    st.sampled_from(ZONES).map(ZoneInfo),
)
def test_a_wall_time_survives_the_way_there_and_back_or_is_moved_by_a_gap(
    local: datetime, zone: ZoneInfo
) -> None:
    back = local_at(at_ms(local, zone), zone)

    assert timedelta() <= back - local <= timedelta(hours=1)
    assert local_at(at_ms(back, zone), zone) == back


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_model_is_told_the_weekday_and_the_time() -> None:
    assert for_model("2026-12-01T08:00") == "Tue 2026-12-01T08:00"
    assert now_line(HERE, BERLIN) == "Mon 2026-11-30T12:00 in Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "zone", "english", "german"),
    [
        ("2026-12-01T08:00", "Europe/Berlin", "Tue, 1 Dec, 08:00", "Di., 01.12., 08:00"),
        ("2026-12-01", "America/New_York", "Tue, 1 Dec", "Di., 01.12."),
        ("2027-03-28T09:05", "Europe/Berlin", "Sun, 28 Mar 2027, 09:05", "So., 28.03.2027, 09:05"),
        ("2027-03-28", "Europe/Berlin", "Sun, 28 Mar 2027", "So., 28.03.2027"),
        (
            "2026-12-01T08:00", "Asia/Tokyo",
            "Tue, 1 Dec, 08:00 (Asia/Tokyo)", "Di., 01.12., 08:00 (Asia/Tokyo)",
        ),
    ],
)  # fmt: skip
def test_people_read_the_weekday_and_the_zone_if_it_is_another(
    text: str, zone: str, english: str, german: str
) -> None:
    for here, said in ((HERE, english), (GERMAN, german)):
        assert for_people(text, ZoneInfo(zone), here.zone, here.language, here.now_ms) == said


def test_seconds_are_written_only_if_there_are_any() -> None:
    assert written(datetime(2026, 12, 1, 8)) == "2026-12-01T08:00"
    assert written(datetime(2026, 12, 1, 8, 0, 5)) == "2026-12-01T08:00:05"
    assert written(datetime(2026, 12, 1, 8), whole_day=True) == "2026-12-01"


def test_a_time_is_read_in_the_zone_it_is_given_in_whether_or_not_it_is_past() -> None:
    assert read_when("1960-05-03", BERLIN).text == "1960-05-03"
    assert exact("2020-01-01T08:00", "", replace(HERE, zone=BERLIN)).text == "2020-01-01T08:00"
