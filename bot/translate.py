"""What Telegram sent, as koi's own message. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import structlog
from aiogram.types import (
    CallbackQuery,
    Chat,
    InaccessibleMessage,
    Message,
    MessageReactionUpdated,
    ReactionTypeEmoji,
    Update,
    User,
)

from bot.addressed import is_addressed, is_aside
from bot.api import Me
from bot.attached import album_of, attachments_of
from bot.replied import origin_name, replied_fields
from bot.sent import media_of, shared
from bot.split import units_of
from bot.updates import parse
from infra.clean import clean
from schemas.inbound import InboundMessage

log = structlog.get_logger()

MAYBE_CUT_UNITS = 4000
"""Telegram's apps cut a long paste into messages of up to 4,096 UTF-16 units; a little less for cuts at a word."""
GENERAL_TOPIC = 1
"""Thread id of a forum's General: it must not be named when answering."""
COMMAND = re.compile(r"/(?P<name>[A-Za-z0-9_]{1,32})(?:@(?P<bot>\w+))?(?:\s+(?P<argument>.*))?", re.DOTALL)
NAME_CHARS = 64
DISLIKE = "👎"
RETRY_OFFER = "/retry offer"
"""What a dislike on an answer asks for."""
EDITABLE_MS = 48 * 3_600_000
"""An edit of something older is of no interest any more; Telegram's own limit for most messages."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing for us."""

    reason: str


@dataclass(frozen=True, slots=True)
class Read:
    """A message for us."""

    message: InboundMessage
    maybe_part: bool
    """More may follow that belongs to it."""
    is_aside: bool = False
    """An item of an album in a group, and for us only if another item of that is (bot.albums)."""


def read(raw: Mapping[str, Any], me: Me, now_ms: int) -> Read | Ignored:
    """One update of getUpdates or a webhook. Never raises: one odd update must not stop the others.

    now_ms: by koi's clock; when a button was tapped, Telegram does not say.
    """
    try:
        update = parse(raw)
        if isinstance(update, str):
            return Ignored(update)
        message = translate(update, me, now_ms)
        if isinstance(message, Ignored):
            return message
        return Read(message, maybe_part(update.message), is_aside(update.message, me))
    except Exception as error:  # noqa: BLE001 — aiogram's parser meets the world here
        log.warning("update_unreadable", update_id=raw.get("update_id"), error=type(error).__name__)
        return Ignored("unreadable")


def tap_in(raw: Mapping[str, Any]) -> str:
    """The id by which Telegram wants to hear that a tap on a button was heard; "" for any other update."""
    query = raw.get("callback_query")
    query_id = cast("dict[str, Any]", query).get("id") if isinstance(query, dict) else None
    return query_id if isinstance(query_id, str) else ""


def migration_in(raw: Mapping[str, Any]) -> tuple[str, str] | None:
    """(old chat id, new chat id) of a group that became a supergroup, as each of both chats is told; None for any other
    update.
    """
    message = raw.get("message")
    fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    chat = fields.get("chat")
    here = cast("dict[str, Any]", chat).get("id") if isinstance(chat, dict) else None
    to, from_ = fields.get("migrate_to_chat_id"), fields.get("migrate_from_chat_id")
    if isinstance(here, int) and isinstance(to, int):
        return str(here), str(to)
    if isinstance(here, int) and isinstance(from_, int):
        return str(from_), str(here)
    return None


def translate(update: Update, me: Me, now_ms: int) -> InboundMessage | Ignored:
    """The message in an update, or the command of the button that was tapped, or of the reaction that was given."""
    if update.callback_query is not None:
        return _tapped(update, update.callback_query, me, now_ms)
    if update.message_reaction is not None:
        return _reacted(update, update.message_reaction, me)
    message = update.message or update.edited_message
    if message is None:
        return Ignored(f"no message but {_kind(update)}")
    edited, text, words = (
        update.message is None,
        clean(message.text or message.caption or ""),
        shared(message),
    )
    command = COMMAND.fullmatch(text) if message.text and not message.forward_origin else None
    reason = (
        _sender_fault(message)
        or _content_fault(message, me, text, command, maybe_aside=not edited)
        or (_edit_fault(message, text, now_ms) if edited else "")
    )
    if reason or message.from_user is None:
        return Ignored(reason)
    is_command = command is not None and not edited
    return InboundMessage(
        **_place(update, message.chat, message.from_user, me),
        topic_id=topic_of(message),
        message_id=message.message_id,
        sent_at_ms=round(message.date.timestamp() * 1000),
        text=text,
        kind="command" if is_command else "text" if text or words else "unsupported",
        command=command["name"].lower() if command and is_command else "",
        argument=(command["argument"] or "").strip() if command and is_command else "",
        media="" if text or words else media_of(message),
        **_newer(message, me, edited=edited, words=words),
    )


def _newer(message: Message, me: Me, *, edited: bool, words: str) -> dict[str, Any]:
    """Fields of version 2 with that version, or nothing: an older worker reads a message that has none of them."""
    found = replied_fields(message, me)
    if message.forward_origin is not None:
        found["forwarded_from"] = origin_name(message.forward_origin)
    place = message.location or (message.venue.location if message.venue else None)
    if place is not None:
        found |= {"latitude": place.latitude, "longitude": place.longitude}
    if files := attachments_of(message):
        found["attachments"] = files
    if album := album_of(message):
        found["album"] = album
    if words:
        found["shared"] = words
    if edited:
        found["edited"] = True
    return {"v": 2, **found} if found else {}


def _edit_fault(message: Message, text: str, now_ms: int) -> str:
    """A live location moves, a poll is voted in: without a text, nothing was said anew."""
    if not text:
        return "an edit without words"
    at_ms = message.edit_date * 1000 if message.edit_date else now_ms
    too_old = at_ms - message.date.timestamp() * 1000 > EDITABLE_MS
    return "an edit of something old" if too_old else ""


def _reacted(update: Update, reaction: MessageReactionUpdated, me: Me) -> InboundMessage | Ignored:
    """A new dislike is a command, for whoever knows which answer it is on (Telegram says neither whose message it is, nor
    in which topic).
    """
    user, chat = reaction.user, reaction.chat
    if user is None or user.is_bot:
        return Ignored("not from a person")
    if reason := _chat_fault(chat):
        return Ignored(reason)
    if chat.is_forum:
        return Ignored("in a topic that Telegram does not name")
    before, now = ({one.emoji for one in some if isinstance(one, ReactionTypeEmoji)}
                   for some in (reaction.old_reaction, reaction.new_reaction))  # fmt: skip
    if DISLIKE not in now - before:
        return Ignored("a reaction that asks for nothing")
    name, _, argument = RETRY_OFFER.removeprefix("/").partition(" ")
    return InboundMessage(
        **_place(update, chat, user, me),
        v=2,
        message_id=reaction.message_id,
        sent_at_ms=round(reaction.date.timestamp() * 1000),
        text=RETRY_OFFER,
        kind="command",
        command=name,
        argument=argument,
        reaction=DISLIKE,
    )


def _tapped(update: Update, tap: CallbackQuery, me: Me, now_ms: int) -> InboundMessage | Ignored:
    """The command of a button, as if whoever tapped it had typed it where the button stands."""
    text, message = clean(tap.data or ""), tap.message
    command = COMMAND.fullmatch(text)
    if message is None or command is None:
        return Ignored("not a button of ours")
    reason = _tap_fault(tap.from_user, message) or _command_fault(command, me)
    if reason:
        return Ignored(reason)
    return InboundMessage(
        **_place(update, message.chat, tap.from_user, me),
        topic_id=topic_of(message) if isinstance(message, Message) else 0,
        message_id=message.message_id,
        sent_at_ms=now_ms,
        text=text,
        kind="command",
        command=command["name"].lower(),
        argument=(command["argument"] or "").strip(),
    )


def _place(update: Update, chat: Chat, user: User, me: Me) -> dict[str, Any]:
    """Who wrote to which bot where."""
    return {
        "id": f"{me.bot_id}:{update.update_id}",
        "bot_id": me.bot_id,
        "bot": me.name,
        "store": me.store,
        "chat_id": str(chat.id),
        "chat_kind": "private" if chat.type == "private" else "group",
        "user_id": str(user.id),
        "user_name": clean(user.full_name)[:NAME_CHARS],
        "language": _two_letters(user.language_code) or me.language,
    }


def _sender_fault(message: Message) -> str:
    if message.from_user is None or message.from_user.is_bot or message.sender_chat is not None:
        return "not from a person"
    return _chat_fault(message.chat)


def _tap_fault(user: User, message: Message | InaccessibleMessage) -> str:
    if user.is_bot:
        return "not from a person"
    if isinstance(message, InaccessibleMessage) and message.chat.is_forum and message.chat.type != "private":
        return "in a topic that Telegram no longer names"  # not to forget or end something in another one
    return _chat_fault(message.chat)


def _chat_fault(chat: Chat) -> str:
    return "" if chat.type in {"private", "group", "supergroup"} else f"in a {chat.type}"


def _command_fault(command: re.Match[str] | None, me: Me) -> str:
    if command and (command["bot"] or me.username).lower() != me.username.lower():
        return "a command for another bot"
    return ""


def _content_fault(
    message: Message, me: Me, text: str, command: re.Match[str] | None, *, maybe_aside: bool
) -> str:
    if not text and not media_of(message):
        return "a service message"
    if reason := _command_fault(command, me):
        return reason
    if message.chat.type == "private" or command or is_addressed(message, me):
        return ""
    return "" if maybe_aside and is_aside(message, me) else "not addressed in a group"


def maybe_part(message: Message | None) -> bool:
    """Whether more may follow that belongs to it: a piece of a long paste, a forward, an item of an album."""
    if message is None:
        return False
    if message.forward_origin is not None or message.media_group_id is not None:
        return True
    return units_of(message.text or "") >= MAYBE_CUT_UNITS


def topic_of(message: Message) -> int:
    """Forum topic; 0 outside of forums (there the thread is a chain of replies) and in General."""
    topic = message.message_thread_id if message.is_topic_message else None
    return 0 if topic in {None, GENERAL_TOPIC} else cast("int", topic)


def _kind(update: Update) -> str:
    return next((name for name in update.model_fields_set if name != "update_id"), "nothing")


def _two_letters(code: str | None) -> str:
    """ "pt-br" → "pt"."""
    found = (code or "").replace("_", "-").partition("-")[0].lower()
    return found if found.isascii() and found.isalpha() else ""
