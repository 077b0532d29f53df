"""The settings in force, and how long what is kept. No secrets: of those only whether they are set. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from pydantic import BaseModel, SecretStr

from infra.clock import ms
from infra.settings import Settings
from infra.settings_sources import masked

MOST_CHARS = 120
SECRET, NOT_SET = "•••", ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them, as koi.toml names it."""

    name: str
    value: str
    """As a person would write it; "": not set."""
    is_secret: bool = False
    is_default: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """How long something is kept."""

    what: str
    """A name of RETENTION."""
    ms: int | None
    """None: until somebody deletes it."""
    most: int | None = None
    """At most so many of them."""
    per: str = ""
    """Of what: "owner"."""


def in_force(settings: Settings) -> tuple[Setting, ...]:
    """All, in the order of the documentation."""
    return tuple(_flat(settings, Settings(), ""))


def _flat(value: Any, default: Any, name: str) -> Iterator[Setting]:
    if isinstance(value, BaseModel):
        for field in type(value).model_fields:
            yield from _flat(
                getattr(value, field), getattr(default, field, None), f"{name}.{field}" if name else field
            )
    elif isinstance(value, dict):
        for key, one in cast("Mapping[str, Any]", value).items():
            yield from _flat(one, None, f'{name}."{key}"')
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for nth, one in enumerate(cast("Sequence[BaseModel]", value)):
            yield from _flat(one, None, f"{name}[{nth}]")
    else:
        yield _setting(value, default, name)


def _setting(value: Any, default: Any, name: str) -> Setting:
    is_default = value == default
    if name.endswith(".command") and value:  # its arguments may hold a key
        value = (value[0], *("…" for _ in value[1:2]))
    if isinstance(value, SecretStr):
        return Setting(
            name, SECRET if value.get_secret_value() else NOT_SET, is_secret=True, is_default=is_default
        )
    if isinstance(value, tuple) and value and isinstance(value[0], SecretStr):
        return Setting(name, SECRET, is_secret=True, is_default=is_default)
    return Setting(name, _written(value), is_default=is_default)


def _written(value: Any) -> str:
    if value is None:
        return NOT_SET
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return span_written(ms(value))
    if isinstance(value, tuple):
        value = ", ".join(map(str, cast("Sequence[object]", value)))
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        value = value.partition("?")[0]
    text = " ".join(masked(str(value)).split())
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def span_written(duration_ms: int) -> str:
    """As koi.toml takes it: "24h", "90s", "700ms"."""
    for unit_ms, unit in ((3_600_000, "h"), (60_000, "m"), (1000, "s")):
        if duration_ms and duration_ms % unit_ms == 0:
            return f"{duration_ms // unit_ms}{unit}"
    return f"{duration_ms}ms"


DAY_MS = 24 * 3_600_000


def kept_by(settings: Settings) -> tuple[Kept, ...]:
    """What is kept how long; the constants are those of who writes it (named in docs/architecture.md)."""
    max_age_ms = ms(settings.memory.max_age)
    return (
        Kept("entries", max_age_ms, settings.memory.entries, "owner"),
        Kept("conversations", ms(settings.session.idle)),
        Kept("records", max_age_ms, 50, "owner"),
        Kept("waiting", None),
        Kept("dead", None),
        Kept("things", None),
        Kept("lives", 31 * DAY_MS, 20_000),
        Kept("minutes", 32 * DAY_MS),
        Kept("calls", 31 * DAY_MS, 20_000),
        Kept("spent", 62 * DAY_MS),
        Kept("audit", 400 * DAY_MS, 10_000),
        Kept("seen", 2 * DAY_MS),
    )
