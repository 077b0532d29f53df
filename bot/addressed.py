"""Whether a message in a group is for this bot. Pure."""

from aiogram.types import Message

from bot.api import Me
from bot.replied import is_reply_to


def is_addressed(message: Message, me: Me) -> bool:
    """In a group: a reply to the bot, or its name in the text."""
    if is_reply_to(message, me):
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


def is_aside(message: Message | None, me: Me) -> bool:
    """An item of an album in a group that does not speak to the bot: another item of it may (C40)."""
    if message is None or message.chat.type == "private" or message.media_group_id is None:
        return False
    return not is_addressed(message, me)
