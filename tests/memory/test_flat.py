"""The flat list, out and in."""

import json
from datetime import UTC, timedelta, timezone

import pytest

from memory.flat import (
    IN_FUTURE,
    NO_MESSAGE,
    NO_OBJECT,
    NO_SUMMARY,
    NO_TEXT,
    NO_TIME,
    NotAList,
    Refused,
    parse_time,
    read_flat,
    write_flat,
)
from memory.labels import CATALOG
from memory.limits import MemoryLimits
from tests.memory.values import BERLIN, DAY_MS, LIMITS, NOW_MS, PARCEL, UPS, entry

ROW = {"timestamp": "2026-04-05T14:23:00+02:00", "user_message": PARCEL, "assistant_summary": UPS,
       "session_name": "telegram_42", "workdir": "/srv/koi"}  # fmt: skip


def refusals(*rows: object) -> list[str]:
    _, refused = read_flat(json.dumps(rows), BERLIN, NOW_MS, LIMITS)
    return [one.reason for one in refused]


def test_the_list_is_indented_and_keeps_umlauts() -> None:
    written = write_flat([entry(user="Grüße, naïve 👍")], BERLIN)

    assert written.startswith('[\n  {\n    "timestamp": "2026-04-05T14:23:00.000+02:00",\n')
    assert '"user_message": "Grüße, naïve 👍"' in written
    assert list(json.loads(written)[0]) == [
        "timestamp", "user_message", "assistant_summary", "session_name", "workdir",
    ]  # fmt: skip
    assert write_flat([], BERLIN) == "[]"


def test_what_was_written_is_read_back() -> None:
    entries = [entry(1), entry(2, at_ms=NOW_MS - 1234, reply="Zeile eins\n" + "Satz. " * 200)]

    found, refused = read_flat(write_flat(entries, BERLIN, with_replies=True), UTC, NOW_MS, LIMITS)

    assert refused == ()
    assert [one.user_id for one in found] == ["42", "42"]
    assert [one.entry.model_copy(update={"id": "", "lane": ""}) for one in found] == [
        one.model_copy(update={"id": "", "lane": ""}) for one in entries
    ]


@pytest.mark.parametrize(
    ("stamp", "at_ms"),
    [
        ("2026-04-05T14:23:00+02:00", NOW_MS),
        ("2026-04-05T12:23:00Z", NOW_MS),
        ("2026-04-05T14:23:00.250", NOW_MS + 250),
        (" 2026-04-05 14:23 ", NOW_MS),
        (NOW_MS // 1000, NOW_MS),
        (NOW_MS / 1000 + 0.25, NOW_MS + 250),
        (NOW_MS, NOW_MS),
        (str(NOW_MS // 1000), NOW_MS),
        (0, 0),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        ([], None),
        (float("inf"), None),
        (float("nan"), None),
        ("0001-01-01", None),
    ],
    ids=str,
)
def test_times_are_taken_as_iso_with_or_without_offset_and_as_numbers(
    stamp: object, at_ms: int | None
) -> None:
    zone = timezone(timedelta(hours=2)) if stamp != "0001-01-01" else BERLIN
    found = parse_time(stamp, zone)

    assert found == at_ms or (at_ms is None and found is not None and found < 0)


def test_each_refused_entry_gets_one_clear_reason() -> None:
    future = {**ROW, "timestamp": (NOW_MS + DAY_MS) // 1000}

    assert refusals(
        "text", {**ROW, "timestamp": "soon"}, {"user_message": "x"}, future, {**ROW, "user_message": 7},
        {**ROW, "assistant_summary": ["x"]}, {**ROW, "user_message": " ", "assistant_summary": None}, ROW,
    ) == [NO_OBJECT, NO_TIME, NO_TIME, IN_FUTURE, NO_MESSAGE, NO_SUMMARY, NO_TEXT]  # fmt: skip
    assert CATALOG.say("de", NO_TEXT) == "beide Texte sind leer"


def test_a_refusal_says_which_entry_it_was() -> None:
    _, refused = read_flat(json.dumps([ROW, 5]), BERLIN, NOW_MS, LIMITS)

    assert refused == (Refused(2, NO_OBJECT),)


def test_entries_of_older_bots_are_taken() -> None:
    empty_summary = {"timestamp": "2026-04-05T14:00:00.123456", "user_message": "hi", "assistant_summary": ""}
    long_summary = {**ROW, "assistant_summary": "Wort " * 200, "session_name": None, "extra": {"a": 1}}

    found, refused = read_flat(json.dumps([empty_summary, long_summary]), BERLIN, NOW_MS, LIMITS)

    assert refused == ()
    assert found[0].entry.summary == "…"
    assert len(found[1].entry.summary) <= 300 < len(found[1].entry.reply)
    assert found[1].user_id is None


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ROW]),
        "\ufeff" + json.dumps([ROW]),
        json.dumps({"version": 1, "entries": [ROW]}),
        json.dumps(ROW),
        json.dumps(ROW) + "\n\n" + json.dumps({**ROW, "timestamp": 1}) + "\n",
    ],
    ids=["list", "byte order mark", "list in an object", "one entry", "one per line"],
)
def test_a_list_is_found_in_the_shapes_that_files_have(text: str) -> None:
    found, refused = read_flat(text, BERLIN, NOW_MS, LIMITS)

    assert refused == ()
    assert found[0].entry.user_message == PARCEL


@pytest.mark.parametrize(
    "text",
    ["", "not json", "5", '"x"', "{}", '{"a": [], "b": []}', "[" * 100_000, "[1, 2", '{"a": 1}\n{"a": '],
)
def test_what_is_no_list_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(NotAList):
        read_flat(text, BERLIN, NOW_MS, LIMITS)


def test_odd_characters_are_taken_and_cut() -> None:
    row = {**ROW, "user_message": "\ud83d\u0000" + "x" * 600, "assistant_summary": "\udc00"}

    found, _ = read_flat(json.dumps([row]), BERLIN, NOW_MS, MemoryLimits(reply_chars=0))

    assert found[0].entry.user_message == "\ufffd" + "x" * 499
    assert found[0].entry.reply == ""
    assert found[0].entry.summary == "\ufffd"


@pytest.mark.parametrize("text", ['[{"timestamp": %s}]', '{"a": 1}\n{"timestamp": %s}'])
def test_a_number_without_end_is_no_list(text: str) -> None:
    with pytest.raises(NotAList):
        read_flat(text % ("9" * 5000), UTC, NOW_MS, MemoryLimits())
