"""What becomes of a reply that cannot be sent: its dead letter, and a line for koi's owner. Pure."""

from bot.api import Me
from bot.notice import NOTICE, to_owner
from bot.texts import say
from infra.effect import Push
from infra.people import People
from infra.texts import later
from lanes.claim import Claim, Item
from schemas.reply import Reply

KEPT = later(
    "An answer of {bot} for chat {chat} could not be delivered: {reason}. It is kept; `koi dead list` shows it."
)
NOT_KEPT = later(
    "An answer of {bot} for chat {chat} could not be delivered: {reason}. It is not kept: its person had koi forget "
    "meanwhile."
)


def dead_notice(
    claim: Claim, item: Item, reason: str, me: Me, people: People, *, is_kept: bool
) -> tuple[Push, ...]:
    """Tells koi's owner that a reply is a dead letter now, or is gone (`keys.unkept`)."""
    text = say(
        owner_language(people, me), KEPT if is_kept else NOT_KEPT,
        bot=me.name, chat=claim.lane.split(":")[1], reason=reason,
    )  # fmt: skip
    return _told(item.id, text, me, people)


def left_notice(reply: Reply, me: Me, people: People) -> tuple[Push, ...]:
    """Tells koi's owner that a part of a reply may be missing."""
    text = say(
        owner_language(people, me),
        "Part of an answer of {bot} for chat {chat} may be missing: twice, Telegram did not say whether it took it.",
        bot=me.name,
        chat=reply.chat_id,
    )
    return _told(reply.id, text, me, people)


def owner_language(people: People, me: Me) -> str:
    """The language of koi's owner."""
    owner = people.by_id.get(people.owner_id)
    return owner.language if owner is not None and owner.language else me.language


def _told(about: str, text: str, me: Me, people: People) -> tuple[Push, ...]:
    """Nothing if there is no owner, or if it is itself a notice that failed."""
    if not people.owner_id or about.endswith(NOTICE):
        return ()
    owner = people.by_id.get(people.owner_id)
    bot_id = owner.chat_bot_id if owner is not None and owner.chat_bot_id else me.bot_id
    push = to_owner(
        about=about,
        bot_id=bot_id,
        user_id=people.owner_id,
        text=text,
        language=owner_language(people, me),
    )
    return (push,)
