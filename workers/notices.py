"""How the owner is reached: in their private chat, and by mail. Pure."""

import hashlib
from dataclasses import dataclass

from infra import keys
from infra.people import People
from infra.pushes import push_reply
from infra.together import Command
from lanes.ingest import ingest_command
from schemas.mail import Mail
from schemas.wire import dump
from workers.mail_settings import MailSettings
from workers.outgoing import Place, is_local, plain_reply

NOTICE = ":notice"
"""End of the id of every notice to the owner: if it cannot be sent, nobody is told of that."""
MAILS_MAX = 100
"""That wait; of more, the oldest are dropped."""
SUBJECT_CHARS = 120


def language_of(people: People, otherwise: str) -> str:
    """The owner's."""
    owner = people.by_id.get(people.owner_id)
    return (owner.language if owner else "") or otherwise


@dataclass(frozen=True, slots=True)
class Notice:
    """What is said once."""

    id: str
    """Never used before."""
    text: str
    language: str
    at_ms: int


def commands_of(
    notice: Notice, people: People, place: Place, mail: MailSettings | None
) -> tuple[Command, ...]:
    """The Redis commands that send it by every way there is. mail: None: the owner wants none."""
    commands: list[Command] = []
    if chat := owners_chat(people, place):
        reply = plain_reply(chat, notice.id + NOTICE, notice.text, language=notice.language)
        commands.append(ingest_command([push_reply(reply)]))
    if mail is not None:
        commands.append(("RPUSH", keys.mails(), dump(mail_of(notice))))
        commands.append(("LTRIM", keys.mails(), -MAILS_MAX, -1))
    return tuple(commands)


def owners_chat(people: People, place: Place) -> Place | None:
    """The owner's private chat with the bot that knows them, else with the one of the place; of nobody's memory, since
    a notice quotes no one. None: there is no owner, or no bot that can write to them.
    """
    owner = people.by_id.get(people.owner_id)
    bot_id = (owner.chat_bot_id if owner else "") or place.bot_id
    if not people.owner_id or is_local(bot_id):
        return None
    return Place(bot_id, people.owner_id)


def mail_of(notice: Notice) -> Mail:
    """The first line is the subject too."""
    line = " ".join(notice.text.partition("\n")[0].lstrip("⚠✓ ").split())
    subject = line if len(line) <= SUBJECT_CHARS else line[: SUBJECT_CHARS - 1] + "…"
    mail_id = hashlib.sha256(notice.id.encode()).hexdigest()[:32]
    return Mail(id=mail_id, at_ms=notice.at_ms, subject=f"koi: {subject}", text=notice.text)
