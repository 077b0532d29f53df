"""The `[[bots]]` tables: who may use a bot, where its token and its persona are."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.settings import BadSetting, Settings, load_settings

TOKEN, OTHER = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "987654321:AAother-bot_token_of_35_characters_"


def load(
    folder: Path,
    toml: str,
    environ: Mapping[str, str] | None = None,
    *,
    speaks: bool = True,
    thinks: bool = True,
    only: frozenset[str] = frozenset(),
) -> Settings:
    (folder / "koi.toml").write_text(toml, "utf-8")
    return load_settings(environ or {}, folder / "koi.toml", speaks=speaks, thinks=thinks, only=only)


def test_a_bot_is_for_everybody_unless_people_are_named(tmp_path: Path) -> None:
    toml = '[[bots]]\nname = "all"\n[[bots]]\nname = "some"\npeople = [7, "8"]\n[[bots]]\nname = "mine"\npeople = ["owner"]\n[[bots]]\nname = "nobody"\npeople = []\n'

    settings = load(tmp_path, toml)

    assert [bot.people for bot in settings.bots] == [None, ("7", "8"), ("owner",), ()]


@pytest.mark.parametrize("wrong", ['["Ann"]', '["*"]', "[true]", '[""]', "[-5]"])
def test_people_are_named_by_their_ids_because_anybody_may_call_themselves_anything(
    tmp_path: Path, wrong: str
) -> None:
    with pytest.raises(BadSetting) as caught:
        load(tmp_path, f'[[bots]]\nname = "a"\npeople = {wrong}\n')

    assert str(caught.value).startswith("koi.toml line 3: bots[0].people")
    assert 'must be a Telegram user id, digits only (/people shows them), or "owner"' in str(caught.value)


def test_a_token_may_stand_in_a_file_which_is_there_without_a_restart(tmp_path: Path) -> None:
    (tmp_path / "a.token").write_text(f"{TOKEN}\n")

    settings = load(tmp_path, f'[[bots]]\nname = "a"\ntoken_file = "{tmp_path / "a.token"}"\n')

    assert settings.bots[0].token.get_secret_value() == TOKEN


def test_a_token_of_a_file_is_not_a_second_bot(tmp_path: Path) -> None:
    (tmp_path / "a.token").write_text(TOKEN)

    settings = load(
        tmp_path,
        f'[[bots]]\nname = "a"\ntoken_file = "{tmp_path / "a.token"}"\n',
        {"TELEGRAM_BOT_TOKEN": f"{TOKEN},{OTHER}"},
    )

    assert [token.get_secret_value() for token in settings.telegram_bot_tokens] == [OTHER]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "which cannot be read: No such file"),
        ("", "which is empty"),
        ("secret without a number", "must be a bot token"),
    ],
    ids=["missing", "empty", "no token"],
)
def test_a_wrong_token_file_is_one_line_without_the_secret(
    tmp_path: Path, content: str | None, expected: str
) -> None:
    if content is not None:
        (tmp_path / "t").write_text(content)

    with pytest.raises(BadSetting) as caught:
        load(tmp_path, f'[[bots]]\nname = "a"\ntoken_file = "{tmp_path / "t"}"\n')

    assert "koi.toml line 3: bots[0].token_file" in str(caught.value)
    assert expected in str(caught.value)
    assert "secret without" not in str(caught.value)


def test_a_token_stands_in_one_place(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="token_file is set beside token_env"):
        load(tmp_path, '[[bots]]\nname = "a"\ntoken_env = "T"\ntoken_file = "t"\n', {"T": TOKEN})


def test_who_does_not_speak_for_a_bot_needs_no_token_of_it(tmp_path: Path) -> None:
    toml = '[[bots]]\nname = "a"\ntoken_env = "A"\n[[bots]]\nname = "b"\ntoken_file = "nowhere"\n'

    assert len(load(tmp_path, toml, speaks=False).bots) == 2
    assert load(tmp_path, toml, {"A": TOKEN}, only=frozenset({"a"})).bots[0].token.get_secret_value() == TOKEN
    with pytest.raises(BadSetting, match="nowhere"):
        load(tmp_path, toml, {"A": TOKEN}, only=frozenset({"b"}))


def test_a_persona_in_a_file_is_read_by_who_thinks(tmp_path: Path) -> None:
    file = tmp_path / "pirate.md"
    file.write_text("You are a pirate.\n", "utf-8")
    toml = f'[[bots]]\nname = "a"\npersona = "{file}"\n'

    assert load(tmp_path, toml).bots[0].persona == "You are a pirate."
    assert load(tmp_path, toml, thinks=False).bots[0].is_own
    with pytest.raises(BadSetting, match=r"koi.toml line 3: bots\[0\].persona is 'gone.md', which cannot be"):
        load(tmp_path, '[[bots]]\nname = "a"\npersona = "gone.md"\n')
