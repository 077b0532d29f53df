"""What people see: Markdown in the terminal, the live log, the head of `koi up`."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from rich.console import Console, RenderableType

from cli.chat import Person, greeting
from cli.live_log import field_of, line_of
from cli.markdown import rendered, with_visible_tags
from cli.process import without_tokens
from cli.processes import has_token
from cli.up import head
from infra.settings import BotSettings, MemorySettings, Settings
from schemas.reply import Reply
from tests.cli.conftest import reply

TOKEN = SecretStr("7001:AAAAAAAAAAAAAAAAAAAAAA")
WITH_TOKEN = Settings(telegram_bot_tokens=(TOKEN,), models=("claude-sonnet-5-5", "llama"))


def plain(*things: RenderableType) -> str:
    console = Console(width=100, no_color=True)
    with console.capture() as captured:
        for thing in things:
            console.print(thing)
    return captured.get()


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        pytest.param("<b>bold</b>", "&lt;b>bold&lt;/b>", id="tags are text"),
        pytest.param("`<b>` and <i>", "`<b>` and &lt;i>", id="code stays"),
        pytest.param("```\n<b>\n```\n<i>", "```\n<b>\n```\n&lt;i>", id="fenced code stays"),
        pytest.param("<https://x.y> 1 < 2", "<https://x.y> 1 < 2", id="links and less-than stay"),
    ],
)
def test_tags_outside_of_code_are_shown_as_text(markdown: str, shown: str) -> None:
    assert with_visible_tags(markdown) == shown


def test_what_koi_says_itself_is_no_markdown() -> None:
    said = Reply(id="t:line", bot_id="local", chat_id="local:jo", text="*a* <b>", plain=True)

    assert plain(rendered(said)) == "*a* <b>\n"
    assert "*" not in plain(rendered(reply(text="*a*")))


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        pytest.param({}, "14:02:11 · turn answered         \n", id="bare"),
        pytest.param(
            {"model": "offline", "took_ms": 1234, "turn_id": "x", "left": 0, "parts": 1, "lane": "7:42:0"},
            "14:02:11 · turn answered           lane 7:42:0  model offline  took 1.2 s\n", id="fields, without ids and zeros",
        ),
    ],
)  # fmt: skip
def test_an_event_is_one_line(fields: dict[str, Any], shown: str) -> None:
    event = {"time": "14:02:11", "level": "info", "event": "turn_answered", **fields}

    assert plain(line_of(event)).rstrip(" ") == shown


def test_a_list_of_values_is_shown_as_its_parts() -> None:
    assert field_of("models", ["a", "b"]) == "models a, b"


def test_up_says_what_is_missing_and_where_the_data_are() -> None:
    shown = plain(*head(Settings(data_dir="/srv/koi")))

    assert all(
        words in shown for words in ("/srv/koi", "TELEGRAM_BOT_TOKEN", "koi chat", "No model is set up")
    )


def test_with_everything_set_up_nothing_is_missing_and_no_secret_is_shown() -> None:
    shown = plain(*head(WITH_TOKEN.model_copy(update={"redis_url": "redis://:secret@host/0"})))

    assert "claude-sonnet-5-5 → llama" in shown
    assert "redis://…@host/0" in shown
    assert not any(words in shown for words in ("secret", "AAAA", "is not set", "is set up"))


def test_chat_says_who_talks_how_long_is_remembered_and_that_there_is_no_model() -> None:
    settings = Settings(memory=MemorySettings(max_age=timedelta(hours=2)))

    shown = plain(*greeting(settings, Person("jo", "")))

    assert all(words in shown for words in ("2 h", "jo", "/help", "Ctrl-D", "ANTHROPIC_API_KEY"))
    assert len(greeting(WITH_TOKEN, Person("", ""))) == 2


def test_a_worker_holds_nothing_that_can_speak_for_a_bot() -> None:
    settings = WITH_TOKEN.model_copy(update={"bots": (BotSettings(name="work", token=TOKEN),)})

    stripped = without_tokens(settings)

    assert has_token(settings)
    assert not has_token(stripped)
    assert "AAAA" not in str(stripped.model_dump(context={"secrets": True}))
    assert [bot.name for bot in stripped.bots] == ["work"]
