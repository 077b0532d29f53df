"""`koi export`."""

import json
from pathlib import Path
from typing import Any

import pytest
from icalendar import Calendar

from cli.export import file_name
from infra import keys
from infra.clock import system_clock
from infra.people import save_person
from infra.redis_port import RedisPort
from memory.conversation import ConversationMemory
from schemas.person import Person
from schemas.profile import Profile
from schemas.things import Event, Fact, Memo, Reminder, Task
from schemas.wire import dump
from tests.cli.conftest import Koi
from workers.periods import day_of, month_of
from workers.times import zone_of

OWNER = "home:u:42"
MADE_MS = 1_790_000_000_000
TASK = Task(
    id="t1",
    title="Brötchen",
    due="2026-12-01",
    zone="Europe/Berlin",
    priority="high",
    made_ms=MADE_MS,
    changed_ms=MADE_MS,
)
MEMO = Memo(id="m2", text="Schlüssel", made_ms=MADE_MS, changed_ms=MADE_MS)
EVENT = Event(
    id="e3",
    title="Zahnarzt",
    start="2027-03-28T10:00",
    zone="Europe/Berlin",
    rrule="FREQ=WEEKLY",
    made_ms=MADE_MS,
    changed_ms=MADE_MS,
)
REMINDER = Reminder(
    id="r4",
    text="Pillen",
    local="2026-12-01T08:00",
    zone="Europe/Berlin",
    due_ms=1,
    lane="7:42:0",
    made_ms=MADE_MS,
    changed_ms=MADE_MS,
)
FACT = Fact(id="f5", subject="diet", text="vegetarisch", at_ms=1, before="Fleisch")


async def keep(redis: RedisPort, *things: Task | Memo | Event | Reminder | Fact, owner: str = OWNER) -> None:
    for one in things:
        key = keys.facts(owner) if isinstance(one, Fact) else keys.things(owner)
        await redis.hset(key, one.id, dump(one))
    await redis.hset(keys.things(owner), "version", len(things))


async def whole_person(redis: RedisPort) -> None:
    """Something of every kind that is kept of somebody."""
    today = day_of(system_clock()(), zone_of(""))
    await save_person(redis, Person(user_id="42", name="Jörg", since_ms=5, language="de"))
    await redis.set(keys.profile("42"), dump(Profile(language="de", zone="Europe/Berlin")))
    await redis.hset(keys.spent("42", today), mapping={"answers": 3, "microusd": 1200})
    await redis.hset(keys.spent("42", month_of(today)), "microusd", 4500)
    await ConversationMemory(redis, OWNER).add(
        "Wo ist der Schlüssel?", "Hinter der Tür.", "telegram_42", "haus"
    )
    await keep(redis, TASK, MEMO, EVENT, REMINDER, FACT)


def read(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


async def test_everything_of_a_person_is_written(
    koi: Koi, redis: RedisPort, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await whole_person(redis)

    assert await koi("export", "--user", "42", "--to", str(tmp_path)) == 0

    flat, calendar = tmp_path / "koi-42.json", tmp_path / "koi-42.ics"
    assert capsys.readouterr().out == f"{flat}\n{calendar}\n"
    kept = read(flat)
    today = day_of(system_clock()(), zone_of(""))
    assert (kept["koi_export"], kept["user_id"], kept["store"], kept["role"]) == (1, "42", "home", "member")
    assert kept["person"]["name"] == "Jörg"
    assert kept["profile"] == {"language": "de", "zone": "Europe/Berlin"}
    assert kept["tasks"] == [TASK.model_dump(exclude={"v"})]
    assert kept["memos"] == [MEMO.model_dump(exclude={"v"})]
    assert kept["events"] == [EVENT.model_dump(exclude={"v"})]
    assert kept["reminders"] == [REMINDER.model_dump(exclude={"v"})]
    assert kept["facts"] == [FACT.model_dump(exclude={"v"})]
    assert kept["usage"] == {
        "days": {today: {"answers": 3, "microusd": 1200}}, "months": {month_of(today): {"microusd": 4500}},
    }  # fmt: skip
    assert "Brötchen" in flat.read_text("utf-8")


async def test_the_ring_is_what_koi_memory_import_takes(
    koi: Koi, redis: RedisPort, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await whole_person(redis)
    assert await koi("export", "--user", "42", "--to", str(tmp_path)) == 0
    capsys.readouterr()

    assert await koi("memory", "export", "--user", "42") == 0

    entries = read(tmp_path / "koi-42.json")["memory"]
    assert entries == json.loads(capsys.readouterr().out)
    assert entries[0]["assistant_reply"] == "Hinter der Tür."


async def test_the_calendar_has_events_reminders_and_tasks(
    koi: Koi, redis: RedisPort, tmp_path: Path
) -> None:
    await whole_person(redis)

    assert await koi("export", "--user", "42", "--to", str(tmp_path)) == 0

    calendar: Any = Calendar.from_ical((tmp_path / "koi-42.ics").read_bytes())
    assert sorted(str(one.summary) for one in calendar.events) == ["Pillen", "Zahnarzt"]
    assert [str(one.summary) for one in calendar.todos] == ["Brötchen"]


async def test_the_files_can_be_read_by_their_owner_only_and_are_replaced(
    koi: Koi, redis: RedisPort, tmp_path: Path
) -> None:
    await whole_person(redis)
    folder = tmp_path / "new" / "folder"
    folder.mkdir(parents=True)
    (folder / "koi-42.json").write_text("old")
    (folder / "koi-42.json").chmod(0o644)

    assert await koi("export", "--user", "42", "--to", str(folder)) == 0

    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == {
        "koi-42.json": 0o600, "koi-42.ics": 0o600,
    }  # fmt: skip
    assert read(folder / "koi-42.json")["user_id"] == "42"


async def test_without_a_folder_they_go_into_the_data_directory(
    koi: Koi, redis: RedisPort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(redis, TASK, owner="home:u:local:anna")
    monkeypatch.setenv("KOI_DATA_DIR", str(tmp_path))

    assert await koi("export", "--user", "anna") == 0

    assert (tmp_path / "exports").stat().st_mode & 0o777 == 0o700
    assert read(tmp_path / "exports" / "koi-local-anna.json")["tasks"][0]["title"] == "Brötchen"


@pytest.mark.parametrize(
    ("user", "role"), [("owner", "owner"), ("anna", "member"), ("42", "stranger")], ids=str
)
async def test_the_role_of_whoever_sits_at_the_machine_is_no_strangers(
    koi: Koi, redis: RedisPort, tmp_path: Path, user: str, role: str
) -> None:
    await keep(redis, TASK, owner=f"home:u:{user if user.isdecimal() else f'local:{user}'}")

    assert await koi("export", "--to", str(tmp_path), *(() if user == "owner" else ("--user", user))) == 0

    (file,) = tmp_path.glob("*.json")
    assert read(file)["role"] == role


async def test_things_of_others_and_of_other_stores_are_not_in_it(
    koi: Koi, redis: RedisPort, tmp_path: Path
) -> None:
    await keep(redis, TASK)
    await keep(redis, MEMO, owner="home:u:43")
    await keep(redis, EVENT, owner="home:g:-100:0")
    await keep(redis, REMINDER, owner="work:u:42")

    assert await koi("export", "--user", "42", "--to", str(tmp_path)) == 0
    assert await koi("export", "--user", "42", "--store", "work", "--to", str(tmp_path)) == 0

    home, work = read(tmp_path / "koi-42.json"), read(tmp_path / "koi-work-42.json")
    assert [len(home[kind]) for kind in ("tasks", "memos", "events", "reminders")] == [1, 0, 0, 0]
    assert [len(work[kind]) for kind in ("tasks", "memos", "events", "reminders")] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "koi: nobody with the id 77 is known in the store home\n"),
        ("de", "koi: unter der Kennung 77 ist im Speicher home niemand bekannt\n"),
    ],
)
async def test_an_unknown_person_is_one_sentence_and_no_file(
    koi: Koi, redis: RedisPort, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    language: str, line: str,
) -> None:  # fmt: skip
    await whole_person(redis)
    monkeypatch.setenv("KOI_LANGUAGE", language)

    assert await koi("export", "--user", "77", "--to", str(tmp_path)) == 1

    assert capsys.readouterr().err == line
    assert list(tmp_path.iterdir()) == []


async def test_somebody_who_was_let_in_and_did_nothing_is_known(
    koi: Koi, redis: RedisPort, tmp_path: Path
) -> None:
    await save_person(redis, Person(user_id="42", role="owner"))

    assert await koi("export", "--to", str(tmp_path)) == 0

    assert read(tmp_path / "koi-42.json")["role"] == "owner"


async def test_what_cannot_be_read_is_counted_aloud(
    koi: Koi, redis: RedisPort, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await keep(redis, TASK)
    await redis.hset(keys.things(OWNER), "t9", "{broken")

    assert await koi("export", "--user", "42", "--to", str(tmp_path)) == 0

    assert "1 more entry cannot be read" in capsys.readouterr().err
    assert len(read(tmp_path / "koi-42.json")["tasks"]) == 1


async def test_a_folder_that_cannot_be_written_is_told(
    koi: Koi, redis: RedisPort, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await keep(redis, TASK)
    (tmp_path / "file").write_text("")

    assert await koi("export", "--user", "42", "--to", str(tmp_path / "file" / "below")) == 1

    assert "koi-42.json: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("user_id", "store", "name"),
    [
        ("42", "home", "koi-42"),
        ("local:anna", "home", "koi-local-anna"),
        ("42", "work", "koi-work-42"),
        ("local:../../etc/x", "home", "koi-local-..-..-etc-x"),
        ("local:a b\n", "home", "koi-local-a-b-"),
    ],
)
def test_a_name_of_a_file_leaves_its_folder_never(user_id: str, store: str, name: str) -> None:
    assert file_name(user_id, store) == name
