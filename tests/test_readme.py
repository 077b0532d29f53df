"""What the README shows is true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.redis_port import RedisPort

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "README.de.md"]
FIRST_SCREEN_LINES = 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_first_screen_has_both_commands_and_a_picture_and_no_inner_words(page: Path) -> None:
    first_screen = "\n".join(page.read_text("utf-8").splitlines()[:FIRST_SCREEN_LINES])

    assert "uv run koi chat" in first_screen
    assert "uv run --group dev just test" in first_screen
    assert "](docs/conversation" in first_screen
    assert not re.search(r"koi\.toml|\blanes?\b|\bleases?\b|\bfenced?\b", first_screen)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"\]\(((?!https?:)[^)#]+)\)", page.read_text("utf-8"))

    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_path_in_the_pages_for_developers_exists() -> None:
    pages = [
        ROOT / "docs" / "architecture.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs" / "decisions").glob("*.md"),
    ]
    named = {
        path
        for page in pages
        for path in re.findall(r"`([a-z]+(?:/[a-zA-Z_.]+)+)(?:::\w+)?`", page.read_text("utf-8"))
    }

    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_the_library_example_runs(redis: RedisPort, valkey_socket: Path) -> None:
    example = re.search(r"```python\n(.*?)```", PAGES[0].read_text("utf-8"), re.DOTALL)
    assert example is not None
    code = example[1].replace("Redis()", f"Redis(unix_socket_path='{valkey_socket}')")

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert "UPS says Wednesday." in ran.stdout
    assert "It should come Wednesday" in ran.stdout
