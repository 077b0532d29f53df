"""Who gets in. The decision is pure; `Door` carries it out."""

from dataclasses import dataclass
from typing import Literal, assert_never

import structlog

from bot import notice
from bot.texts import say
from infra.clock import Clock
from infra.effect import Push
from infra.people import Pairing, People, PeopleCache, code_in, pair, save_person
from infra.redis_port import RedisPort
from schemas.inbound import InboundMessage
from schemas.person import Person

log = structlog.get_logger()

TOLD_MS = 3_600_000
"""A stranger is answered once in each of these, counted from 1970."""
JUST_PAIRED_MS = 600_000
"""The same code again within this time (sent twice, or delivered again after a crash) is greeted, not answered."""


@dataclass(frozen=True, slots=True)
class Welcome:
    """Let in. `note`: what to store about the owner first, if that changed."""

    note: Person | None = None


@dataclass(frozen=True, slots=True)
class TriesCode:
    """Nobody owns koi yet, and this looks like the pairing code."""

    code: str


@dataclass(frozen=True, slots=True)
class Greeted:
    """Sends the code that made him the owner a moment ago."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """Not let in; is told so, politely and rarely."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Gets no answer at all."""


type Decision = Welcome | TriesCode | Greeted | Stranger | Silent


def decide(message: InboundMessage, people: People, *, now_ms: int) -> Decision:
    """What to do with a message of this sender."""
    role = people.role_of(message.user_id)
    sent = "" if message.chat_kind == "group" else maybe_code(message)
    code = code_in(sent)
    match role:
        case "owner":
            known = people.by_id.get(message.user_id)
            if code and code == sent and known and 0 <= now_ms - known.since_ms < JUST_PAIRED_MS:
                return Greeted()
            return Welcome(note=_news(message, known))
        case "member":
            return Welcome()
        case "blocked":
            return Silent()
        case "stranger":
            if message.chat_kind == "group":
                return Silent()
            return TriesCode(code) if code and not people.owner_id else Stranger()
        case _:
            assert_never(role)


def maybe_code(message: InboundMessage) -> str:
    """Where a pairing code would stand: the text, or the argument of /start (the link that koi prints)."""
    return message.argument if message.command == "start" else message.text


def owner_person(message: InboundMessage, *, since_ms: int) -> Person:
    """The record of an owner who just wrote `message`."""
    return Person(
        user_id=message.user_id,
        name=message.user_name,
        role="owner",
        since_ms=since_ms,
        language=message.language,
        chat_bot_id=message.bot_id,
    )


def _news(message: InboundMessage, known: Person | None) -> Person | None:
    """The owner's record if it changed: alerts go to the bot that he wrote to last, in his language."""
    person = owner_person(message, since_ms=known.since_ms if known else 0)
    return None if message.chat_kind == "group" or person == known else person


class Door:
    """Admits messages of all bots of this process."""

    def __init__(self, redis: RedisPort, people: PeopleCache, clock: Clock) -> None:
        self._redis = redis
        self._people = people
        self.clock = clock

    async def admit(self, message: InboundMessage) -> Literal[True] | tuple[Push, ...]:
        """True: let in. Otherwise what to answer instead, maybe nothing.

        Raises what redis-py raises.
        """
        people = await self._people.read()
        decision = decide(message, people, now_ms=self.clock())
        match decision:
            case Welcome(note=person):
                if person is not None:
                    await save_person(self._redis, person)
                    self._people.changed()
                return True
            case TriesCode(code=code):
                return await self._try_code(message, code)
            case Greeted():
                return (greeting(message),)
            case Stranger():
                return (self._told(message, owned=bool(people.owner_id)),)
            case Silent():
                return ()
            case _:
                assert_never(decision)

    async def _try_code(self, message: InboundMessage, code: str) -> tuple[Push, ...]:
        result = await pair(self._redis, code, owner_person(message, since_ms=self.clock()))
        log.info("pairing_tried", user_id=message.user_id, result=result.name.lower())
        self._people.changed()
        match result:
            case Pairing.PAIRED:
                return (greeting(message),)
            case Pairing.WRONG:
                return (notice.answer(message, f"{message.id}:wrong", wrong_code_line(message)),)
            case Pairing.THROTTLED:
                return ()
            case Pairing.CLOSED:
                return (self._told(message, owned=True),)

    def _told(self, message: InboundMessage, *, owned: bool) -> Push:
        """The line has the same id for an hour: who stores it claims it, and its repeats are not stored."""
        log.debug("stranger_turned_away", bot_id=message.bot_id, user_id=message.user_id)
        once_id = f"{message.bot_id}:stranger:{message.user_id}:{self.clock() // TOLD_MS}"
        return notice.answer(message, once_id, stranger_line(message, owned=owned))


def greeting(message: InboundMessage) -> Push:
    """For whoever just became the owner."""
    text = say(
        message.language,
        "Hello {name}, I am yours now. Just write to me; what we talk about I remember for a day. /help tells the rest.",
        name=message.user_name,
    )
    return notice.answer(message, f"{message.id}:greeting", text, owner=message.owner)


def wrong_code_line(message: InboundMessage) -> str:
    return say(
        message.language, "That is not the pairing code. After three wrong ones I listen again in an hour."
    )


def stranger_line(message: InboundMessage, *, owned: bool) -> str:
    """One polite line with the person's number."""
    if owned:
        return say(
            message.language,
            "Sorry, I only talk to people I was introduced to. My owner can let you in with your number: {user_id}",
            user_id=message.user_id,
        )
    return say(
        message.language,
        "I belong to nobody yet. Did you set me up? Then send me the pairing code that koi shows. (Your number: {user_id})",
        user_id=message.user_id,
    )
