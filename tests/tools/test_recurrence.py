"""Occurrences in wall time, over changes of clocks, and rules as they are read."""

# ruff: noqa: DTZ001 — wall times have no offset

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr  # pyright: ignore[reportUnknownVariableType]
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tools.recurrence import (
    HORIZON,
    between,
    firings_between,
    first_of,
    next_firing,
    next_occurrence,
    occurrences,
)
from tools.rule import canonical, read_rule
from tools.times import at_ms, local_at
from tools.tool import Refused

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca"]
JANUARY = datetime(2026, 1, 1, 8)


def utc(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%m-%d %H:%M}"


def fired(first: datetime, rrule: str, zone: str, since: datetime, days: int) -> list[str]:
    """When it fires in UTC, of the days from `since`."""
    named = ZoneInfo(zone)
    ms, end_ms = at_ms(since, named) - 1, at_ms(since + timedelta(days=days), named)
    found: list[str] = []
    while (firing := next_firing(first, rrule, named, ms)) and firing[1] < end_ms:
        ms = firing[1]
        found.append(utc(ms))
    return found


def locals_of(rrule: str, first: datetime, zone: ZoneInfo = BERLIN) -> Iterator[datetime]:
    """One after the other, as each is asked for when the one before has fired."""
    at = first - timedelta(seconds=1)
    while (found := next_occurrence(first, rrule, zone, at)) is not None:
        yield (at := found)


# ── the days on which clocks change: C50 ─────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("zone", "local", "since", "at"),
    [
        (
            "Europe/Berlin", (8, 0), datetime(2027, 3, 27),
            ["03-27 07:00", "03-28 06:00", "03-29 06:00"],
        ),
        (
            "Europe/Berlin", (8, 0), datetime(2026, 10, 24),
            ["10-24 06:00", "10-25 07:00", "10-26 07:00"],
        ),
        (
            "Europe/Berlin", (8, 0), datetime(2027, 10, 30),
            ["10-30 06:00", "10-31 07:00", "11-01 07:00"],
        ),
        (
            "Europe/Berlin", (2, 30), datetime(2027, 3, 27),
            ["03-27 01:30", "03-28 01:30", "03-29 00:30"],
        ),
        (
            "Europe/Berlin", (2, 30), datetime(2027, 10, 30),
            ["10-30 00:30", "10-31 00:30", "11-01 01:30"],
        ),
        (
            "America/New_York", (2, 30), datetime(2027, 3, 13),
            ["03-13 07:30", "03-14 07:30", "03-15 06:30"],
        ),
        (
            "America/New_York", (1, 30), datetime(2027, 11, 6),
            ["11-06 05:30", "11-07 05:30", "11-08 06:30"],
        ),
        (
            "Australia/Lord_Howe", (2, 15), datetime(2027, 10, 2),
            ["10-01 15:45", "10-02 15:45", "10-03 15:15"],
        ),
        (
            "Australia/Lord_Howe", (1, 45), datetime(2027, 4, 3),
            ["04-02 14:45", "04-03 14:45", "04-04 15:15"],
        ),
        (
            "Asia/Kolkata", (8, 0), datetime(2027, 3, 27),
            ["03-27 02:30", "03-28 02:30", "03-29 02:30"],
        ),
    ],
    ids=[
        "Berlin 08:00, spring", "Berlin 08:00, autumn 2026", "Berlin 08:00, autumn 2027", "Berlin 02:30, gap",
        "Berlin 02:30, overlap", "New York 02:30, gap", "New York 01:30, overlap", "Lord Howe 02:15, gap of 30 min",
        "Lord Howe 01:45, overlap of 30 min", "a zone without",
    ],
)  # fmt: skip
def test_every_day_has_one_occurrence_at_its_wall_time(
    zone: str, local: tuple[int, int], since: datetime, at: list[str]
) -> None:
    """C50"""
    first = datetime(2026, 9, 1, *local)

    assert fired(first, "FREQ=DAILY", zone, since, 3) == at


def test_daily_eight_o_clock_is_seven_then_six_then_seven_in_utc_over_a_year() -> None:
    """C50"""
    found = fired(datetime(2026, 10, 1, 8), "FREQ=DAILY", "Europe/Berlin", datetime(2026, 10, 26), 380)

    hours = [at[-5:] for at in found]
    changes = [at for before, at in pairwise(found) if before[-5:] != at[-5:]]
    assert len(found) == 380
    assert (hours[0], changes, hours[-1]) == ("07:00", ["03-28 06:00", "10-31 07:00"], "07:00")


def test_a_gap_moves_one_day_only() -> None:
    walls = list(islice(locals_of("FREQ=DAILY", datetime(2027, 3, 27, 2, 30)), 3))

    assert walls == [datetime(2027, 3, day, 2, 30) for day in (27, 28, 29)]
    assert local_at(at_ms(walls[1], BERLIN), BERLIN) == datetime(2027, 3, 28, 3, 30)


def test_two_occurrences_that_a_gap_moves_onto_each_other_fire_once() -> None:
    first = datetime(2027, 3, 28)

    assert fired(first, "FREQ=HOURLY;BYHOUR=1,2,3,4", "Europe/Berlin", first, 1) == [
        "03-28 00:00", "03-28 01:00", "03-28 02:00",
    ]  # fmt: skip
    assert (
        firings_between(
            first, "FREQ=HOURLY", BERLIN, at_ms(first, BERLIN), at_ms(first.replace(hour=4), BERLIN)
        )
        == 3
    )


# ── any rule ─────────────────────────────────────────────────────────────────────────────────────────────────────
@st.composite
def rules(draw: st.DrawFn) -> str:
    freq = draw(st.sampled_from(["HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    numbered = freq in {"MONTHLY", "YEARLY"} and draw(st.booleans())  # dateutil takes 1MO,TU as both at once
    nth = st.sampled_from(["1", "2", "-1", "4"] if numbered else [""])
    days = st.tuples(nth, st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"])).map("".join)
    parts = {
        "INTERVAL": st.integers(1, 6),
        "COUNT": st.integers(1, 40),
        "BYMONTH": st.sampled_from(["1", "2,3", "10", "3,6,12"]),
        "BYDAY": st.lists(days, min_size=1, max_size=3).map(",".join),
        "BYMONTHDAY": st.sampled_from(["1", "31", "28,29", "-1", "1,15,-2"]),
        "BYHOUR": st.sampled_from(["8", "2", "0,23", "7,12,18"]),
        "BYMINUTE": st.integers(0, 59),
        "WKST": st.sampled_from(["MO", "SU"]),
        "BYSETPOS": st.sampled_from(["1", "-1", "2"]),
    }
    unfit = {"WEEKLY": {"BYMONTHDAY", "BYSETPOS"}, "DAILY": {"BYSETPOS"}, "HOURLY": {"BYSETPOS"}}
    names = draw(st.sets(st.sampled_from(sorted(parts.keys() - unfit.get(freq, set())))))
    if not names & {"BYDAY", "BYMONTHDAY", "BYMONTH", "BYHOUR"}:
        names -= {"BYSETPOS"}
    return ";".join([f"FREQ={freq}", *(f"{name}={draw(parts[name])}" for name in sorted(names))])


BEGINNINGS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)).map(
    lambda at: at.replace(second=0, microsecond=0)
)


@given(rules(), BEGINNINGS, st.sampled_from(ZONES).map(ZoneInfo))
@settings(max_examples=60)
def test_each_next_occurrence_is_later_and_its_wall_time_follows_the_rule(
    rrule: str, first: datetime, zone: ZoneInfo
) -> None:
    found = list(islice(locals_of(rrule, first, zone), 6))
    rule = read_rule(rrule)

    assert all(before < after for before, after in pairwise([first - timedelta(seconds=1), *found]))
    for local in found:
        assert local.minute == (first.minute if rule.minute is None else rule.minute)
        assert not rule.hours or local.hour in rule.hours
        assert rule.freq == "HOURLY" or rule.hours or local.hour == first.hour
        assert not rule.months or local.month in rule.months
        assert not rule.week_days or local.weekday() in {day for _, day in rule.week_days}
    moments = [at_ms(local, zone) for local in found]
    assert moments == sorted(moments)


@given(rules(), BEGINNINGS)
@settings(max_examples=40)
def test_occurrences_are_those_of_dateutil(rrule: str, first: datetime) -> None:
    end = first + HORIZON - timedelta(days=366)
    found = list(
        islice(takewhile(lambda at: at < end, occurrences(first, read_rule(rrule), BERLIN, first)), 8)
    )
    assume(found)  # dateutil looks for more until the year 9999

    try:
        others = rrulestr(rrule, dtstart=first)
        theirs = list(islice(takewhile(lambda at: at < end, others), len(found)))  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportUnknownArgumentType, reportUnknownLambdaType]
    except ValueError:
        assume(False)
        return
    assert found == theirs


@given(rules(), BEGINNINGS, st.integers(0, 1_200))
@settings(max_examples=25)
def test_what_comes_after_a_day_does_not_depend_on_where_the_search_begins(
    rrule: str, first: datetime, days: int
) -> None:
    since = first + timedelta(days=days)
    end = since + timedelta(days=400)

    near = list(islice(between(first, rrule, BERLIN, since, end), 10))

    far = occurrences(first, read_rule(rrule), BERLIN, first)
    assert near == list(islice((at for at in takewhile(lambda at: at < end, far) if at >= since), 10))


@given(rules(), BEGINNINGS)
@settings(max_examples=40)
def test_a_rule_counts_the_same_from_its_first_occurrence(rrule: str, first: datetime) -> None:
    try:
        begin = first_of(first, rrule, BERLIN)
    except Refused:
        return

    end = first + timedelta(days=9_000)
    assert list(islice(between(first, rrule, BERLIN, first, end), 6)) == list(
        islice(between(begin, rrule, BERLIN, begin, end), 6)
    )


@pytest.mark.parametrize(
    ("rrule", "next_ones"),
    [
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH", ["2026-01-01", "2026-01-12", "2026-01-15"]),
        ("FREQ=MONTHLY;BYDAY=-1FR", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("FREQ=MONTHLY;BYMONTHDAY=31", ["2026-01-31", "2026-03-31", "2026-05-31"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", ["2026-01-30", "2026-02-27", "2026-03-31"]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("FREQ=YEARLY;BYDAY=20MO", ["2026-05-18", "2027-05-17", "2028-05-15"]),
        ("RRULE:freq=daily;count=2", ["2026-01-01", "2026-01-02"]),
        ("FREQ=DAILY;UNTIL=20260102", ["2026-01-01", "2026-01-02"]),
        ("FREQ=DAILY;UNTIL=20260102T065959Z", ["2026-01-01"]),
        ("FREQ=DAILY;UNTIL=20260102T070000Z", ["2026-01-01", "2026-01-02"]),
    ],
)
def test_rules_that_people_say(rrule: str, next_ones: list[str]) -> None:
    found = [f"{at:%Y-%m-%d}" for at in islice(locals_of(canonical(rrule), JANUARY), 3)]

    assert found == next_ones


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "rrule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTH=4;BYMONTHDAY=31",
        "FREQ=DAILY;INTERVAL=7;BYDAY=FR",
        "FREQ=HOURLY;INTERVAL=24;BYHOUR=9",
        "FREQ=YEARLY;BYDAY=53MO;BYMONTH=2",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=3",
    ],
)
def test_a_rule_that_never_occurs_is_looked_for_in_28_years_only(rrule: str) -> None:
    looked = 0

    def count() -> None:
        nonlocal looked
        looked += 1

    assert next(occurrences(JANUARY, read_rule(rrule), BERLIN, JANUARY, count), None) is None
    assert looked <= 10_260
    with pytest.raises(Refused, match="never occurs"):
        first_of(JANUARY, rrule, BERLIN)


def test_a_daily_rule_that_began_long_ago_is_not_gone_through_from_its_beginning() -> None:
    looked = 0

    def count() -> None:
        nonlocal looked
        looked += 1

    since = datetime(2090, 5, 20, 9)
    found = (
        at
        for at in occurrences(datetime(1930, 1, 1, 8), read_rule("FREQ=DAILY"), BERLIN, since, count)
        if at > since
    )

    assert next(found) == datetime(2090, 5, 21, 8)
    assert looked <= 31


def test_a_rule_with_count_ends() -> None:
    assert len(list(locals_of("FREQ=DAILY;COUNT=5", JANUARY))) == 5
    assert next_firing(JANUARY, "FREQ=DAILY;COUNT=5", BERLIN, at_ms(datetime(2026, 2, 1), BERLIN)) is None


@pytest.mark.parametrize(
    ("rrule", "told"),
    [
        ("", "it may have FREQ"),
        ("FREQ=SECONDLY", "too often; at most HOURLY"),
        ("FREQ=MINUTELY;INTERVAL=5", "too often; at most HOURLY"),
        ("FREQ=FORTNIGHTLY", "must have FREQ=HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY"),
        ("INTERVAL=2", "must have FREQ"),
        ("FREQ=DAILY;BYMINUTE=0,30", "several values of BYMINUTE; more often than hourly"),
        ("FREQ=DAILY;BYEASTER=1", "'BYEASTER=1'; it may have FREQ"),
        ("FREQ=DAILY;BYSECOND=1", "'BYSECOND=1'"),
        ("FREQ=YEARLY;BYWEEKNO=20", "'BYWEEKNO=20'"),
        ("DTSTART:20260101T080000\nRRULE:FREQ=DAILY", "it may have FREQ"),
        ("FREQ=DAILY;FREQ=WEEKLY", "FREQ twice"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0; it must be 1 to 1000"),
        ("FREQ=DAILY;COUNT=1001", "COUNT=1001; it must be 1 to 1000"),
        ("FREQ=DAILY;COUNT=" + "9" * 99, "it must be 1 to 1000"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20270101", "COUNT and UNTIL exclude each other"),
        ("FREQ=DAILY;UNTIL=tomorrow", "write UNTIL=20271231"),
        ("FREQ=DAILY;UNTIL=20270231", "write UNTIL=20271231"),
        ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY with a number needs FREQ=MONTHLY or YEARLY"),
        ("FREQ=WEEKLY;BYDAY=XX", "BYDAY=XX; write MO,TH"),
        ("FREQ=MONTHLY;BYDAY=0MO", "BYDAY=0MO"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "it must be -31 to 31, not 0"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "it must be -31 to 31"),
        ("FREQ=WEEKLY;BYMONTHDAY=3", "BYMONTHDAY does not go with FREQ=WEEKLY"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS needs FREQ"),
        ("FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS needs another part"),
        ("FREQ=DAILY;WKST=XX", "WKST=XX"),
        ("FREQ=DAILY;" + "BYHOUR=1;" * 60, "at most 300"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_sentence(rrule: str, told: str) -> None:
    with pytest.raises(Refused) as refused:
        read_rule(rrule)

    assert told in str(refused.value)
    assert str(refused.value).endswith(".")
