"""What goes on, one tidy line per event. The rest of koi logs events with fields; here they become lines."""

import sys
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from infra.log import start_log

SIGNS = {"debug": (" ", "dim"), "info": ("·", ""), "warning": ("!", "yellow"), "error": ("✗", "red")}
NOT_SHOWN = {"event", "level", "time", "turn_id", "reply_id", "bot_id", "name", "username", "calls"}
"""Fields that say nothing to a person, or stand elsewhere in the line."""
USUAL = {("ending", "complete"), ("messages", "1"), ("parts", "1")}
"""Values that say "as always"."""
EVENT_COLUMNS = 22


class LiveLines:
    """A structlog renderer for `koi up`: local time, a sign, the event in words, its fields."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, _logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
        with self._console.capture() as captured:
            self._console.print(line_of(event), soft_wrap=True, end="")
        return captured.get()


def line_of(event: Mapping[str, Any]) -> Text:
    """ "14:02:11 · turn answered           lane 7:42:0  model offline  took 0.4 s"."""
    sign, style = SIGNS.get(event["level"], SIGNS["error"])
    words = str(event["event"]).replace("_", " ")
    line = Text.assemble(
        (event["time"], "dim"), " ", (sign, style), f" {words:<{EVENT_COLUMNS}}", style=style
    )
    for name, value in sorted(event.items(), key=lambda field: field[0] != "lane"):
        if name not in NOT_SHOWN and value and (name, str(value)) not in USUAL:
            line.append(f"  {field_of(name, value)}", "dim")
    return line


def field_of(name: str, value: object) -> str:
    """`took_ms` = 1234 → "took 1.2 s"; a list as its parts; others as they are."""
    if name.endswith("_ms") and isinstance(value, int):
        return f"{name.removesuffix('_ms').replace('_', ' ')} {value / 1000:.1f} s"
    if isinstance(value, list | tuple):
        value = ", ".join(str(part) for part in cast("Sequence[object]", value))
    return f"{name.replace('_', ' ')} {value}"


def log_live(level: str, console: Console) -> None:
    """For `koi up`: beside what it says to people."""
    start_log(level, sys.stdout, LiveLines(console))
