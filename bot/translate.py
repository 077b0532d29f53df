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
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUnion,
    MessageOriginUser,
    Update,
    User,
)
from pydantic import ValidationError

from bot.api import Me
from bot.split import units_of
from infra.clean import clean
from schemas.inbound import InboundMessage

log = structlog.get_logger()

MAYBE_CUT_UNITS = 4000
"""Telegram's apps cut a long paste into messages of up to 4,096 UTF-16 units; a little less for cuts at a word."""
GENERAL_TOPIC = 1
"""Thread id of a forum's General: it must not be named when answering."""
MEDIA = (
    "voice", "audio", "photo", "video", "video_note", "animation", "document", "sticker", "location", "venue",
    "contact", "poll", "dice", "story", "paid_media", "checklist", "game",
)  # fmt: skip
"""Fields of a Message that hold something a person sent on purpose."""
COMMAND = re.compile(r"/(?P<name>[A-Za-z0-9_]{1,32})(?:@(?P<bot>\w+))?(?:\s+(?P<argument>.*))?", re.DOTALL)
NAME_CHARS = 64
SOMEBODY = "somebody"
"""Who forwards need not have a name."""


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


def read(raw: Mapping[str, Any], me: Me, now_ms: int) -> Read | Ignored:
    """One update of getUpdates or a webhook. Never raises: one odd update must not stop the others.

    now_ms: by koi's clock; when a button was tapped, Telegram does not say.
    """
    try:
        update = parse(raw)
        message = update if isinstance(update, Ignored) else translate(update, me, now_ms)
        if isinstance(message, Ignored):
            return message
        return Read(message, not isinstance(update, Ignored) and maybe_part(update.message))
    except Exception as error:  # noqa: BLE001 — aiogram's parser meets the world here
        log.warning("update_unreadable", update_id=raw.get("update_id"), error=type(error).__name__)
        return Ignored("unreadable")


def parse(raw: Mapping[str, Any]) -> Update | Ignored:
    """One update of getUpdates or a webhook; whatever aiogram cannot read is ignored, alone."""
    try:
        return Update.model_validate(raw)
    except ValidationError:
        pass
    try:
        return Update.model_validate(_mended(raw))
    except ValidationError as error:
        return Ignored(f"unreadable: {error.error_count()} error(s)")


def tap_in(raw: Mapping[str, Any]) -> str:
    """The id by which Telegram wants to hear that a tap on a button was heard; "" for any other update."""
    query = raw.get("callback_query")
    query_id = cast("dict[str, Any]", query).get("id") if isinstance(query, dict) else None
    return query_id if isinstance(query_id, str) else ""


def translate(update: Update, me: Me, now_ms: int) -> InboundMessage | Ignored:
    """The message in an update, or the command of the button that was tapped."""
    if update.callback_query is not None:
        return _tapped(update, update.callback_query, me, now_ms)
    message = update.message
    if message is None:
        return Ignored(f"no message but {_kind(update)}")
    text = clean(message.text or message.caption or "")
    command = None if message.forward_origin or not message.text else COMMAND.fullmatch(text)
    reason = _sender_fault(message) or _content_fault(message, me, text, command)
    if reason or message.from_user is None:
        return Ignored(reason)
    return InboundMessage(
        **_place(update, message.chat, message.from_user, me),
        topic_id=topic_of(message),
        message_id=message.message_id,
        sent_at_ms=round(message.date.timestamp() * 1000),
        text=text,
        kind="command" if command else "text" if text else "unsupported",
        command=command["name"].lower() if command else "",
        argument=(command["argument"] or "").strip() if command else "",
        media="" if text else _media(message),
        **_newer(message),
    )


def _newer(message: Message) -> dict[str, Any]:
    """Fields of version 2 with that version, or nothing: an older worker reads a message that has none of them."""
    found: dict[str, Any] = {}
    if message.forward_origin is not None:
        found["forwarded_from"] = _origin(message.forward_origin)
    place = message.location or (message.venue.location if message.venue else None)
    if place is not None:
        found |= {"latitude": place.latitude, "longitude": place.longitude}
    return {"v": 2, **found} if found else {}


def _origin(origin: MessageOriginUnion) -> str:
    """Whose words were forwarded: the name of a person, a group or a channel."""
    match origin:
        case MessageOriginUser():
            name = origin.sender_user.full_name
        case MessageOriginHiddenUser():
            name = origin.sender_user_name
        case MessageOriginChat():
            name = origin.sender_chat.title
        case MessageOriginChannel():
            name = origin.chat.title
    return " ".join(clean(name or "").split())[:NAME_CHARS].strip() or SOMEBODY


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


def _content_fault(message: Message, me: Me, text: str, command: re.Match[str] | None) -> str:
    if not text and not _media(message):
        return "a service message"
    if reason := _command_fault(command, me):
        return reason
    if message.chat.type != "private" and not command and not _addressed(message, me):
        return "not addressed in a group"
    return ""


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


def _media(message: Message) -> str:
    return next((name for name in MEDIA if getattr(message, name, None)), "")


def _two_letters(code: str | None) -> str:
    """ "pt-br" → "pt"."""
    found = (code or "").replace("_", "-").partition("-")[0].lower()
    return found if found.isascii() and found.isalpha() else ""


def _addressed(message: Message, me: Me) -> bool:
    """In a group: a reply to the bot, or its name in the text."""
    replied = message.reply_to_message
    if replied is not None and replied.from_user is not None and str(replied.from_user.id) == me.bot_id:
        return True
    units = (message.text or message.caption or "").encode("utf-16-le", "surrogatepass")
    for entity in message.entities or message.caption_entities or ():
        if entity.type == "text_mention" and entity.user is not None and str(entity.user.id) == me.bot_id:
            return True
        if entity.type == "mention":
            name = units[2 * entity.offset + 2 : 2 * (entity.offset + entity.length)]
            if name.decode("utf-16-le", "replace").lower() == me.username.lower():
                return True
    return False


def _mended(value: Any) -> Any:
    """The same with half characters replaced, at any depth; they count one UTF-16 unit before and after."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {key: _mended(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_mended(item) for item in cast("list[Any]", value)]
        case _:
            return value
