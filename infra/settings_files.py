"""What koi.toml names but does not hold: tokens of bots and of MCP servers, and personas that stand in files."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from infra.settings_places import Place
from infra.settings_sources import BadSetting, Written, content_of, secret, shown

PERSONA_FILES = (".md", ".txt")
"""A persona that ends so is the name of a file, relative to where koi was started."""


def resolve_tokens(
    written: Written, environ: Mapping[str, str], *, required: bool, only: frozenset[str]
) -> None:
    """Fill `token` of each bot, and leave in telegram_bot_tokens those of no named bot.

    required: this process speaks for the bots; those named by `only`, if there is one.

    Raises: BadSetting: a token that is required is not there.
    """
    named: set[str] = set()
    for place, table in _tables(written, "bots"):
        is_required = required and (not only or table.get("name") in only)
        if table.get("token_file") and table.get("token_env"):
            name = written.name_of((*place, "token_file"))
            raise BadSetting(f"{name} is set beside token_env; it must be one of them")
        token = _from_variable(written, environ, place, table, required=is_required) or _from_file(
            written, place, table, required=is_required
        )
        if token:
            named.add(token)
    loose = cast("list[str]", written.tree.get("telegram_bot_tokens", []))
    if loose:
        written.tree["telegram_bot_tokens"] = [token for token in loose if token not in named]


def resolve_server_tokens(written: Written, environ: Mapping[str, str], *, required: bool) -> None:
    """Fill `token` of each MCP server.

    Raises: BadSetting: required, and token_env names nothing that is set.
    """
    for place, table in _tables(written, "mcp"):
        _from_variable(written, environ, place, table, required=required)


def read_personas(written: Written) -> None:
    """The words instead of the name of a file with them.

    Raises: BadSetting: a file cannot be read.
    """
    for place, table in _tables(written, "bots"):
        persona = table.get("persona")
        if isinstance(persona, str) and persona.endswith(PERSONA_FILES):
            table["persona"] = content_of(Path(persona), written.name_of((*place, "persona")))


def _tables(written: Written, section: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The tables of a list, with their places; what is none is refused later."""
    found = cast("object", written.tree.get(section))
    tables = cast("list[object]", found) if isinstance(found, list) else []
    for at, one in enumerate(tables):
        if isinstance(one, dict):
            yield (section, at), cast("dict[str, Any]", one)


def _from_variable(
    written: Written, environ: Mapping[str, str], place: Place, table: dict[str, Any], *, required: bool
) -> str:
    """Raises: BadSetting: required, and token_env names nothing that is set."""
    variable = table.get("token_env")
    if not variable or not isinstance(variable, str):
        return ""
    token = table["token"] = secret(environ, variable)
    if token:
        written.names[*place, "token"] = variable
    elif required:
        name = written.name_of((*place, "token_env"))
        raise BadSetting(f"{name} is {shown(variable)}; it must name a variable that is set, or its _FILE")
    return token


def _from_file(written: Written, place: Place, table: dict[str, Any], *, required: bool) -> str:
    """Read only by a process that speaks for the bot.

    Raises: BadSetting: it cannot be read.
    """
    file = table.get("token_file")
    if not file or not isinstance(file, str) or not required:
        return ""
    name = written.name_of((*place, "token_file"))
    token = table["token"] = content_of(Path(file), name)
    written.names[*place, "token"] = name
    return token
