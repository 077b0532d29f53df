"""Where settings are written: koi.toml, the environment, files with secrets. Values are still as they were written.

Not pydantic-settings: it reads os.environ itself, passes over misspelt variables, and its errors do not know by which
name a setting was written, nor in which line.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from infra.settings_places import Place, dotted, key_lines, leaves, quoted

PREFIX, NESTED = "KOI_", "__"
FLAT: Mapping[str, str] = {
    "TELEGRAM_BOT_TOKEN": "telegram_bot_tokens",
    "TELEGRAM_ALLOWED_USERS": "telegram_allowed_users",
    "TELEGRAM_OWNER": "telegram_owner",
    "TELEGRAM_API_BASE": "telegram_api_base",
    "TELEGRAM_WEBHOOK_URL": "telegram_webhook_url",
    "TELEGRAM_WEBHOOK_SECRET": "telegram_webhook_secret",
    "TELEGRAM_WEBHOOK_BIND": "telegram_webhook_bind",
    "ANTHROPIC_API_KEY": "anthropic_api_key",
    "ANTHROPIC_BASE_URL": "anthropic_base_url",
    "OPENROUTER_API_KEY": "openrouter_api_key",
    "OPENROUTER_BASE_URL": "openrouter_base_url",
    "KOI_LIGHT_MODEL": "light_model",
    "REDIS_URL": "redis_url",
    "KOI_VALKEY_BIN": "valkey_bin",
    "KOI_DATA_DIR": "data_dir",
    "KOI_LANGUAGE": "language",
    "KOI_LOG": "log",
    "TZ": "timezone",
    "KOI_DASHBOARD_BIND": "dashboard_bind",
    "KOI_DASHBOARD_PASSWORD": "dashboard_password",
    "KOI_DASHBOARD_READER_PASSWORD": "dashboard_reader_password",
    "KOI_ALERT_EMAIL": "alert_email",
    "SMTP_URL": "smtp_url",
    "SMTP_HOST": "smtp_host",
    "SMTP_PORT": "smtp_port",
    "SMTP_USER": "smtp_user",
    "SMTP_PASSWORD": "smtp_password",
}
"""Names that work without any file → the field of Settings."""
TABLES: Mapping[str, str] = {"bots": "bot", "mcp": "server"}
"""Lists of tables → what each table is."""
LISTS = ("telegram_bot_tokens", "telegram_allowed_users", "models", "people")
"""Fields (the last part of a nested name) whose variables hold several values, with commas."""
FREE_NAMES = ("prices", "plans")
"""Sections whose tables have names that people choose: `[plans.free]`."""
SECRETS = {
    name: field_name
    for name, field_name in FLAT.items()
    if name.endswith(("_TOKEN", "_SECRET", "_KEY", "_PASSWORD")) or name in {"REDIS_URL", "SMTP_URL"}
}
"""Those that `NAME_FILE` works for, and that koi.toml may not hold (a REDIS_URL: not with a password)."""
OTHERS = ("KOI_MODEL", "KOI_FALLBACK_MODEL", "KOI_CONFIG", "KOI_CLOCK_OFFSET")
"""Names read elsewhere."""


PASSWORD_IN_URL = re.compile(r"(?<=//)[^/@\s]*@")
SECRET_LOOKS = re.compile(r"\d{5,}:[\w-]{16,}|sk-[\w-]{8,}")
"""A bot token; a key of Anthropic or OpenRouter."""


class BadSetting(ValueError):
    """One line: which setting, what it is, what it must be. Never holds a secret."""


@dataclass(slots=True)
class Written:
    """All that was written, and by which name each setting goes."""

    tree: dict[str, Any] = field(default_factory=dict[str, Any])
    names: dict[Place, str] = field(default_factory=dict[Place, str])

    def put(self, place: Place, value: Any, name: str) -> None:
        """Set one value, over what was there.

        Raises: BadSetting: something on the way is no section.
        """
        node = cast("dict[str | int, Any]", self.tree)
        for at, part in enumerate(place[:-1]):
            inner: object = node.setdefault(part, {})
            if not isinstance(inner, dict):
                raise BadSetting(f"{self.name_of(place[: at + 1])} must be a section with settings in it")
            node = cast("dict[str | int, Any]", inner)
        node[place[-1]] = value
        self.names[place] = name

    def name_of(self, place: Place) -> str:
        """The name that the person used for a setting, or for the whole that it is part of, or for a part of it."""
        for end in range(len(place), 0, -1):
            if place[:end] in self.names:
                return self.names[place[:end]]
        inner = (name for known, name in self.names.items() if known[: len(place)] == place)
        return next(inner, dotted(place))


def read_file(written: Written, file: Path) -> None:
    """Add what koi.toml says.

    Raises: BadSetting: not readable, not TOML, with a secret in it, or with one table where several may be.
    """
    try:
        text = file.read_text("utf-8")
        tree = tomllib.loads(text)
    except OSError as error:
        raise BadSetting(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError
        raise BadSetting(f"{file.name} is not TOML: {error}") from error
    for section in TABLES:
        if isinstance(tree.get(section), dict):
            raise BadSetting(f"{file.name}: [{section}] {must_be_tables(section)}")
    lines = dict(key_lines(text))
    for place, value in leaves(tree):
        line = next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), None)
        name = f"{file.name} line {line}: {dotted(place)}" if line else f"{file.name}: {dotted(place)}"
        _refuse_secret(place, value, name)
        written.names[place] = name
    written.tree = tree


def _refuse_secret(place: Place, value: Any, name: str) -> None:
    last = str(place[-1])
    variable = next((v for v, field_name in SECRETS.items() if last in {v, field_name}), "")
    is_url = variable.endswith("_URL")
    if is_url and not re.search("://[^/]*@", str(value)):
        return
    if variable or last == "token":
        where = f"{variable} or {variable}_FILE" if variable else "a variable named by token_env"
        raise BadSetting(
            f"{name} is a secret, which does not belong in this file; set {where} in the environment"
        )


def read_environment(written: Written, environ: Mapping[str, str]) -> None:
    """Add what the environment says; empty values count as not set.

    Raises: BadSetting: a KOI_ name that is almost one of ours, or of a list of tables; a secret's file that cannot be read.
    """
    for name, field_name in FLAT.items():
        value = secret(environ, name) if name in SECRETS else environ.get(name, "")
        if value:
            written.put((field_name,), split(value) if field_name in LISTS else value, name)
    for name, value in environ.items():
        if not value or not name.startswith(PREFIX) or name in FLAT or name in OTHERS:
            continue
        if NESTED in name:
            place = tuple(name.removeprefix(PREFIX).lower().split(NESTED))
            if place[0] in TABLES:
                raise BadSetting(
                    f"{name} cannot be set here; it belongs in a [[{place[0]}]] table of koi.toml"
                )
            written.put(place, split(value) if place[-1] in LISTS else value, name)
        elif name.removesuffix("_FILE") not in SECRETS:
            _refuse_near_miss(name)


def _refuse_near_miss(name: str) -> None:
    for near in difflib.get_close_matches(name, [*FLAT, *OTHERS], 1, 0.8):
        raise BadSetting(f"{name} is not a setting; did you mean {near}?")


def secret(environ: Mapping[str, str], name: str) -> str:
    """NAME, or the content of the file NAME_FILE without its last line end; "" if neither is set.

    Raises: BadSetting: both are set; the file is empty or cannot be read.
    """
    value, file = environ.get(name, ""), environ.get(f"{name}_FILE", "")
    if not file:
        return value
    if value:
        raise BadSetting(f"{name} and {name}_FILE are both set; it must be one of them")
    return content_of(Path(file), f"{name}_FILE")


def content_of(file: Path, name: str) -> str:
    """What stands in the file that the setting `name` names, without its last line end.

    Raises: BadSetting: it is empty or cannot be read.
    """
    try:
        content = file.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadSetting(f"{name} is {shown(file)}, which cannot be read: {why}") from error
    if not content:
        raise BadSetting(f"{name} is {shown(file)}, which is empty")
    return content


def split(value: str) -> list[str]:
    """ "a, b,,c" → a, b, c."""
    return [part.strip() for part in value.split(",") if part.strip()]


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────
def masked(text: str) -> str:
    """The same without passwords in addresses, and without what looks like a bot token or an API key."""
    return SECRET_LOOKS.sub("…", PASSWORD_IN_URL.sub("…@", text))


def shown(value: Any) -> str:
    """A value on one short line, masked."""
    text = masked(str(value))
    return repr(text if len(text) <= 60 else text[:59] + "…")


def must_be_tables(section: str) -> str:
    """For a list of tables that is written as something else."""
    return (
        f"must be written [[{section}]], with two brackets, as a table of its own for each {TABLES[section]}"
    )


def refuse_unknown(written: Written, known: frozenset[str]) -> None:
    """known: every setting there is, dotted, list items without their number, * for a name that people choose.

    Raises: BadSetting: something written is none of them, with the nearest one that is.
    """
    sections = {name.partition(".")[0] for name in known} | {f"{name}.*" for name in FREE_NAMES}
    for place, name in written.names.items():
        plain, chosen = _plain(place)
        if plain in known or plain in sections:
            continue
        near = _nearest(plain, known).replace("*", chosen or "NAME")
        if near and name.startswith(PREFIX):
            near = _as_variable(near)
        raise BadSetting(f"{name} is not a setting" + (f"; did you mean {near}?" if near else ""))


def _plain(place: Place) -> tuple[str, str]:
    """("bots", 0, "name") → bots.name; ("plans", "free", "people") → plans.*.people, and the name it has there."""
    parts = [part for part in place if isinstance(part, str)]
    if parts[0] not in FREE_NAMES or len(parts) == 1:
        return ".".join(parts), ""
    return ".".join([parts[0], "*", *parts[2:]]), quoted(parts[1])


def _nearest(wrong: str, known: frozenset[str]) -> str:
    """The setting that `wrong` most likely means, dotted; "" if it is like none."""
    last = wrong.rpartition(".")[2]
    if last in FLAT:  # an environment name in koi.toml
        return FLAT[last]
    right_key = [name for name in known if name.rpartition(".")[2] == last]
    near = difflib.get_close_matches(wrong, right_key or known, 1, 0.3 if right_key else 0.6)
    return near[0] if near else ""


def _as_variable(name: str) -> str:
    flat = next((variable for variable, field_name in FLAT.items() if field_name == name), "")
    return flat or PREFIX + name.upper().replace(".", NESTED)
