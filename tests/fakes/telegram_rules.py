"""Telegram's rules for a text with entities, strictly: what the real server mends in silence is refused here.

Source: Bot API, MessageEntity and "Formatting options"; `are_entities_valid` of TDLib's MessageEntity.cpp.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, cast

MAX_UNITS = 4096
MAX_ENTITIES = 100
MAX_BUTTONS = 100
MAX_DATA_BYTES = 64
MAX_CAPTION = 1024
MAX_COMMANDS = 100
MAX_DESCRIPTION = 256
SPLITTABLE = {"bold", "italic", "underline", "strikethrough", "spoiler"}
QUOTES = {"blockquote", "expandable_blockquote"}
VERBATIM = {"code", "pre"}
WEB = re.compile(
    r"https?://[^\s/?#]+\.[^\s/?#]+(?:[/?#]\S*)?|(?:tg|ton)://\S+|mailto:\S+|tel:\S+", re.IGNORECASE
)
"""What LinkManager::check_link of TDLib lets through, roughly."""
CONTINUOUS = VERBATIM | {
    "text_link",
    "text_mention",
    "custom_emoji",
    "mention",
    "url",
    "hashtag",
    "date_time",
}


def fault_of(text: str, entities: Sequence[Mapping[str, Any]]) -> str | None:
    """Why Telegram refuses this text (its own words, without "Bad Request: "), or None."""
    if not visible(text):
        return "message text is empty"
    units = text.encode("utf-16-le")
    if len(units) // 2 > MAX_UNITS:
        return "message is too long"
    if len(entities) > MAX_ENTITIES:
        return "can't parse entities: too many of them"
    for entity in entities:
        if wrong := _entity_fault(units, entity):
            return f"can't parse entities: {wrong} in {dict(entity)}"
    return _nesting_fault(entities)


def markup_fault(markup: Any) -> str | None:
    """Why Telegram refuses these buttons (its own words, without "Bad Request: "), or None.

    Source: Bot API, InlineKeyboardMarkup and InlineKeyboardButton; get_reply_markup of telegram-bot-api's Client.cpp.
    """
    if not isinstance(markup, Mapping):
        return "object expected as reply markup"
    rows: Any = cast("Mapping[str, Any]", markup).get("inline_keyboard")
    if not isinstance(rows, list) or not rows:
        return 'field "inline_keyboard" must be of type Array'
    buttons: list[Any] = []
    for row in cast("list[Any]", rows):
        if not isinstance(row, list) or not row:
            return 'field "inline_keyboard" must be an Array of Arrays'
        buttons += row
    if len(buttons) > MAX_BUTTONS:
        return "reply markup is too long"
    return next((wrong for button in buttons if (wrong := _button_fault(button))), None)


def _button_fault(button: Any) -> str | None:
    if not isinstance(button, Mapping):
        return "can't parse inline keyboard button: object expected"
    found = cast("Mapping[str, Any]", button)
    text, data = found.get("text"), found.get("callback_data")
    if not isinstance(text, str) or not visible(text):
        return "can't parse inline keyboard button: text buttons must have a text"
    if set(found) != {"text", "callback_data"} or not isinstance(data, str):
        return "can't parse inline keyboard button: text buttons are unallowed in the inline keyboard"
    return None if 0 < len(data.encode()) <= MAX_DATA_BYTES else "BUTTON_DATA_INVALID"


def command_fault(command: Any) -> str | None:
    """Why Telegram refuses this BotCommand, or None. Source: Bot API, BotCommand; telegram-bot-api's get_bot_command."""
    if not isinstance(command, Mapping):
        return "expected an Object as BotCommand"
    found = cast("Mapping[str, Any]", command)
    if not re.fullmatch("[a-z0-9_]{1,32}", str(found.get("command", ""))):
        return "BOT_COMMAND_INVALID"
    if not 1 <= len(str(found.get("description", ""))) <= MAX_DESCRIPTION:
        return "BOT_COMMAND_DESCRIPTION_INVALID"
    return None


def document_fault(document: Any, caption: str) -> str | None:
    """Why Telegram refuses this upload, or None. document: {name, content}."""
    if not isinstance(document, Mapping):
        return "there is no document in the request"
    found = cast("Mapping[str, Any]", document)
    if not found.get("content"):
        return "file must be non-empty"
    if not re.fullmatch(r"[\w.+-]{1,60}", str(found.get("name", ""))):
        return "wrong file name"
    return "message caption is too long" if len(caption.encode("utf-16-le")) // 2 > MAX_CAPTION else None


def visible(text: str) -> bool:
    """Something in it can be seen. The characters without a shape: strip_empty_characters of TDLib's misc.cpp."""
    return any(unicodedata.category(char)[0] not in "CZ" and char not in "\u2800\ufffc" for char in text)


def _entity_fault(units: bytes, entity: Mapping[str, Any]) -> str | None:
    kind, offset, length = entity.get("type"), entity.get("offset"), entity.get("length")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length <= 0:
        return "incorrect offset or length"
    if (offset + length) * 2 > len(units):
        return "end beyond the text"
    if kind not in SPLITTABLE | QUOTES | CONTINUOUS:
        return "unknown type"
    if any(_inside_pair(units, at) for at in (offset, offset + length)):
        return "cut through a surrogate pair"
    if not units[offset * 2 : (offset + length) * 2].decode("utf-16-le").strip():
        return "nothing but white space"
    return _fields_fault(entity)


def _fields_fault(entity: Mapping[str, Any]) -> str | None:
    """Fields that do not belong to the kind, or are none of its."""
    kind, given = entity["type"], set(entity) - {"type", "offset", "length"}
    if given - {"text_link": {"url"}, "pre": {"language"}}.get(kind, set[str]()):
        return "unknown field"
    if kind == "text_link" and not WEB.fullmatch(str(entity.get("url", ""))):
        return "wrong url"
    return "wrong language" if "language" in given and not str(entity["language"]).strip() else None


def _inside_pair(units: bytes, at: int) -> bool:
    """Whether the unit at `at` is the second half of a character."""
    return at * 2 < len(units) and 0xDC <= units[at * 2 + 1] <= 0xDF


def _nesting_fault(entities: Sequence[Mapping[str, Any]]) -> str | None:
    ordered = sorted(entities, key=lambda e: (e["offset"], -e["length"]))
    open_: list[Mapping[str, Any]] = []
    for inner in ordered:
        while open_ and _end(open_[-1]) <= inner["offset"]:
            open_.pop()
        for outer in open_:
            if _end(inner) > _end(outer):
                return "can't parse entities: they overlap in part"
            if outer["type"] == inner["type"]:
                return f"can't parse entities: {inner['type']} in itself"
            if not _may_contain(outer["type"], inner["type"]):
                return f"can't parse entities: {inner['type']} in {outer['type']}"
        open_.append(inner)
    return None


def _end(entity: Mapping[str, Any]) -> int:
    return entity["offset"] + entity["length"]


def _may_contain(outer: str, inner: str) -> bool:
    if outer in VERBATIM:
        return False
    if outer in QUOTES:
        return inner not in QUOTES
    if outer in SPLITTABLE:
        return inner not in VERBATIM
    return inner in SPLITTABLE
