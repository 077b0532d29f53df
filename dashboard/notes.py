"""What a person is told when the owner does away with their message. Pure."""

from dataclasses import dataclass
from typing import Literal

from dashboard.texts import say
from infra import keys
from infra.cut import shorten
from infra.effect import Push
from infra.pushes import push_reply
from schemas.inbound import InboundMessage
from schemas.reply import Reply
from schemas.wire import NewerVersion, NotReadable, load

QUOTE_CHARS = 80

type Fate = Literal["dropped", "deleted"]
"""dropped: a dead letter. deleted: it had waited for its turn."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What is done away with."""

    job_id: str
    """Of the lane it was in."""
    item_id: str
    owner: str
    message: InboundMessage | None
    """None: it cannot be read."""

    @property
    def user_id(self) -> str:
        """Whose profile says in which language to write; "" for nobody known."""
        return self.message.user_id if self.message is not None else ""


def gone(job_id: str, item_id: str, owner: str, body: bytes | str) -> Gone | None:
    """None if nobody is to be told: it is no message of a person. A reply that could not be sent would be followed by a note
    that cannot be sent.
    """
    if not job_id.startswith(keys.inbox_job("")):
        return None
    try:
        message = load(InboundMessage, body)
    except (NotReadable, NewerVersion):
        message = None
    return Gone(job_id, item_id, owner, message)


def note(about: Gone, fate: Fate, language: str) -> Push:
    """To the chat that it came from; it belongs to the same memory owner, since it quotes the message."""
    bot_id, _, rest = about.job_id.removeprefix(keys.inbox_job("")).partition(":")
    chat_id, _, topic = rest.rpartition(":")
    reply = Reply(
        id=f"{about.item_id}:{fate}",
        bot_id=bot_id,
        chat_id=chat_id,
        topic_id=int(topic) if topic.isdecimal() else 0,
        text=_text(about.message, fate, language),
        plain=True,
        answers=(about.item_id,),
        owner=about.owner,
        language=language,
        failed=True,
    )
    return push_reply(reply)


def _text(message: InboundMessage | None, fate: Fate, language: str) -> str:
    quote = shorten(" ".join(message.text.split()), QUOTE_CHARS) if message is not None else ""
    if fate == "dropped":
        if quote:
            return say(language, "Your message “{quote}” was dropped by the owner of this bot.", quote=quote)
        return say(language, "A message of yours was dropped by the owner of this bot.")
    if quote:
        return say(
            language,
            "Your message “{quote}” was deleted by the owner of this bot before it was answered.",
            quote=quote,
        )
    return say(language, "A message of yours was deleted by the owner of this bot before it was answered.")
