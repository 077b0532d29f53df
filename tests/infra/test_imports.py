"""What a process of koi keeps out of its memory until something needs it."""

import subprocess
import sys

import pytest

HEAVY = ("PIL", "cryptography.hazmat", "mcp", "tools.mcp_link")


def printed(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize(
    "start",
    [
        "import bot.main",
        "import workers.main",
        "from cli.main import koi; koi.get_command(None, 'up')",
        "from cli.main import koi; koi.get_command(None, 'chat')",
        "from tools.mcp import Hub; Hub([], {})",
    ],
)
def test_a_process_starts_without_cryptography_and_mcp(start: str) -> None:
    code = f"import sys; {start}; import redis.asyncio, jwt; print([m for m in {HEAVY} if m in sys.modules])"

    assert printed(code) == "[]"


@pytest.mark.parametrize("command", ["bot", "worker", "dashboard"])
def test_a_process_of_its_own_starts_without_rich(command: str) -> None:
    code = f"import sys; from cli.main import koi; koi.get_command(None, {command!r}); import infra.log; print('rich' in sys.modules)"

    assert printed(code) == "False"


def test_cryptography_is_there_for_those_who_want_it() -> None:
    code = "import infra, sys; import cryptography.x509, jwt; print(cryptography.__name__, jwt.__name__)"

    assert printed(code) == "cryptography jwt"


def test_what_is_loaded_already_is_left_alone() -> None:
    code = "import cryptography.x509 as a; import infra, sys; print(sys.modules['cryptography.x509'] is a)"

    assert printed(code) == "True"


def test_koi_starts_where_jwt_is_not_installed() -> None:
    code = "import sys; sys.modules['jwt'] = None; import infra; print('cryptography' in sys.modules)"

    assert printed(code) == "False"
