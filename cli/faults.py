"""Errors at the border of the process: a line for people, an exit code for scripts."""

import os
import sys
import traceback
from typing import cast

import click

FAILED, BAD_CONFIGURATION, INTERRUPTED = 1, 2, 130


class Failure(click.ClickException):
    """It did not work, for a reason that the person is told in one line. Exit code 1."""

    def show(self, file: object = None) -> None:
        click.echo(f"koi: {self.message}", err=True)


def ended_by(error: BaseException) -> int:
    """Tell on stderr what went wrong (a traceback only with KOI_LOG=debug), and give the exit code."""
    if os.environ.get("KOI_LOG", "").lower() == "debug":
        traceback.print_exception(error)
    match innermost(error):
        case click.ClickException() as told:
            told.show()
            return told.exit_code
        case click.Abort() | KeyboardInterrupt():
            return INTERRUPTED
        case BrokenPipeError():
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # nobody reads: no complaint at exit
            return FAILED
        case fault if _is_configuration(fault):
            click.echo(f"koi: {fault}", err=True)
            return BAD_CONFIGURATION
        case fault:
            click.echo(f"koi: {type(fault).__name__}: {fault} (KOI_LOG=debug shows where)", err=True)
            return FAILED


def cause_of(error: Exception) -> str:
    """Why a part failed, in a few words: the kind of error, and of the system's errors what they name (a file, a port);
    other errors may quote people.
    """
    inner = innermost(error)
    return f"{type(inner).__name__}: {inner}" if isinstance(inner, OSError) else type(inner).__name__


def innermost(error: BaseException) -> BaseException:
    """What a task group wrapped, if it is one thing."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return innermost(inner[0]) if len(inner) == 1 else cast("BaseException", error)
    return error


def _is_configuration(error: BaseException) -> bool:
    """A setting is wrong, or names a Redis that cannot be used. Asked without importing what was not imported yet."""
    kinds = (("infra.settings", "BadSetting"), ("infra.valkey", "BadRedis"))
    return any(
        isinstance(error, getattr(sys.modules[module], name))
        for module, name in kinds
        if module in sys.modules
    )
