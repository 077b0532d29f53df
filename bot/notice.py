"""Lines that the bot process itself sends: through the outbox like every reply. Pure."""

from infra.effect import Push
from infra.pushes import push_reply
from schemas.inbound import InboundMessage
from schemas.reply import Button, Reply

NOTICE = ":notice"
"""End of the id of a notice to the owner: when that fails, nobody is told."""


def answer(message: InboundMessage, reply_id: str, text: str, *, owner: str = "") -> Push:
    """A plain line for whoever wrote `message`.

    owner: the memory owner, if the line belongs to one; strangers have none.
    """
    reply = Reply(
        id=reply_id,
        bot_id=message.bot_id,
        chat_id=message.chat_id,
        topic_id=message.topic_id,
        text=text,
        plain=True,
        answers=(message.id,),
        owner=owner,
        language=message.language,
    )
    return push_reply(reply)


def to_owner(
    *,
    about: str,
    bot_id: str,
    user_id: str,
    text: str,
    language: str,
    buttons: tuple[tuple[Button, ...], ...] = (),
) -> Push:
    """A plain line for koi's owner, of nobody's memory. about: what it is about, unique."""
    reply = Reply(
        id=f"{about}{NOTICE}",
        bot_id=bot_id,
        chat_id=user_id,
        text=text,
        plain=True,
        language=language,
        buttons=buttons,
    )
    return push_reply(reply)
