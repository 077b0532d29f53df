"""Log lines: events with fields, tidy on a terminal, JSON elsewhere; never the text of a person, never a secret.

Text gets into logs by three doors, and each is closed here: exceptions (their messages quote input, their tracebacks
show it), the packages we use (arq logs job arguments, HTTP clients log URLs with tokens in them), and careless fields.
"""

import logging
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from types import TracebackType
from typing import Any, TextIO, cast

import orjson
import structlog
from structlog.dev import Column, ConsoleRenderer, KeyValueColumnFormatter, LogLevelColumnFormatter
from structlog.typing import Processor

from infra.settings_sources import masked

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "quiet": logging.CRITICAL}
EVENT_WIDTH = 28
TEMPLATE_CHARS = 120
FRAMES = 8
"""Innermost places of a failure that are named."""
DIM, BOLD, PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"
LEVEL_STYLES = {
    "debug": DIM,
    "info": "\x1b[32m",
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[31m",
}


def start_log(level: str, file: TextIO | None = None, renderer: Processor | None = None) -> None:
    """Set the log up for this process.

    level: "debug", "info", or "quiet" (nothing). file: default stderr, so that stdout stays for answers.
    renderer: the last step, event fields → line; default by whether `file` is a terminal.
    """
    target = file or sys.stderr
    stamp = "%H:%M:%S" if renderer or target.isatty() else "iso"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt=stamp, utc=stamp == "iso", key="time"),
            without_messages,
            without_secrets,
            renderer or (terminal_lines() if target.isatty() else json_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=target),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [Packages()]
    root.setLevel(logging.WARNING)
    for name in logging.root.manager.loggerDict:  # some packages set levels of their own (ANTHROPIC_LOG)
        if isinstance(logging.root.manager.loggerDict[name], logging.Logger):
            logging.getLogger(name).setLevel(logging.NOTSET)


class Packages(logging.Handler):
    """Warnings and worse of the packages we use, as our events: who, and the sentence without what was filled in."""

    def emit(self, record: logging.LogRecord) -> None:
        template = str(record.msg).partition("\n")[0][:TEMPLATE_CHARS]
        log = structlog.get_logger().bind(package=record.name, template=template)
        log.log(record.levelno, "package_said", exc_info=record.exc_info)


def without_messages(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Turn `exc_info` into the kind of failure and its places in the code: no message, no values."""
    found: object = event.pop("exc_info", None)
    if isinstance(found, tuple):
        found = cast("tuple[object, ...]", found)[1]
    error = sys.exception() if found is True else found
    if isinstance(error, BaseException):
        event["error"] = " < ".join(type(one).__name__ for one in _chain(error))
        event["at"] = places_of(error.__traceback__)
    return event


def places_of(trace: TracebackType | None) -> str:
    """ "run_turn turn.py:42 < serve main.py:7": innermost first."""
    frames = traceback.extract_tb(trace)[-FRAMES:]
    return " < ".join(
        f"{one.name} {one.filename.rpartition('/')[2]}:{one.lineno}" for one in reversed(frames)
    )


def _chain(error: BaseException) -> list[BaseException]:
    """The error, then what it was raised from."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain


def without_secrets(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Blot out what looks like a token, a key or a password in an address; and half characters (services may send them),
    which no line can be written with: whoever logs must not fail by it.
    """
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = masked(value.encode("utf-8", "replace").decode())
    return event


def json_line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    """One JSON object, time and event first."""
    first = {name: event.pop(name) for name in ("time", "level", "event") if name in event}
    return orjson.dumps({**first, **event}, default=_kind).decode()


def _kind(value: object) -> object:
    """Of what JSON does not know only the kind is logged: its repr may hold anything."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    return type(value).__name__


def terminal_lines() -> Processor:
    """`14:02:11 turn_completed   lane=42:7:0 tools=2`, the level only in its colour."""
    fields = KeyValueColumnFormatter(DIM, "", PLAIN, str)
    return ConsoleRenderer(
        columns=[
            Column("time", KeyValueColumnFormatter(None, DIM, PLAIN, str)),
            Column("level", LogLevelColumnFormatter(LEVEL_STYLES, PLAIN)),
            Column("event", KeyValueColumnFormatter(None, BOLD, PLAIN, str, width=EVENT_WIDTH)),
            Column("", fields),
        ],
        sort_keys=False,
    )
