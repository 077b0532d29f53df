"""One message and its reply, for scripts."""

import asyncio

import click
import orjson

from cli.buttons import choice_lines
from cli.faults import FAILED
from cli.room import Room
from cli.signals import passed
from cli.texts import say
from infra.clean import clean
from infra.clock import ms
from infra.settings import Settings
from schemas.reply import Reply

GRACE_S = 120.0
"""Beside the attempts of the turn: for back-off between them, and for the lease of a worker that died before."""


def patience_s(settings: Settings) -> float:
    """How long a reply may take: every attempt its whole deadline, and the pauses between."""
    return settings.turn.attempts * ms(settings.turn.deadline) / 1000 + GRACE_S


async def ask(room: Room, text: str, *, patience_s: float, stop: asyncio.Event) -> Reply | None:
    """Send one message and wait for its reply. None: `stop` was set, or it took too long (stderr says which).

    A reply to something else (asked before, and not answered then) goes to stderr, so that it is not lost.
    """
    message = room.message(text)
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(_answer_to(room, message.id))
        stopping = group.create_task(passed(stop, patience_s))
        await room.send(message)
        await asyncio.wait((answering, stopping), return_when=asyncio.FIRST_COMPLETED)
        answering.cancel()
        stopping.cancel()
    if not answering.cancelled():
        return answering.result()
    room.leave_now = True
    why = (
        say(room.seat.language, "stopped") if stop.is_set() else say(room.seat.language, "no answer in time")
    )
    later = say(room.seat.language, "the message is kept, and answered when koi runs again")
    click.echo(f"koi: {why}; {later}", err=True)
    return None


async def _answer_to(room: Room, message_id: str) -> Reply:
    async for reply in room.replies:
        if message_id in reply.answers:
            return reply
        click.echo(clean(reply.text), err=True)
    raise AssertionError("replies never end")


def printed(reply: Reply | None, *, as_json: bool) -> int:
    """The reply on stdout, a failure on stderr; gives the exit code."""
    if reply is None:
        return FAILED
    if as_json:
        click.echo(as_object(reply))
    elif not reply.failed:
        click.echo("\n".join((clean(reply.text), *choice_lines(reply))))
    if reply.failed:
        click.echo(f"koi: {clean(reply.text)}", err=True)
        return FAILED
    return 0


def as_object(reply: Reply) -> bytes:
    """JSON with what a script may want to know."""
    turn, _, _ = reply.id.rpartition(":")
    value = {
        "reply": clean(reply.text),
        "failed": reply.failed,
        "turn": turn,
        "answers": reply.answers,
        "language": reply.language,
        "buttons": [
            {"text": clean(button.text), "command": clean(button.command)}
            for row in reply.buttons
            for button in row
        ],
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)
