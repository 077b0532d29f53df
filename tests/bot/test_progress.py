"""How far a reply was sent: the marks around each part."""

import pytest

from bot.progress import AGAIN, Progress, found, fresh, instead, kept, next_step, sent, unsent
from bot.split import PART_UNITS, Part
from schemas.wire import NewerVersion
from tests.fakes.telegram_rules import fault_of

TWO = fresh((Part("one"), Part("two")))


def read_back(progress: Progress, before: Progress | None = None) -> Progress | None:
    stored = {} if before is None else kept("r", before, None)
    return found("r", {**stored, **kept("r", progress, before)})


def test_each_part_is_marked_before_and_after_it_is_sent() -> None:
    first = next_step(TWO)
    second = next_step(sent(first))

    assert (first.at, first.mark, second.at, second.mark) == (0, "sending", 1, "sending")
    assert sent(second).done


def test_who_finds_a_mark_sends_the_part_again_and_says_so() -> None:  # C7
    again = next_step(next_step(TWO))

    assert (again.at, again.mark, again.part.text) == (0, "again", "↻ one")


def test_who_finds_the_second_mark_leaves_the_part_and_goes_on() -> None:
    left = next_step(next_step(next_step(TWO)))

    assert (left.at, left.mark, left.left, left.part.text) == (1, "sending", 1, "two")


def test_a_last_part_that_stays_unknown_ends_the_reply() -> None:
    only = fresh((Part("one"),))

    left = next_step(next_step(next_step(only)))

    assert left.done
    assert left.left == 1


def test_a_part_that_was_certainly_not_sent_is_as_before() -> None:
    first = next_step(TWO)
    assert unsent(first) == TWO

    again = next_step(first)
    assert unsent(again).mark == "sending"
    assert next_step(unsent(again)) == again  # not marked twice, and not given up


def test_the_mark_moves_the_entities() -> None:
    part = Part("bold", ({"type": "bold", "offset": 0, "length": 4},))

    (again,) = next_step(next_step(fresh((part,)))).parts

    assert again.entities == ({"type": "bold", "offset": 2, "length": 4},)


def test_a_full_part_with_its_mark_becomes_two() -> None:
    again = next_step(next_step(fresh((Part("x" * PART_UNITS), Part("end")))))

    assert len(again.parts) == 3
    assert all(fault_of(part.text, part.entities) is None for part in again.parts)
    assert "".join(part.text.removeprefix(AGAIN) for part in again.parts) == "x" * PART_UNITS + "end"
    assert [part.text.startswith(AGAIN) for part in again.parts] == [True, True, False]


def test_what_was_kept_is_found_again() -> None:
    sending = next_step(TWO)

    assert read_back(sending) == sending
    assert read_back(next_step(sent(sending)), sending) == next_step(sent(sending))
    assert read_back(next_step(sending), sending) == next_step(sending)


def test_parts_are_stored_once() -> None:
    sending = next_step(TWO)

    assert set(kept("r", sending, None)) == {"r:parts", "r:place"}
    assert set(kept("r", next_step(sent(sending)), sending)) == {"r:place"}


def test_nothing_kept_is_nothing_found() -> None:
    assert found("r", {}) is None


def test_where_it_stood_is_known_though_the_words_were_forgotten() -> None:
    stored = kept("r", next_step(TWO), None)
    del stored["r:parts"]

    assert found("r", stored) == Progress((), 0, "sending")


def test_what_a_newer_release_kept_is_not_touched() -> None:
    with pytest.raises(NewerVersion):
        found("r", {"r:parts": b'{"v":1,"parts":[]}', "r:place": b'{"v":3,"next":0}'})


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────
WITH_FILE = fresh((Part("see"), Part("x = 1\n", file="code.py"), Part("end")))


def test_a_file_is_kept_like_any_part() -> None:
    sending = next_step(sent(next_step(WITH_FILE)))

    assert (sending.part.file, sending.part.text) == ("code.py", "x = 1\n")
    assert read_back(sending) == sending


def test_a_file_that_may_be_there_twice_is_marked_beside_its_text() -> None:  # C7
    again = next_step(next_step(sent(next_step(WITH_FILE))))

    assert (again.part.again, again.part.file, again.part.text) == (True, "code.py", "x = 1\n")


def test_parts_are_kept_as_older_releases_read_them_unless_one_is_a_file() -> None:
    assert kept("r", TWO, None)["r:parts"] == (
        b'{"v":1,"parts":[{"text":"one","entities":[],"again":false},{"text":"two","entities":[],"again":false}]}'
    )
    assert kept("r", WITH_FILE, None)["r:parts"].startswith(b'{"v":2,')


def test_what_is_refused_gives_its_place_to_others() -> None:
    refused = next_step(sent(next_step(WITH_FILE)))

    changed = instead(refused, (Part("x ="), Part("1")))

    assert [part.text for part in changed.parts] == ["see", "x =", "1", "end"]
    assert (changed.at, changed.mark) == (1, "")


def test_a_resend_that_is_refused_stays_the_last_one() -> None:
    again = next_step(next_step(fresh((Part("bold", ({"type": "bold", "offset": 0, "length": 4},)),))))

    resent = next_step(instead(again, (Part(again.part.text),)))

    assert (resent.mark, [part.text for part in resent.parts]) == ("again", ["↻ bold"])
