"""Calls of the Bot API that must work in the end: repeated until they do."""

from collections.abc import Awaitable, Callable
from typing import assert_never

from aiogram.exceptions import AiogramError

from bot.console import Console
from bot.faults import (
    BadButtons,
    BadEntities,
    BadToken,
    Conflict,
    Fault,
    Flooded,
    Gone,
    Moved,
    NotReached,
    Refused,
    Unknown,
    fault_of,
)


class TokenRefused(Exception):
    """Telegram does not know this token: going on is pointless."""


async def insist[T](
    call: Callable[[], Awaitable[T]], console: Console, sleep: Callable[[float], Awaitable[None]]
) -> T:
    """What `call` gives once it works; people hear of trouble that lasts.

    Raises: TokenRefused.
    """
    while True:
        try:
            result = await call()
        except AiogramError as error:
            await sleep(_wait_s(fault_of(error), console))
        else:
            console.telegram_back()
            return result


def _wait_s(fault: Fault, console: Console) -> float:
    match fault:
        case BadToken():
            raise TokenRefused
        case Conflict():
            return console.conflict()
        case Flooded(retry_after_s=seconds):
            return seconds
        case NotReached(why=why):
            return console.telegram_away(why)
        case Unknown(why=why) | Gone(why=why) | Refused(why=why):
            return console.telegram_away(why, patience=1)
        case BadEntities() | BadButtons() | Moved():
            return console.telegram_away("400")
        case _:
            assert_never(fault)
