"""Replies on their way to an outbox. Pure."""

import re
from dataclasses import dataclass
from typing import Self

from infra.clean import clean
from schemas.inbound import InboundMessage
from schemas.reply import Reply

MARKUP = re.compile(r"([\\`*_~|\[\]<>#])")
LOCAL = "local"
"""Bot of `koi chat`; further ones are called `local-NAME`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reply goes, and whose memory its text belongs to."""

    bot_id: str
    chat_id: str
    topic_id: int = 0
    owner: str = ""

    @classmethod
    def of_message(cls, message: InboundMessage) -> Self:
        return cls(message.bot_id, message.chat_id, message.topic_id, message.owner)

    @classmethod
    def of_lane(cls, lane: str, owner: str) -> Self:
        """lane: `bot:chat:topic`; the chat may hold colons ("local:jo"). A topic that is no number counts as 0."""
        bot_id, _, rest = lane.partition(":")
        chat_id, _, topic = rest.rpartition(":")
        return cls(bot_id, chat_id, int(topic) if topic.isdecimal() else 0, owner)


def plain_reply(
    place: Place,
    reply_id: str,
    text: str,
    *,
    answers: tuple[str, ...] = (),
    language: str,
    failed: bool = False,
) -> Reply:
    """What koi says itself: no Markdown in it."""
    return Reply(
        id=reply_id, bot_id=place.bot_id, chat_id=place.chat_id, topic_id=place.topic_id, owner=place.owner,
        text=clean(text), plain=True, answers=answers, language=language, failed=failed,
    )  # fmt: skip


def in_markdown(text: str) -> str:
    """Plain text within a reply that is Markdown: shown as it is."""
    return MARKUP.sub(r"\\\1", text)


def is_local(bot_id: str) -> bool:
    """Whether this bot is a terminal: it cannot be written to when nobody sits there."""
    return bot_id.partition("-")[0] == LOCAL
