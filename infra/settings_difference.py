"""What a changed koi.toml means for processes that run. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from pydantic import BaseModel

from infra.settings import Settings
from infra.settings_places import dotted
from infra.settings_sections import BotSettings

IN_FORCE_AT_ONCE = ("bots", "telegram_bot_tokens")
"""Fields of Settings that are used without a restart."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Bots by name (a plain token as "bot" and its number), in the order of the file."""

    started: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    needs_restart: tuple[str, ...] = ()
    """Settings as koi.toml names them: "queue.lease"."""


def difference(old: Settings, new: Settings) -> Difference:
    """old: what is in force. new: what was read."""
    before, after = _bots(old), _bots(new)
    return Difference(
        started=tuple(name for name in after if name not in before),
        ended=tuple(name for name in before if name not in after),
        changed=tuple(name for name in after if name in before and after[name] != before[name]),
        needs_restart=tuple(_differing(old, new)),
    )


def in_force(old: Settings, new: Settings) -> Settings:
    """Of `new` what is used without a restart, of `old` the rest."""
    return old.model_copy(update={name: getattr(new, name) for name in IN_FORCE_AT_ONCE})


def _bots(settings: Settings) -> dict[str, BotSettings]:
    named = {bot.name: bot for bot in settings.bots}
    numbers = {f"bot {token.get_secret_value().partition(':')[0]}": token for token in settings.telegram_bot_tokens}  # fmt: skip
    return named | {name: BotSettings(name=name, token=token) for name, token in numbers.items()}


def _differing(old: Settings, new: Settings) -> Iterator[str]:
    for name in Settings.model_fields:
        if name in IN_FORCE_AT_ONCE:
            continue
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        inner = _parts(before), _parts(after)
        changed = [key for key in inner[0] | inner[1] if inner[0].get(key) != inner[1].get(key)]
        yield from (dotted((name, key)) for key in changed) if changed else (name,)


def _parts(value: object) -> dict[str, object]:
    """The settings of a section; none of a plain setting."""
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
