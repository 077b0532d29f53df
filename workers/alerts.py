"""What the owner is told, in Telegram: one message per cause and hour.

The message is put into the outbox first, under an id that is taken once per hour, and its cause is marked afterwards:
whoever dies in between loses no alert and sends none twice.
"""

from dataclasses import dataclass
from datetime import tzinfo
from typing import assert_never

import structlog
from redis.exceptions import RedisError

from infra import keys
from infra.people import People
from infra.pushes import push_reply
from lanes.ingest import ingest
from schemas.reply import Reply
from workers.outgoing import Place, is_local, plain_reply
from workers.services import Services
from workers.texts import say, say_n
from workers.times import moment

HOUR_S = 3_600
NOTICE = ":notice"
"""End of an alert's reply id, as of every notice to the owner: if it cannot be sent, nobody is told of that."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class FellBack:
    """Another model than the first choice answered."""

    asked: str
    why: str
    """llm.request.Outcome of its last call."""
    since_ms: int
    model: str

    @property
    def cause(self) -> str:
        return f"fell_back:{self.asked}:{self.why}"


@dataclass(frozen=True, slots=True)
class NobodyAnswered:
    """Every model of a chain failed; the message is tried again, in the end kept as a dead letter."""

    reason: str

    @property
    def cause(self) -> str:
        return "nobody_answered"


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Messages or replies became dead letters."""

    n: int
    reason: str
    """Of the newest."""

    @property
    def cause(self) -> str:
        return "given_up"


@dataclass(frozen=True, slots=True)
class BrokenMemory:
    """Stored values of a person's memory that are no JSON of ours; they are removed."""

    n: int

    @property
    def cause(self) -> str:
        return "broken_memory"


type Alert = FellBack | NobodyAnswered | GivenUp | BrokenMemory


def alert_text(alert: Alert, language: str, zone: tzinfo) -> str:
    """What the owner reads. Pure."""
    match alert:
        case FellBack(asked=asked, why=why, since_ms=since_ms, model=model):
            since = moment(since_ms, zone, language)
            return say(
                language,
                "⚠ {asked}: {why} since {since}. {model} answers now.",
                asked=asked, why=why, since=since, model=model,
            )  # fmt: skip
        case NobodyAnswered(reason=reason):
            return say(language, "⚠ No model answers. {reason}", reason=reason)
        case GivenUp(n=n, reason=reason):
            return say_n(
                language,
                "⚠ {n} message could not be handled and is kept: {reason}\n`koi dead list` shows it.",
                "⚠ {n} messages could not be handled and are kept. The last: {reason}\n`koi dead list` shows them.",
                n, reason=reason,
            )  # fmt: skip
        case BrokenMemory(n=n):
            return say_n(
                language,
                "⚠ {n} stored piece of a conversation could not be read and is set aside; the rest works.",
                "⚠ {n} stored pieces of a conversation could not be read and are set aside; the rest works.",
                n,
            )
        case _:
            assert_never(alert)


async def tell_owner(s: Services, alert: Alert, place: Place) -> None:
    """Once per cause and hour; silent where nobody can be told, or Redis is away (then the next occurrence tells).

    place: where it happened. The owner is written to through the bot that knows them, else through the bot of the place.
    """
    mark = keys.once(f"alert:{alert.cause}")
    try:
        if await s.redis.exists(mark):
            return
        reply = alert_reply(alert, await s.people.read(), place, s)
        if reply is None:
            log.warning("alert_to_nobody", cause=alert.cause)
            return
        await ingest(s.redis, [push_reply(reply)])
        await s.redis.set(mark, "1", ex=HOUR_S)
    except RedisError as error:
        log.warning("alert_not_sent", cause=alert.cause, error=type(error).__name__)


def alert_reply(alert: Alert, people: People, place: Place, s: Services) -> Reply | None:
    """The alert in the owner's private chat; None: there is no owner, or no bot that can write to them. Pure."""
    owner = people.by_id.get(people.owner_id)
    bot_id = (owner.chat_bot_id if owner else "") or place.bot_id
    if not people.owner_id or is_local(bot_id):
        return None
    language = (owner.language if owner else "") or s.language
    chat = Place(bot_id, people.owner_id)  # of nobody's memory: it quotes no one
    reply_id = f"alert:{alert.cause}:{s.clock() // (HOUR_S * 1000)}{NOTICE}"
    return plain_reply(chat, reply_id, alert_text(alert, language, s.zone), language=language)
