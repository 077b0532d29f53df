"""/tasks, /memos, /agenda and /facts: what they show, what a tap does, in the person's language."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from infra import keys
from infra.effect import Effect
from infra.redis_port import RedisPort
from schemas.things import Event, Fact, Memo, Reminder, Task, Thing
from tests.workers.stage import House
from tools.store import change_effects, load_things
from tools.tool import Here, Things
from workers.agenda_list import agenda_answer
from workers.facts_list import facts_answer
from workers.listing import MOST_BUTTONS, Edit, Listed, Order, Shown, order_of
from workers.memos_list import memos_answer
from workers.tasks_list import tasks_answer

BERLIN = ZoneInfo("Europe/Berlin")
ANSWERS = {"tasks": tasks_answer, "memos": memos_answer, "agenda": agenda_answer, "facts": facts_answer}


def ms(text: str, zone: str = "Europe/Berlin") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


NOW_MS = ms("2026-11-30T16:00")
"""A Monday."""


def here(language: str = "en", *, now_ms: int = NOW_MS, private: bool = True) -> Here:
    return Here(
        owner="home:u:42", lane="7:42:0", language=language, zone=BERLIN, now_ms=now_ms, private=private
    )


def things(*found: Thing | Fact) -> Things:
    return Things(
        version=max((int(one.id[1:]) for one in found), default=0),
        by_id={one.id: one for one in found if not isinstance(one, Fact)},
        facts={one.id: one for one in found if isinstance(one, Fact)},
    )


def task(id_: str, title: str, **more: object) -> Task:
    at = NOW_MS - 1_000 + int(id_[1:])
    return Task.model_validate({"id": id_, "title": title, "made_ms": at, "changed_ms": at, **more})


def memo(id_: str, text: str, **more: object) -> Memo:
    at = NOW_MS - 1_000 + int(id_[1:])
    return Memo.model_validate({"id": id_, "text": text, "made_ms": at, "changed_ms": at, **more})


def event(id_: str, title: str, start: str, **more: object) -> Event:
    kept = {"id": id_, "title": title, "start": start, "zone": "Europe/Berlin", "made_ms": 1, "changed_ms": 1}
    return Event.model_validate({**kept, **more})


def reminder(id_: str, text: str, local: str, **more: object) -> Reminder:
    kept = {
        "id": id_, "text": text, "local": local, "zone": "Europe/Berlin", "due_ms": ms(local), "lane": "7:42:0",
        "made_ms": NOW_MS, "changed_ms": NOW_MS,
    }  # fmt: skip
    return Reminder.model_validate({**kept, **more})


def edit(answer: Listed) -> Edit:
    assert isinstance(answer, Edit)
    return answer


def commands(answer: Listed) -> list[str]:
    return [button.command for row in answer.buttons for button in row]


BREAD = task("t1", "Bread", list_name="shopping")
DENTIST = task("t2", "Call the dentist", due="2026-11-27", zone="Europe/Berlin", priority="high")
TAXES = task("t3", "Taxes", due="2027-01-31", zone="Europe/Berlin")
RENT = task("t4", "Pay rent", done_ms=NOW_MS - 5)


# ── what is typed ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("argument", "order"),
    [
        ("", Order()),
        ("2", Order(number=2)),
        ("t17", Order(id="t17")),
        ("#T17", Order(id="t17")),
        ("done t17", Order("done", "t17")),
        ("t17 done", Order("done", "t17")),
        ("Löschen t17", Order("delete", "t17")),
        ("t17 morgen", Order("tomorrow", "t17")),
        ("shopping", Order(words="shopping")),
        ("shopping 2", Order(number=2, words="shopping")),
        ("paint t17", Order(words="paint t17")),
        ("done t17 t18", Order(words="done t17 t18")),
        ("t0", Order(words="t0")),
    ],
)
def test_an_argument_is_a_verb_and_an_id_or_words_and_a_page(argument: str, order: Order) -> None:
    assert order_of(argument) == order


# ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "en",
            "3 open tasks, 1 done\n\n❗ Call the dentist · Fri, 27 Nov, overdue · t2\n• Taxes · Sun, 31 Jan 2027 · t3\n"
            "• Bread · shopping · t1\n✓ Pay rent · t4",
        ),
        (
            "de",
            "3 offene Aufgaben, 1 erledigt\n\n❗ Call the dentist · Fr., 27.11., überfällig · t2\n"
            "• Taxes · So., 31.01.2027 · t3\n• Bread · shopping · t1\n✓ Pay rent · t4",
        ),
    ],
)
def test_tasks_are_shown_by_urgency_with_done_ones_last(language: str, text: str) -> None:
    answer = tasks_answer(things(BREAD, RENT, TAXES, DENTIST), "", here(language))

    assert answer == Shown(answer.text, answer.buttons)
    assert answer.text == text
    assert commands(answer) == ["/tasks t2", "/tasks t3", "/tasks t1", "/tasks t4"]


@pytest.mark.parametrize(
    ("due", "now", "overdue"),
    [
        ("2026-11-30", "2026-11-30T23:59", False),
        ("2026-11-30", "2026-12-01T00:00", True),
        ("2026-11-30T16:00", "2026-11-30T15:59", False),
        ("2026-11-30T16:00", "2026-11-30T16:00", True),
    ],
)
def test_a_task_is_overdue_when_its_day_or_time_is_over(due: str, now: str, overdue: bool) -> None:
    one = task("t1", "Taxes", due=due, zone="Europe/Berlin")

    assert ("overdue" in tasks_answer(things(one), "", here(now_ms=ms(now))).text) is overdue


def test_a_page_never_has_more_buttons_than_allowed_and_pages_are_turned() -> None:
    many = things(*(task(f"t{n}", f"Item {n}") for n in range(1, 20)))

    pages = [tasks_answer(many, str(page), here()) for page in (1, 2, 4, 99)]

    assert all(len(commands(page)) <= MOST_BUTTONS for page in pages)
    assert [commands(page)[-2:] for page in pages[:2]] == [
        ["/tasks t14", "/tasks 2"],
        ["/tasks 1", "/tasks 3"],
    ]
    assert pages[2].text == pages[3].text
    assert "Page 4 of 4" in pages[2].text
    assert "Item 1 ·" in pages[2].text


def test_a_list_is_found_by_its_name_and_turned_within_it() -> None:
    listed = [task(f"t{n}", f"Item {n}", list_name="Einkauf") for n in range(1, 9)]

    answer = tasks_answer(things(*listed, task("t99", "Taxes")), "einkauf", here("de"))

    assert "Taxes" not in answer.text
    assert commands(answer)[-1] == "/tasks einkauf 2"


def test_a_command_too_long_for_a_button_gets_none() -> None:
    listed = [task(f"t{n}", f"Item {n}", list_name="ü" * 40) for n in range(1, 9)]

    answer = tasks_answer(things(*listed), "ü" * 40, here())

    assert all(len(command.encode()) <= 64 for command in commands(answer))
    assert len(commands(answer)) == 6


def test_one_task_is_shown_whole_with_its_memos_and_all_its_buttons() -> None:
    one = task("t2", "Call the dentist", note="About the\nappointment", due="2026-12-01T10:00", zone="America/New_York",
               list_name="health", priority="low", project="home")  # fmt: skip

    answer = tasks_answer(
        things(one, memo("m3", "Number: 030 1", about="t2"), memo("m4", "else")), "t2", here()
    )

    assert answer.text == (
        "• Call the dentist\nDue: Tue, 1 Dec, 10:00 (America/New_York)\nList: health\nPriority: low\nProject: home\n\n"
        "About the\nappointment\n\nm3: Number: 030 1\n\nt2 · Mon, 30 Nov, 15:59"
    )
    assert commands(answer) == [
        "/tasks done t2",
        "/tasks tomorrow t2",
        "/tasks high t2",
        "/tasks delete t2",
        "/tasks",
    ]


def test_delete_stands_only_where_one_thing_is_shown() -> None:
    kept = things(
        BREAD, memo("m2", "Key"), event("e3", "Dentist", "2026-12-01T10:00"), fact("f4", "diet", "vegan")
    )

    for command, id_ in (("tasks", "t1"), ("memos", "m2"), ("agenda", "e3"), ("facts", "f4")):
        assert not any("delete" in button for button in commands(ANSWERS[command](kept, "", here())))
        assert f"/{command} delete {id_}" in commands(ANSWERS[command](kept, id_, here()))


@pytest.mark.parametrize(
    ("argument", "update", "text"),
    [
        ("done t1", {"done_ms": NOW_MS}, "Done: Bread"),
        ("high t1", {"priority": "high"}, "Important: Bread"),
        ("tomorrow t1", {"due": "2026-12-01", "zone": "Europe/Berlin"}, "Bread: due Tue, 1 Dec"),
    ],
)
def test_a_tap_changes_one_thing_of_one_task(argument: str, update: dict[str, object], text: str) -> None:
    answer = edit(tasks_answer(things(BREAD, TAXES), argument, here()))

    assert answer.ran.put == (BREAD.model_copy(update={**update, "changed_ms": NOW_MS}),)
    assert answer.text == text
    assert commands(answer)[-1] == "/tasks"


def test_tomorrow_keeps_the_time_of_day_and_the_zone_of_the_task() -> None:
    late = here(now_ms=ms("2026-12-01T02:00"))  # still Monday in New York
    one = task("t1", "Call", due="2026-11-20T09:30", zone="America/New_York", done_ms=5)

    answer = edit(tasks_answer(things(one), "tomorrow t1", late))

    (changed,) = answer.ran.put
    assert isinstance(changed, Task)
    assert (changed.due, changed.zone, changed.done_ms) == ("2026-12-01T09:30", "America/New_York", 0)


def test_done_can_be_opened_again_by_the_button_of_its_answer() -> None:
    done = edit(tasks_answer(things(BREAD), "done t1", here()))
    assert commands(done)[0] == "/tasks open t1"
    (changed,) = done.ran.put
    assert isinstance(changed, Task)

    opened = edit(tasks_answer(things(changed), "open t1", here()))

    assert opened.ran.put == (changed.model_copy(update={"done_ms": 0}),)


def test_the_same_tap_twice_changes_nothing_the_second_time() -> None:
    first = tasks_answer(things(RENT), "done t4", here())

    assert first == Shown("Done: Pay rent", first.buttons)


# ── memos ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_memos_are_shown_newest_first_and_one_of_them_whole() -> None:
    long = "Zeile eins\n" + "wort " * 200
    kept = things(
        task("t1", "Keller"),
        memo("m2", long, title="Schlüssel", about="t1", project="haus"),
        memo("m3", "neu"),
    )

    listed, whole = memos_answer(kept, "", here("de")), memos_answer(kept, "m2", here("de"))

    assert (
        listed.text
        == "2 Notizen\n\n• neu · Mo., 30.11., 15:59 · m3\n• Schlüssel · Mo., 30.11., 15:59 · zu Keller (t1) · Projekt: haus · m2"
    )
    assert commands(listed) == ["/memos m3", "/memos m2"]
    assert whole.text == f"Schlüssel\n\n{long}\n\nm2 · Mo., 30.11., 15:59 · zu Keller (t1) · Projekt: haus"
    assert commands(whole) == ["/memos delete m2", "/memos"]


def test_a_task_of_a_project_is_listed_with_it() -> None:
    kept = things(task("t1", "Bread", list_name="shopping", project="house"), task("t2", "Taxes"))

    assert tasks_answer(kept, "", here()).text == (
        "2 open tasks\n\n• Taxes · t2\n• Bread · shopping · Project: house · t1"
    )


def test_memos_are_found_by_their_words() -> None:
    kept = things(memo("m1", "The Wi-Fi password"), memo("m2", "Cellar key"))

    assert commands(memos_answer(kept, "KEY", here())) == ["/memos m2"]
    assert memos_answer(kept, "garage", here()).text == "Nothing here says “garage”; /memos shows all."


# ── agenda ───────────────────────────────────────────────────────────────────────────────────────────────────────
AGENDA = things(
    event("e1", "Holiday", "2026-11-29", end="2026-12-02"),
    event("e2", "Dentist", "2026-12-01T10:00", end="2026-12-01T10:45", place="Room 3"),
    event("e3", "Call", "2026-12-01T19:00", zone="America/New_York"),
    event("e4", "Team", "2026-11-02T09:00", rrule="FREQ=WEEKLY"),
    event("e5", "Far", "2026-12-08T10:00"),
    event("e6", "Last day", "2026-12-07"),
    event("e7", "Over", "2026-11-29T10:00"),
    reminder("r8", "Pills", "2026-12-01T08:00", rrule="FREQ=WEEKLY;BYDAY=TU,WE", first="2026-12-01T08:00"),
    reminder("r9", "Fired", "2026-11-30T08:00", due_ms=0, fired_ms=ms("2026-11-30T08:00")),
    task("t10", "Bread"),
)


def test_the_agenda_has_today_and_the_next_seven_days() -> None:
    answer = agenda_answer(AGENDA, "", here())

    assert answer.text == (
        "Today, Mon, 30 Nov\n• Holiday · until Wed, 2 Dec · e1\n09:00 Team · e4\n\n"
        "Tomorrow, Tue, 1 Dec\n08:00 ⏰ Pills · r8\n10:00–10:45 Dentist · Room 3 · e2\n\n"
        "Wed, 2 Dec\n01:00 Call · 19:00 America/New_York · e3\n08:00 ⏰ Pills · r8\n\n"
        "Mon, 7 Dec\n• Last day · e6\n09:00 Team · e4"
    )
    assert commands(answer) == [
        "/agenda e1", "/agenda e4", "/agenda r8", "/agenda e2", "/agenda e3", "/agenda e6", "/agenda 30",
    ]  # fmt: skip


def test_the_agenda_goes_further_when_asked() -> None:
    answer = agenda_answer(AGENDA, "30", here())

    assert "Tue, 8 Dec" in answer.text
    assert "Far" in answer.text
    assert "Wed, 30 Dec\n08:00 ⏰ Pills" in answer.text
    assert "2027" not in answer.text
    assert len(commands(answer)) <= MOST_BUTTONS
    assert "/agenda 30" not in commands(answer)


def test_an_empty_week_says_so_and_offers_more() -> None:
    answer = agenda_answer(things(event("e1", "Far", "2026-12-20T10:00")), "", here("de"))

    assert answer.text == "Heute und in den 7 Tagen danach ist nichts."
    assert commands(answer) == ["/agenda 30"]


def test_what_recurs_often_is_one_line_a_day_and_a_long_agenda_is_cut() -> None:
    hourly = [
        reminder(f"r{n}", f"Drink {n}", "2026-11-30T17:00", rrule="FREQ=HOURLY", first="2026-11-30T17:00")
        for n in range(1, 8)
    ]

    answer = agenda_answer(things(*hourly), "", here())

    assert "17:00 ⏰ Drink 1 · 7 times that day · r1" in answer.text
    assert answer.text.endswith("… and 16 more")


def test_of_a_year_that_is_full_only_its_beginning_is_worked_out() -> None:
    hourly = [
        reminder(f"r{n}", f"Drink {n}", "2026-11-30T17:00", rrule="FREQ=HOURLY", first="2026-11-30T17:00")
        for n in range(1, 101)
    ]

    answer = agenda_answer(things(*hourly), "366", here())

    assert "17:00 ⏰ Drink 1 · 7 times that day · r1" in answer.text
    assert answer.text.endswith("… and many more")


def test_what_recurs_keeps_its_wall_time_over_the_change_of_clocks() -> None:  # C50
    spring = here(now_ms=ms("2027-03-27T12:00"))
    kept = things(
        event("e1", "Run", "2027-03-26T08:00", end="2027-03-26T09:00", rrule="FREQ=DAILY"),
        event("e2", "Night", "2027-03-27T22:00", end="2027-03-28T06:00"),
        reminder("r3", "Pills", "2027-03-28T08:00", rrule="FREQ=DAILY", first="2026-12-01T08:00"),
    )

    text = agenda_answer(kept, "1", spring).text

    assert text == (
        "Today, Sat, 27 Mar\n08:00–09:00 Run · e1\n22:00 – Sun, 28 Mar, 06:00 Night · e2\n\n"
        "Tomorrow, Sun, 28 Mar\n08:00–09:00 Run · e1\n08:00 ⏰ Pills · r3"
    )


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Africa/Algiers"])
def test_what_a_gap_skips_stands_where_the_clock_goes_on(zone: str) -> None:  # C50
    """02:30 is skipped in Berlin; the clock of Algiers, which shows 02:30 then, is not changed."""
    spring = here(now_ms=ms("2027-03-27T12:00"))
    kept = things(
        event("e1", "Run", "2027-03-28T02:30", zone=zone, rrule="FREQ=WEEKLY"),
        reminder("r2", "Pills", "2027-03-28T02:30", zone=zone, rrule="FREQ=DAILY", first="2026-12-01T02:30",
                 due_ms=ms("2027-03-28T03:30")),
    )  # fmt: skip
    there = "" if zone == "Europe/Berlin" else " · 02:30 Africa/Algiers"

    text = agenda_answer(kept, "1", spring).text

    assert text == f"Tomorrow, Sun, 28 Mar\n03:30 Run{there} · e1\n03:30 ⏰ Pills · r2"
    assert "Repeats: Sun, 28 Mar, " in agenda_answer(kept, "e1", spring).text


def test_the_next_times_of_one_thing_are_moved_by_a_gap_too() -> None:
    run = event("e1", "Run", "2027-03-27T02:30", rrule="FREQ=DAILY;COUNT=2")

    answer = agenda_answer(things(run), "e1", here(now_ms=ms("2027-03-27T12:00")))

    assert "\nRepeats: Sun, 28 Mar, 03:30\n" in answer.text


# ── tasks in the agenda ──────────────────────────────────────────────────────────────────────────────────────────
PLANNED_TASKS = things(
    DENTIST,
    task("t3", "Taxes", due="2026-12-01", zone="Europe/Berlin"),
    task("t4", "Write to Anna", due="2026-11-30T20:00", zone="America/New_York"),
    task("t5", "Ring the bank", due="2026-11-28T09:00", zone="Europe/Berlin"),
    task("t6", "Done already", due="2026-12-01", done_ms=NOW_MS),
    task("t7", "Later", due="2026-12-08", zone="Europe/Berlin"),
    event("e8", "Holiday", "2026-11-30"),
    event("e9", "Dinner", "2026-11-30T19:00"),
    BREAD,
)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "en",
            "Today, Mon, 30 Nov\n☐ Call the dentist · Fri, 27 Nov, overdue · t2\n• Holiday · e8\n"
            "☐ Ring the bank · Sat, 28 Nov, 09:00, overdue · t5\n19:00 Dinner · e9\n\n"
            "Tomorrow, Tue, 1 Dec\n☐ Taxes · t3\n02:00 ☐ Write to Anna · t4",
        ),
        (
            "de",
            "Heute, Mo., 30.11.\n☐ Call the dentist · Fr., 27.11., überfällig · t2\n• Holiday · e8\n"
            "☐ Ring the bank · Sa., 28.11., 09:00, überfällig · t5\n19:00 Dinner · e9\n\n"
            "Morgen, Di., 01.12.\n☐ Taxes · t3\n02:00 ☐ Write to Anna · t4",
        ),
    ],
)
def test_open_tasks_stand_in_the_agenda_when_they_are_due_and_late_ones_today(
    language: str, text: str
) -> None:
    answer = agenda_answer(PLANNED_TASKS, "", here(language))

    assert answer.text == text
    assert commands(answer) == [
        "/tasks t2", "/agenda e8", "/tasks t5", "/agenda e9", "/tasks t3", "/tasks t4", "/agenda 30",
    ]  # fmt: skip


def test_tasks_are_found_in_the_agenda_by_their_words() -> None:
    answer = agenda_answer(PLANNED_TASKS, "taxes", here())

    assert answer == Shown("Tomorrow, Tue, 1 Dec\n☐ Taxes · t3", answer.buttons)
    assert commands(answer) == ["/tasks t3"]
    assert "Nothing here says" in agenda_answer(PLANNED_TASKS, "bread", here()).text


def test_without_a_task_that_is_due_nothing_is_planned() -> None:
    kept = things(BREAD, task("t6", "Done already", due="2026-12-01", done_ms=NOW_MS))

    assert agenda_answer(kept, "", here()) == agenda_answer(things(), "", here())


@pytest.mark.parametrize("argument", ["t3", "done t3", "delete t3"])
def test_what_is_asked_of_a_task_by_way_of_the_agenda_is_as_by_tasks(argument: str) -> None:
    assert agenda_answer(PLANNED_TASKS, argument, here()) == tasks_answer(PLANNED_TASKS, argument, here())


def test_a_reminder_that_is_late_stands_on_today() -> None:
    late = reminder("r1", "Pills", "2026-11-29T08:00")

    assert agenda_answer(things(late), "", here()).text == "Today, Mon, 30 Nov\n08:00 ⏰ Pills · r1"


def test_a_snoozed_reminder_stands_where_it_fires_next() -> None:
    one = reminder("r1", "Pills", "2026-12-01T08:00", rrule="FREQ=DAILY", first="2026-11-01T08:00",
                   due_ms=ms("2026-11-30T16:10"))  # fmt: skip

    text = agenda_answer(things(one), "1", here()).text

    assert text == "Today, Mon, 30 Nov\n16:10 ⏰ Pills · r1\n\nTomorrow, Tue, 1 Dec\n08:00 ⏰ Pills · r1"


def test_an_event_that_has_begun_stands_on_today_until_it_is_over() -> None:
    one = event("e1", "Fair", "2026-11-28T10:00", end="2026-12-01T18:00")

    assert agenda_answer(things(one), "", here()).text.startswith(
        "Today, Mon, 30 Nov\n10:00 – Tue, 1 Dec, 18:00 Fair"
    )
    assert "Nothing" in agenda_answer(things(one), "", here(now_ms=ms("2026-12-02T00:00"))).text


def test_one_event_is_shown_with_its_next_times_and_its_memos() -> None:
    one = event(
        "e4",
        "Team",
        "2026-11-02T09:00",
        end="2026-11-02T09:30",
        rrule="FREQ=WEEKLY",
        note="Weekly",
        place="HQ",
    )

    answer = agenda_answer(things(one, memo("m5", "Bring cake", about="e4")), "e4", here())

    assert answer.text.startswith(
        "Team\nWhen: Mon, 2 Nov, 09:00–09:30\nWhere: HQ\n"
        "Repeats: Mon, 7 Dec, 09:00; Mon, 14 Dec, 09:00; Mon, 21 Dec, 09:00 …\n\nWeekly\n\nm5: Bring cake\n\ne4 ·"
    )
    assert commands(answer) == ["/agenda delete e4", "/agenda"]


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "When: Tue, 1 Dec, 08:00"),
        ({"due_ms": ms("2026-11-30T17:00")}, "When: Mon, 30 Nov, 17:00"),
        ({"due_ms": 0, "fired_ms": NOW_MS}, "Was due: Mon, 30 Nov, 16:00"),
        ({"rrule": "FREQ=DAILY;UNTIL=20261201", "first": "2026-11-01T08:00"}, "Repeats: Tue, 1 Dec, 08:00"),
        ({"rrule": "FREQ=DAILY;UNTIL=20261128", "first": "2026-11-01T08:00"}, "Repeats: not any more"),
    ],
    ids=["waits", "snoozed", "fired", "recurs", "ran out"],
)
def test_one_reminder_says_when_it_fires(more: dict[str, object], line: str) -> None:
    answer = agenda_answer(things(reminder("r1", "Pills", "2026-12-01T08:00", **more)), "r1", here())

    assert line in answer.text.split("\n")


def test_a_deleted_reminder_fires_no_more() -> None:
    answer = edit(agenda_answer(things(reminder("r4", "Pills", "2026-12-01T08:00")), "delete r4", here()))

    assert answer.ran.drop == ("r4",)
    assert answer.ran.effects == (Effect("ZREM", keys.due(), ("home:u:42|r4",)),)
    assert answer.text == "Deleted: Pills"


# ── facts ────────────────────────────────────────────────────────────────────────────────────────────────────────
def fact(id_: str, subject: str, text: str, before: str = "") -> Fact:
    return Fact(id=id_, subject=subject, text=text, at_ms=NOW_MS + int(id_[1:]), before=before)


def test_facts_are_dated_and_say_what_was_before() -> None:  # C32
    kept = things(fact("f1", "diet", "eats meat", before="is vegetarian"), fact("f2", "sister", "Anna"))

    assert facts_answer(kept, "", here()).text == (
        "2 things that I know for good\n\n• sister: Anna · Mon, 30 Nov, 16:00 · f2\n"
        "• diet: eats meat · Mon, 30 Nov, 16:00 · f1"
    )
    assert facts_answer(kept, "f1", here()).text == (
        "diet\n\neats meat\nBefore that: is vegetarian\n\nf1 · known since Mon, 30 Nov, 16:00"
    )


def test_facts_that_are_switched_off_can_still_be_deleted() -> None:
    kept = things(fact("f1", "diet", "vegan"))

    assert "vegan" in facts_answer(kept, "", here(), kept=False).text
    assert edit(facts_answer(kept, "delete f1", here(), kept=False)).ran.drop == ("f1",)
    assert "tools.facts" in facts_answer(things(), "", here(), kept=False).text


@pytest.mark.parametrize(
    ("user_id", "line"),
    [
        ("42", "der Besitzer dieses Bots kann das ändern (tools.facts)."),
        ("1", "Du kannst das ändern: Schreib in koi.toml unter [tools] facts = true, und starte mich neu."),
    ],
    ids=["a member", "the owner"],
)
async def test_the_owner_is_told_how_facts_are_switched_on(house: House, user_id: str, line: str) -> None:
    assert (await house.say("/facts", user_id=user_id)).endswith(line)


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("command", ANSWERS)
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("private", [True, False])
def test_nothing_kept_is_one_friendly_answer_that_says_how_to_begin(
    command: str, language: str, private: bool
) -> None:
    answer = ANSWERS[command](things(), "", here(language, private=private))

    assert answer.buttons == ()
    assert "“" in answer.text or "„" in answer.text
    assert ("group" in answer.text or "Gruppe" in answer.text) is not private


@pytest.mark.parametrize("command", ANSWERS)
def test_an_id_that_nothing_has_is_one_sentence(command: str) -> None:
    for argument in ("t77", "delete m77", "done e77", "f77"):
        answer = ANSWERS[command](things(BREAD), argument, here("de"))

        assert answer == Shown(f"{argument.split()[-1]} gibt es hier nicht; /{command} zeigt, was es gibt.")


@pytest.mark.parametrize(
    ("command", "argument"), [("memos", "done m2"), ("agenda", "high e3"), ("facts", "open f4")]
)
def test_what_cannot_be_done_with_a_thing_is_said(command: str, argument: str) -> None:
    kept = things(memo("m2", "Key"), event("e3", "Dentist", "2026-12-01T10:00"), fact("f4", "diet", "vegan"))

    assert "cannot be done" in ANSWERS[command](kept, argument, here()).text


async def test_edits_are_made_on_the_store_and_leave_the_rest(redis: RedisPort) -> None:
    kept = things(
        BREAD, memo("m2", "Key"), reminder("r3", "Pills", "2026-12-01T08:00"), fact("f4", "diet", "vegan")
    )
    owner = here().owner
    for one in (*kept.by_id.values(), *kept.facts.values()):
        key = keys.facts(owner) if isinstance(one, Fact) else keys.things(owner)
        await redis.hset(key, one.id, one.model_dump_json())
    await redis.zadd(keys.due(), {f"{owner}|r3": 1, "other|r3": 2})

    for command, argument in (
        ("tasks", "done t1"),
        ("memos", "delete m2"),
        ("agenda", "delete r3"),
        ("facts", "delete f4"),
    ):
        now = await load_things(redis, owner)
        pipe = redis.pipeline()
        for effect in change_effects(owner, now, edit(ANSWERS[command](now, argument, here())).ran):
            pipe.execute_command(effect.command, effect.key, *effect.args)
        await pipe.execute()

    left = await load_things(redis, owner)
    assert left.by_id == {"t1": BREAD.model_copy(update={"done_ms": NOW_MS, "changed_ms": NOW_MS})}
    assert left.facts == {}
    assert left.version == 4
    assert await redis.zrange(keys.due(), 0, -1) == [b"other|r3"]


@pytest.mark.parametrize(("command", "id_"), [("tasks", "t1"), ("agenda", "e2")])
def test_what_belongs_to_a_deleted_thing_stays_and_is_named(command: str, id_: str) -> None:
    kept = things(
        BREAD, event("e2", "Dentist", "2026-12-01T10:00"), memo("m3", "Bring the card", about=id_),
        reminder("r4", "Leave", "2026-12-01T09:00", about=id_),
    )  # fmt: skip

    answer = edit(ANSWERS[command](kept, f"delete {id_}", here()))

    assert answer.ran.drop == (id_,)
    assert answer.text.endswith("\nWhat belongs to it stays: Bring the card (m3), Leave (r4)")
