"""Logs without colours, of one process of many and beside a conversation. Apart from cli.live_log: rich costs 5 MB, and these never
print a table.
"""

from infra import import_without

import_without("rich", "structlog")  # structlog imports it for tracebacks in colour, which koi does not log

from infra.log import start_log  # noqa: E402 — imports structlog


def log_apart(level: str) -> None:
    """For one process of many: on stderr, JSON unless that is a terminal."""
    start_log(level)


def log_quiet(level: str) -> None:
    """Beside a conversation or an answer nothing is logged, unless KOI_LOG=debug asks for it: then on stderr."""
    start_log("debug" if level == "debug" else "quiet")
