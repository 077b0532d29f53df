"""The command as a whole: help, exit codes, what people see of an error."""

import subprocess
import sys

import click
import pytest

from cli.faults import Failure, cause_of, ended_by
from cli.main import COMMANDS, LazyGroup, run
from infra.settings import BadSetting

HEAVY = ("aiogram", "anthropic", "redis", "pydantic", "rich", "structlog")


def test_help_lists_every_command_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from cli.main import run; run(['--help']); "
        f"sys.exit(' '.join(name for name in {HEAVY} if name in sys.modules) or 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"  {name}  " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_has_a_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"Usage: koi {name}" in capsys.readouterr().out


def test_no_command_loads_the_packages_of_telegram_or_a_model_before_it_needs_them() -> None:
    modules = ", ".join(where.partition(":")[0] for where, _ in COMMANDS.values())
    code = f"import sys, {modules}; sys.exit(' '.join({{'aiogram', 'anthropic'}} & set(sys.modules)) or 0)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("koi ")


def test_an_unknown_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dance"]) == 2
    assert "No such command 'dance'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        pytest.param(BadSetting("KOI_X is wrong"), 2, "koi: KOI_X is wrong\n", id="bad setting"),
        pytest.param(Failure("no such letter"), 1, "koi: no such letter\n", id="failure"),
        pytest.param(KeyboardInterrupt(), 130, "", id="ctrl-c"),
        pytest.param(
            ValueError("odd"), 1, "koi: ValueError: odd (KOI_LOG=debug shows where)\n", id="unexpected"
        ),
        pytest.param(
            ExceptionGroup("", [ExceptionGroup("", [BadSetting("KOI_X is wrong")])]), 2, "koi: KOI_X is wrong\n",
            id="in groups",
        ),
    ],
)  # fmt: skip
def test_an_error_ends_in_one_line_and_its_code(
    error: BaseException,
    code: int,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KOI_LOG", raising=False)

    assert ended_by(error) == code
    assert capsys.readouterr().err == line


def test_why_a_part_failed_names_files_but_quotes_nobody() -> None:
    assert cause_of(ExceptionGroup("", [ValueError("my words")])) == "ValueError"
    assert "no.md" in cause_of(FileNotFoundError(2, "No such file", "no.md"))


def test_debug_shows_where_it_happened(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOI_LOG", "debug")

    @click.command()
    def fail() -> None:
        raise ValueError("odd")

    monkeypatch.setattr(LazyGroup, "get_command", lambda _group, _ctx, _name: fail)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    assert run(["fail"]) == 1
    assert "Traceback" in capsys.readouterr().err
