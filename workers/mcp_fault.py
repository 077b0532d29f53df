"""What the console says of an MCP server that was never reached: what is wrong, and where it is set. Pure."""

from infra.settings_sections import McpSettings
from infra.settings_sources import shown
from workers.texts import say


def fault_line(server: McpSettings, error: str, language: str) -> str:
    """error: its kind, as the log has it ("FileNotFoundError")."""
    if not server.command:
        return say(
            language,
            "[[mcp]] {name}: {url} does not answer as an MCP server ({error}), so its tools are missing; I keep trying. Is "
            "url right in koi.toml, and token_env, if it wants a token?",
            name=server.name,
            url=shown(server.url),
            error=error,
        )
    program = shown(server.command[0])
    match error:
        case "FileNotFoundError":
            return say(
                language,
                "[[mcp]] {name}: there is no program {program}, so its tools are missing. Install it, or set command in "
                "koi.toml to one that is there.",
                name=server.name,
                program=program,
            )
        case "PermissionError":
            return say(
                language,
                "[[mcp]] {name}: {program} may not be run, so its tools are missing. Set command in koi.toml to a program "
                "that may.",
                name=server.name,
                program=program,
            )
        case _:
            return say(
                language,
                "[[mcp]] {name}: {program} starts, but does not answer as an MCP server ({error}), so its tools are missing; "
                "I keep trying. Is command right in koi.toml?",
                name=server.name,
                program=program,
                error=error,
            )
