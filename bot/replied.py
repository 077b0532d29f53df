"""What a message is a reply to, and whose words were forwarded. Pure."""

from typing import Any

from aiogram.types import (
    Message,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUnion,
    MessageOriginUser,
)

from bot.api import Me
from bot.sent import NAME_CHARS, media_of, one_line, shared
from infra.clean import clean

SOMEBODY = "somebody"
"""Who forwards need not have a name."""
BOT = "bot"
"""How InboundMessage.replied_from calls this bot."""
REPLIED_CHARS = 500
QUOTED_CHARS = 1024
"""Telegram's own limit of a quote."""


def answered(message: Message) -> Message | None:
    """The message that it is a reply to; None for none: within a topic, everything "replies" to the topic's beginning."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def is_reply_to(message: Message, me: Me) -> bool:
    replied = answered(message)
    return replied is not None and replied.from_user is not None and str(replied.from_user.id) == me.bot_id


def replied_fields(message: Message, me: Me) -> dict[str, Any]:
    """InboundMessage.replied_…: the quoted part, else the beginning of that message; {} if it is a reply to nothing that
    can be said.
    """
    replied, quote = answered(message), message.quote
    said = clean(quote.text)[:QUOTED_CHARS].strip() if quote else _said(replied) if replied else ""
    if not said:
        return {}
    fields: dict[str, Any] = {"replied_text": said, "replied_from": _whose(message, replied, me)}
    return fields | ({"replied_message_id": replied.message_id} if replied else {})


def _said(replied: Message) -> str:
    """Text, else what it is."""
    if text := clean(replied.text or replied.caption or "").strip():
        return text[:REPLIED_CHARS].strip()
    name = media_of(replied)
    return shared(replied) or (f"({name.replace('_', ' ')})" if name else "")


def _whose(message: Message, replied: Message | None, me: Me) -> str:
    if replied is None:  # in another chat
        return origin_name(message.external_reply.origin) if message.external_reply else SOMEBODY
    if replied.forward_origin is not None:
        return origin_name(replied.forward_origin)
    if replied.sender_chat is not None:
        return _name(replied.sender_chat.title)
    if replied.from_user is None:
        return SOMEBODY
    if str(replied.from_user.id) == me.bot_id:
        return BOT
    name = _name(replied.from_user.full_name)
    return name.capitalize() if name == BOT else name


def origin_name(origin: MessageOriginUnion) -> str:
    """Whose words were forwarded: the name of a person, a group or a channel."""
    match origin:
        case MessageOriginUser():
            return _name(origin.sender_user.full_name)
        case MessageOriginHiddenUser():
            return _name(origin.sender_user_name)
        case MessageOriginChat():
            return _name(origin.sender_chat.title)
        case MessageOriginChannel():
            return _name(origin.chat.title)


def _name(name: str | None) -> str:
    return one_line(name or "", NAME_CHARS) or SOMEBODY
