"""What of a new message the model has in its conversation already. Pure."""

from collections.abc import Iterator, Sequence

from schemas.inbound import InboundMessage
from schemas.memory import RingEntry, Session
from workers.texts import CATALOG, say
from workers.words import BOT, EDITED, shown

BEGINNING_CHARS = 490
"""A reply names the beginning of a long message (bot.replied): 500 characters, a little less for spaces at its end."""
LEAST_LETTERS = 20
"""Of an answer, behind which a note of koi's may stand."""


def without_known(messages: Sequence[InboundMessage], session: Session | None) -> tuple[InboundMessage, ...]:
    """The messages, without what they are a reply to if that is the whole of the bot's last answer in the running
    conversation: it stands right before them. A quoted part of it says which part is meant, and stays.
    """
    last = session.exchanges[-1].reply if session and session.exchanges else ""
    return tuple(
        message.model_copy(update={"replied_text": "", "replied_from": ""})
        if message.replied_from == BOT and _is_whole(message.replied_text, last)
        else message
        for message in messages
    )


def is_unchanged(message: InboundMessage, session: Session | None, entries: Sequence[RingEntry]) -> bool:
    """An edit that the model need not hear of: the message was known with these very words (a link's preview came, a button
    was added; also after an edit), and nothing was edited since.
    """
    original = message.model_copy(update={"edited": False})
    forms = {
        shown(one.model_copy(update={"replied_text": replied}))
        for one in (original, message)
        for replied in {message.replied_text, ""}
    } - {""}
    for text in _newest_first(session, entries):
        if any(f"\n\n{form}\n\n" in f"\n\n{text}\n\n" for form in forms):
            return True
        if any(say(code, EDITED) in text for code in CATALOG.languages()):
            return False
    return False


def _is_whole(replied: str, answer: str) -> bool:
    """By letters and digits: what Telegram shows has no markup, and maybe a note of koi's at its end."""
    said, known = _letters(replied), _letters(answer)
    if not said or not known:
        return False
    if len(replied) >= BEGINNING_CHARS and known.startswith(said):
        return True
    return said == known or (len(known) >= LEAST_LETTERS and said.startswith(known))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _newest_first(session: Session | None, entries: Sequence[RingEntry]) -> Iterator[str]:
    if session:
        yield from (exchange.user for exchange in reversed(session.exchanges))
    yield from (entry.user_message for entry in reversed(entries))
