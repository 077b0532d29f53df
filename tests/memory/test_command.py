"""`koi memory`, against a real server."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from redis import Redis

from cli.memory import memory, user_id_of

type Koi = Callable[..., Result]

NOW = datetime.now(UTC)
ROWS = [
    {"timestamp": (NOW - timedelta(hours=2)).isoformat(), "user_message": "Check wo das Chemitek-Paket bleibt",
     "assistant_summary": "UPS: Mittwoch. Grüße", "session_name": "", "workdir": "/srv"},
    {"timestamp": (NOW - timedelta(hours=1)).timestamp(), "user_message": "Soll [bold]Mittwoch[/] kommen",
     "assistant_summary": ""},
    {"timestamp": NOW.isoformat(), "user_message": "my code is 4711", "assistant_summary": "Noted.",
     "session_name": "telegram_43"},
    {"timestamp": (NOW - timedelta(hours=30)).isoformat(), "user_message": "old", "assistant_summary": "old"},
    {"user_message": "no time"},
]  # fmt: skip


@pytest.fixture
def koi(valkey_socket: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Koi:
    """Runs `koi memory …` with an empty database of its own; the owner is 42."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "REDIS_URL": f"unix://{valkey_socket}?db=3", "TELEGRAM_OWNER": "42", "TZ": "Europe/Berlin", "COLUMNS": "100",
        "KOI_LANGUAGE": "en",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with Redis(unix_socket_path=str(valkey_socket), db=3) as client:
        client.flushdb()

    def run(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(memory, arguments, input=stdin)

    return run


@pytest.fixture
def filled(koi: Koi, tmp_path: Path) -> Koi:
    file = tmp_path / "history.json"
    file.write_text(json.dumps(ROWS), "utf-8")
    assert koi("import", str(file)).exit_code == 0
    return koi


def listed(koi: Koi, *arguments: str) -> list[dict[str, Any]]:
    return json.loads(koi(*arguments).stdout)


def test_an_old_file_comes_over_with_one_command_that_says_what_became_of_it(
    koi: Koi, tmp_path: Path
) -> None:
    file = tmp_path / "history.json"
    file.write_text(json.dumps(ROWS), "utf-8")

    first, second = koi("import", str(file)), koi("import", str(file))

    assert first.stdout.splitlines() == ["imported: 3", "expired, older than 24 h: 1", "refused: 1"]
    assert first.stderr == "entry 5: timestamp is missing, or is not a time\n"
    assert second.stdout.splitlines()[0] == "imported: 0"
    assert second.stdout.splitlines()[-1] == "already there: 3"


def test_the_flat_list_is_printed_indented_with_umlauts(filled: Koi) -> None:
    shown = filled("show", "--json").stdout

    assert shown.startswith('[\n  {\n    "timestamp": "')
    assert '"assistant_summary": "UPS: Mittwoch. Grüße"' in shown
    assert filled("export", "--plain").stdout == shown
    assert [set(row) for row in json.loads(shown)] == [
        {"timestamp", "user_message", "assistant_summary", "session_name", "workdir"}
    ] * 2


def test_what_is_exported_can_be_imported_for_another_person(filled: Koi) -> None:
    exported = filled("export").stdout

    assert filled("import", "-", "--user", "anna", stdin=exported).exit_code == 0

    assert [row["user_message"] for row in listed(filled, "show", "--json", "--user", "local:anna")] == [
        row["user_message"] for row in json.loads(exported)
    ]


def test_each_person_and_store_is_apart(filled: Koi) -> None:  # C30, C31
    assert [row["user_message"] for row in listed(filled, "show", "--json", "--user", "43")] == [
        "my code is 4711"
    ]
    assert "4711" not in filled("show", "--json").stdout
    assert listed(filled, "show", "--json", "--store", "work") == []


def test_people_see_each_exchange_with_how_long_it_stays(filled: Koi) -> None:
    shown = filled("show").stdout

    assert shown.splitlines()[0] == "42: 2 exchanges of at most 20, each kept for 24 h"
    assert re.search(r"21 h 5\d min left", shown)  # the command reads the machine's clock
    assert "You  Soll [bold]Mittwoch[/] kommen" in shown
    assert filled("show", "--user", "nobody").stdout.strip() == "local:nobody: nothing from the last 24 h"


def test_forgotten_is_gone(filled: Koi) -> None:  # C33
    assert filled("forget", "CHEMITEK-Paket").stdout == "Forgot 1 entry.\n"
    assert filled("forget", "last").stdout == "Forgot 1 entry.\n"
    assert filled("forget", "all").stdout == "Forgot 0 entries.\n"
    assert listed(filled, "show", "--json") == []
    assert len(listed(filled, "show", "--json", "--user", "43")) == 1
    assert filled("forget", " ").exit_code == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"not json", "Expecting value"), (b"\xff\xfe", "is not UTF-8 text"), (b"5", "no list of entries"), (None, "No such file")],
    ids=["no JSON", "no text", "no list", "no file"],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_in_one_line(
    koi: Koi, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "history.json"
    if content is not None:
        file.write_bytes(content)

    result = koi("import", str(file))

    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_person_is_named_by_telegram_id_or_by_name() -> None:
    assert [user_id_of(name) for name in ("42", "anna", "local:anna")] == ["42", "local:anna", "local:anna"]
