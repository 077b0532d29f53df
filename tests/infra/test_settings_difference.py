"""What a changed koi.toml means for processes that run."""

from typing import Any

from pydantic import SecretStr

from infra.settings import BotSettings, Settings
from infra.settings_difference import Difference, difference, in_force
from infra.settings_sections import McpSettings, PlanSettings, QueueSettings

A = BotSettings(name="a", token=SecretStr("1:a"), persona="Be brief.")
B = BotSettings(name="b", token=SecretStr("2:b"))


def settings(*bots: BotSettings, **more: Any) -> Settings:
    return Settings(bots=bots, **more)


def test_the_same_settings_differ_in_nothing_in_whatever_order_the_bots_stand() -> None:
    assert difference(settings(A, B), settings(B, A)) == Difference()


def test_a_bot_is_started_or_ended_by_its_name() -> None:
    c = BotSettings(name="c")

    assert difference(settings(A, B), settings(A, c)) == Difference(started=("c",), ended=("b",))


def test_whatever_is_said_about_a_bot_changes_it() -> None:
    for change in ({"persona": "Sing."}, {"models": ("m",)}, {"language": "de"}, {"people": ("7",)}, {"people": ()},
                   {"memory": "office"}, {"token": SecretStr("1:other")}):  # fmt: skip
        changed = A.model_copy(update=change)

        assert difference(settings(A, B), settings(changed, B)) == Difference(changed=("a",)), change


def test_a_plain_token_is_a_bot_too() -> None:
    before = settings(telegram_bot_tokens=(SecretStr("1:a"), SecretStr("2:b")))
    after = settings(telegram_bot_tokens=(SecretStr("2:new"),))

    assert difference(before, after) == Difference(ended=("bot 1",), changed=("bot 2",))


def test_everything_else_needs_a_restart_and_is_named_as_in_the_file() -> None:
    before = settings(A, plans={"free": PlanSettings()}, telegram_owner="7")
    after = settings(
        A, B, queue=QueueSettings(concurrency=3), plans={"free": PlanSettings(messages_per_day=1), "x y": PlanSettings()},
        models=("m",), telegram_owner="7", mcp=(McpSettings(name="git", command=("git",)),),
    )  # fmt: skip

    found = difference(before, after)

    assert found.started == ("b",)
    assert found.needs_restart == ("queue.concurrency", "plans.free", 'plans."x y"', "mcp", "models")


def test_only_the_bots_are_in_force_at_once() -> None:
    before = settings(A, language="en", telegram_bot_tokens=(SecretStr("9:x"),))
    after = settings(B, language="de")

    found = in_force(before, after)

    assert found == before.model_copy(update={"bots": (B,), "telegram_bot_tokens": ()})
    assert difference(found, after).needs_restart == ("language",)
