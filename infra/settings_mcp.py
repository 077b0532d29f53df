"""What the `[[mcp]]` tables must be together. Whether a server is there, only the one that connects can know."""

from collections.abc import Sequence

from infra.settings_sections import McpSettings
from infra.settings_sources import BadSetting, shown


def check_servers(servers: Sequence[McpSettings], bots: Sequence[str]) -> None:
    """bots: the names of all `[[bots]]`.

    Raises: BadSetting: two servers have one name, or one of them cannot be meant as it is written.
    """
    names = [server.name for server in servers]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise BadSetting(f"mcp.name is {twice!r} twice; each server must have a name of its own")
    for server in servers:
        if wrong := _wrong(server) or _for_nobody(server, bots):
            raise BadSetting(f"mcp {server.name!r} {wrong}")


def _wrong(server: McpSettings) -> str:
    if server.url and server.command:
        return "has both a url and a command; it must have one of them"
    if not server.url and not server.command:
        return "has neither a url nor a command; it must have one of them"
    if server.command and server.token_env:
        return "has a token_env, which is for a url; a command is given variables by env"
    if server.url and server.env:
        return "has env, which is for a command; a url is given a token by token_env"
    if server.command and not server.command[0]:
        return "has a command that begins with nothing; it must be a program and its arguments"
    return ""


def _for_nobody(server: McpSettings, bots: Sequence[str]) -> str:
    unknown = next((name for name in server.bots if name not in bots), "")
    if not unknown:
        return ""
    those = f"one of {', '.join(bots)}" if bots else "the name of a [[bots]] table, and there is none"
    return f"is for the bot {shown(unknown)}; it must be {those}"
