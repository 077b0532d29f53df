"""`koi bot --only NAME`: one process for all bots, or many."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from cli.main import run
from cli.process import chosen_bots
from infra.settings import BotSettings, Settings

A, B = BotSettings(name="a", token=SecretStr("1:a")), BotSettings(name="b", token=SecretStr("2:b"))
ALL = Settings(bots=(A, B), telegram_bot_tokens=(SecretStr("3:c"),))


def test_only_the_chosen_bots_are_spoken_for() -> None:
    assert chosen_bots(ALL, frozenset({"b"})) == Settings(bots=(B,))
    assert chosen_bots(ALL, frozenset()) is ALL


def test_a_bot_that_is_not_there_cannot_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "koi.toml").write_text('[[bots]]\nname = "a"\ntoken_env = "NOT_SET"\n[[bots]]\nname = "b"\n')
    monkeypatch.setenv("KOI_CONFIG", str(tmp_path / "koi.toml"))

    assert run(["bot", "--only", "c"]) == 2
    assert capsys.readouterr().err == "koi: --only is 'c'; it must be the name of a [[bots]] table\n"
