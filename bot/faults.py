"""What a failed call of the Bot API means for whoever made it: a closed set."""

from dataclasses import dataclass

from aiogram.exceptions import (
    AiogramError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramUnauthorizedError,
)
from aiohttp import ClientConnectorError, ConnectionTimeoutError

GONE = (
    "chat not found",
    "user is deactivated",
    "user not found",
    "bot was kicked",
    "PEER_ID_INVALID",
    "upgraded to a",
)
"""In the text of a 400: nobody is there any more."""
BUTTONS = ("button", "keyboard", "reply markup", "reply_markup")
"""In the text of a 400: the buttons are wrong (BUTTON_DATA_INVALID, "can't parse inline keyboard button", …)."""

NO_METHOD = "method not found"
"""In the text of a 404: the Bot API server is older than what it is asked for."""


@dataclass(frozen=True, slots=True)
class NotReached:
    """No connection came about: certainly nothing was sent."""

    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Telegram may have done it or not: no answer, half an answer, or a 5xx."""

    why: str


@dataclass(frozen=True, slots=True)
class Flooded:
    """429: certainly not sent; not before the wait is over."""

    retry_after_s: int


@dataclass(frozen=True, slots=True)
class Gone:
    """The person blocked the bot, or the chat is no more."""

    why: str


@dataclass(frozen=True, slots=True)
class BadEntities:
    """The text is good, its formatting is not."""


@dataclass(frozen=True, slots=True)
class BadButtons:
    """The text is good, its buttons are not."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Telegram will never take this."""

    why: str


@dataclass(frozen=True, slots=True)
class BadToken:
    """401, or 404 for a token that never was one."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """409: somebody else polls with this token, or a webhook is set."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The group has become a supergroup."""

    chat_id: str
    """Its new id."""


type Fault = (
    NotReached | Unknown | Flooded | Gone | Moved | BadEntities | BadButtons | Refused | BadToken | Conflict
)


def fault_of(error: AiogramError) -> Fault:  # noqa: PLR0911 — one line per kind
    """The kind of a failure of one call."""
    match error:
        case TelegramRetryAfter(retry_after=seconds):
            return Flooded(seconds)
        case TelegramForbiddenError(message=message):
            return Gone(message)
        case TelegramMigrateToChat(migrate_to_chat_id=chat_id):
            return Moved(str(chat_id))
        case TelegramUnauthorizedError(message=message) | TelegramNotFound(message=message):
            return Refused(message) if NO_METHOD in message.lower() else BadToken()
        case TelegramConflictError():
            return Conflict()
        case TelegramBadRequest(message=message) | TelegramEntityTooLarge(message=message):
            return _bad_request(message)
        case TelegramNetworkError(message=message) if _never_connected(error.__cause__):
            return NotReached(message)
        case _:  # 5xx, an answer that is no JSON, a broken or silent connection
            return Unknown(type(error).__name__)


def _bad_request(message: str) -> Fault:
    lowered = message.lower()
    if any(words.lower() in lowered for words in GONE):
        return Gone(message)
    if "entit" in lowered:
        return BadEntities()
    if any(words in lowered for words in BUTTONS):
        return BadButtons()
    return Refused(message)


def _never_connected(cause: BaseException | None) -> bool:
    return isinstance(cause, ClientConnectorError | ConnectionTimeoutError)
