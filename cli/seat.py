"""Who talks to which bot in the terminal, and their words as a message. Pure."""

import re
from dataclasses import dataclass
from typing import Any

from infra.clean import clean
from infra.settings import Settings
from schemas.inbound import InboundMessage

BOT_ID = "local"
BOT_NAME = "koi"
STORE = "home"
LOCAL = "local:"
"""Before the name of somebody who is known here only."""
OWNER_NAME = "owner"
OWNER_ID = f"{LOCAL}{OWNER_NAME}"
"""Of the owner, until one is paired in Telegram."""
NAME = re.compile(r"[^:|\x00-\x1f\x7f]{1,64}")
"""Names stand in keys between colons, and in the list of dead letters before a bar."""
COMMAND = re.compile(r"/(?P<name>[A-Za-z0-9_]{1,32})(?:@\w+)?(?:\s+(?P<argument>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Seat:
    """One person at one terminal, with one bot."""

    bot_id: str
    """ "local", or "local-NAME" with --bot NAME: each bot is a lane and an outbox of its own."""
    bot: str
    store: str
    user_id: str
    """The owner's id, or `local:NAME`: whose memory it is."""
    chat_id: str
    """`local:NAME`."""
    name: str
    language: str
    is_own: bool = False
    """The bot has a persona or models of its own (InboundMessage.of_its_own)."""

    @property
    def lane(self) -> str:
        return f"{self.bot_id}:{self.chat_id}:0"


def seat_of(settings: Settings, *, user: str, bot: str, owner_id: str) -> Seat:
    """user, bot: as asked for, "" for the owner and for the bot of the house. owner_id: "" if nobody is yet."""
    name = user or OWNER_NAME
    chat_id = f"{LOCAL}{name}"
    known = next((one for one in settings.bots if one.name == bot), None)
    return Seat(
        bot_id=f"{BOT_ID}-{bot}" if bot else BOT_ID,
        bot=bot or BOT_NAME,
        store=known.memory if known else STORE,
        user_id=chat_id if user else owner_id or chat_id,
        chat_id=chat_id,
        name=name,
        language=(known.language if known else "") or settings.language,
        is_own=known is not None and known.is_own,
    )


def message_from(text: str, seat: Seat, *, now_ms: int, nonce: str) -> InboundMessage:
    """One message. nonce: makes its id unique within the millisecond."""
    text = clean(text).strip()
    command = COMMAND.fullmatch(text)
    parts: dict[str, Any] = {}
    if command:
        argument = (command["argument"] or "").strip()
        parts = {"kind": "command", "command": command["name"].lower(), "argument": argument}
    if seat.is_own:
        parts |= {"v": 2, "of_its_own": True}
    return InboundMessage(
        id=f"{seat.bot_id}:{now_ms}-{nonce}", bot_id=seat.bot_id, bot=seat.bot, store=seat.store, chat_id=seat.chat_id,
        user_id=seat.user_id, user_name=seat.name, language=seat.language, sent_at_ms=now_ms, text=text, **parts,
    )  # fmt: skip
