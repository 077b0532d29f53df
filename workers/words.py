"""What the messages of a turn say, as one text. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.clean import clean
from infra.texts import later
from memory.summary import VISIBLE
from schemas.inbound import InboundMessage
from workers.texts import say

MEDIA: Mapping[str, str] = {
    "animation": later("animation"),
    "audio": later("audio file"),
    "contact": later("contact"),
    "document": later("file"),
    "location": later("location"),
    "photo": later("photo"),
    "poll": later("poll"),
    "sticker": later("sticker"),
    "video": later("video"),
    "video_note": later("video message"),
    "voice": later("voice message"),
}
"""Telegram's names of what a message can be, and ours."""
ATTACHMENT = later("attachment")


@dataclass(frozen=True, slots=True)
class Words:
    """What can be read of a turn, and what cannot."""

    text: str
    """All texts, captions too, joined by blank lines; "" if nothing in them can be seen."""
    media: tuple[str, ...] = ()
    """Kinds of media that cannot be read yet, each once, in our English words."""

    @classmethod
    def of(cls, messages: Sequence[InboundMessage]) -> "Words":
        texts = [clean(_said(message)).strip() for message in messages]
        media = dict.fromkeys(
            MEDIA.get(message.media, ATTACHMENT)
            for message in messages
            if message.media or message.kind == "unsupported"
        )
        return cls("\n\n".join(text for text in texts if VISIBLE.search(text)), tuple(media))


def unreadable_line(words: Words, language: str) -> str:
    """The honest line about media that was sent; "" if there was none."""
    if not words.media:
        return ""
    names = ", ".join(say(language, name) for name in words.media)
    return say(language, "I can only read text so far. I could not make use of this: {media}.", media=names)


def empty_line(language: str) -> str:
    return say(language, "There was no text in your message. Just write what you would like to know.")


def cut_line(language: str) -> str:
    return say(language, "Your message was too long for me: I only read its beginning.")


def _said(message: InboundMessage) -> str:
    return message.argument if message.kind == "command" else message.text
