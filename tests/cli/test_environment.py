"""The settings of a process."""

from pathlib import Path

import pytest

from cli.environment import koi_settings, redis_patience_s
from infra.settings import BadSetting, Settings

TOML = """
[[bots]]
name = "work"
token_env = "WORK_TOKEN"
"""


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "koi.toml").write_text(TOML)
    monkeypatch.setenv("KOI_CONFIG", str(tmp_path / "koi.toml"))
    monkeypatch.delenv("WORK_TOKEN", raising=False)


def test_who_does_not_speak_for_the_bots_needs_no_token_of_theirs() -> None:
    (bot,) = koi_settings().bots

    assert (bot.name, bot.token.get_secret_value()) == ("work", "")


def test_who_speaks_for_the_bots_needs_their_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadSetting, match="WORK_TOKEN"):
        koi_settings(speaks=True)

    monkeypatch.setenv("WORK_TOKEN", "7001:AAAAAAAAAAAAAAAA")
    assert koi_settings(speaks=True).bots[0].token.get_secret_value() == "7001:AAAAAAAAAAAAAAAA"


def test_a_named_redis_that_does_not_answer_is_not_waited_for_long() -> None:
    assert redis_patience_s(Settings(redis_url="redis://x")) < redis_patience_s(Settings())
