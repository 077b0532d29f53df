"""The door of this process: carries out what `bot.entrance` decides about each message."""

from collections.abc import Collection
from typing import Literal, assert_never

import structlog

from bot import knocking, notice
from bot.entrance import (
    Greeted,
    Knocks,
    NotHere,
    NotLetIn,
    Silent,
    TriesCode,
    Unowned,
    Welcome,
    decide,
    owner_person,
)
from bot.flood import Floods, Over, flood_line
from bot.texts import say
from infra.clock import Clock, offset_ms
from infra.effect import Push
from infra.knocks import ANY_NUMBER, MOST_OPEN, ask
from infra.people import Pairing, PeopleCache, pair, save_person
from infra.redis_port import RedisPort
from infra.settings_sections import TelegramSettings
from lanes.ingest import ingest
from schemas.inbound import InboundMessage

log = structlog.get_logger()

TOLD_MS = 3_600_000
"""Who cannot even ask is answered once in each of these, counted from 1970."""
DEFAULTS = TelegramSettings()


class Door:
    """Admits messages of all bots of this process."""

    def __init__(
        self, redis: RedisPort, people: PeopleCache, clock: Clock, limits: TelegramSettings = DEFAULTS
    ) -> None:
        self._redis = redis
        self._people = people
        self.clock = clock
        self._floods = Floods(limits)
        self._ahead_ms = offset_ms()
        self._asked_about: dict[str, int] = {}
        """Groups about which the owner was asked, and until when that is not done again."""

    async def admit(
        self,
        message: InboundMessage,
        *,
        title: str = "",
        tapped: bool = False,
        only: Collection[str] | None = None,
    ) -> Literal[True] | tuple[Push, ...]:
        """True: let in. Otherwise what to answer instead, maybe nothing.

        title: of the group. tapped: it is a tap on a button, which is no reason to talk to a stranger. only: see
        bot.entrance.decide.

        Raises what redis-py raises.
        """
        decision = decide(message, await self._people.read(), now_ms=self.clock(), only=only)
        if isinstance(decision, Knocks):
            self._people.changed()  # somebody may have been let in a moment ago
            decision = decide(message, await self._people.read(), now_ms=self.clock(), only=only)
        if isinstance(decision, Welcome):
            return await self._welcome(message, decision, title)
        return () if tapped else await self._answered(message, decision, title)

    async def _answered(self, message: InboundMessage, decision: NotLetIn, title: str) -> tuple[Push, ...]:
        """What is said to somebody who was not let in."""
        match decision:
            case Silent():
                return ()
            case TriesCode(code=code):
                return await self._try_code(message, code)
            case Greeted():
                return (greeting(message),)
            case Unowned():
                return (self._told(message, owned=False),)
            case Knocks():
                return await self._knocks(message, title)
            case NotHere():
                return (not_here(message),)
            case _:
                assert_never(decision)

    async def _welcome(
        self, message: InboundMessage, welcome: Welcome, title: str
    ) -> Literal[True] | tuple[Push, ...]:
        over = self._over(message) if welcome.is_limited else None
        if over is not None:
            log.info("flood_not_read", bot_id=message.bot_id, user_id=message.user_id, period=over.period)
            return (flood_line(message, over, now_ms=self.clock() - self._ahead_ms),)
        if welcome.note is not None:
            await save_person(self._redis, welcome.note)
            self._people.changed()
        if welcome.in_unknown_group:
            await self._ask_about(message, title, most_open=MOST_OPEN if welcome.is_limited else ANY_NUMBER)
        return True

    def _over(self, message: InboundMessage) -> Over | None:
        return self._floods.over(message, self.clock() - self._ahead_ms)

    async def _knocks(self, message: InboundMessage, title: str) -> tuple[Push, ...]:
        """Somebody who was not let in. Of a flood of theirs nothing is stored."""
        if self._over(message) is not None:
            return ()
        if message.chat_kind == "group":
            await self._ask_about(message, title, most_open=MOST_OPEN)
            return ()
        knocked = await ask(self._redis, message, now_ms=self.clock())
        if knocked is None:
            return (self._told(message, owned=True),)
        log.debug("stranger_knocked", bot_id=message.bot_id, user_id=message.user_id, times=knocked.times)
        to_owner = knocking.asked(message, knocked.knock, self._people.last(), message.bot)
        return (*knocking.told(message, knocked.knock, knocked.times), to_owner)

    async def _ask_about(self, message: InboundMessage, title: str, *, most_open: int) -> None:
        """Have the owner asked about a group, once; stored here, since the message itself may be let in."""
        chat_id, now_ms = message.chat_id, self.clock()
        if now_ms < self._asked_about.get(chat_id, 0):
            return
        self._people.changed()  # it may have become a supergroup a moment ago, with its approval
        if (await self._people.read()).group_role(chat_id) != "unknown":
            return
        knocked = await ask(self._redis, message, now_ms=now_ms, title=title, most_open=most_open)
        if knocked is None:
            return
        await ingest(self._redis, [knocking.asked(message, knocked.knock, self._people.last(), message.bot)])
        self._asked_about[chat_id] = knocked.knock.until_ms
        log.info("group_asked_about", bot_id=message.bot_id, chat_id=chat_id)

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


def not_here(message: InboundMessage) -> Push:
    """Once, as long as claims are kept: it has the same id each time."""
    text = say(
        message.language,
        "Sorry, this bot is only for certain people, and you are not one of them. Its owner can add you with your number: "
        "{user_id}",
        user_id=message.user_id,
    )
    return notice.answer(message, f"{message.bot_id}:{message.chat_id}:not-here:{message.user_id}", text)


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
