"""The outbox of one bot: takes replies out of their lanes and sends them, part by part (DESIGN.md §2, invariant 7)."""

from dataclasses import dataclass, replace
from typing import assert_never

import structlog
from aiogram.exceptions import AiogramError

from bot.api import BotApi, Me
from bot.dead import dead_notice, left_notice
from bot.faults import (
    BadButtons,
    BadEntities,
    BadToken,
    Conflict,
    Fault,
    Flooded,
    Gone,
    Moved,
    NotReached,
    Refused,
    Unknown,
    fault_of,
)
from bot.keyboard import Keyboard, keyboard
from bot.life import dead_effects, life_effects
from bot.limiter import Limiter
from bot.plain import plainer
from bot.progress import AGAIN, KeptPart, Progress, found, fresh, instead, kept, next_step, sent, unsent
from bot.render import render
from bot.rich import rich
from bot.split import Part
from infra import keys
from infra.clock import Clock
from infra.migrate import Migrated, migrate
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.sent_answers import sent_effects
from lanes.claim import Claim, Item
from lanes.dead import dead_letter
from lanes.keep import keep
from lanes.outcome import Commit, Done, HandBack, Outcome
from schemas.reply import Reply
from schemas.wire import NewerVersion, NotReadable, load

log = structlog.get_logger()

NEWER_MS = 5_000
"""Until a process that knows the newer version may have taken it."""
RESEND_MS = 3_000
"""Between an attempt that stayed unknown and the one resend."""
UNREACHED_MS = 1_000
UNREACHED_MAX_MS = 30_000
"""Telegram cannot be reached: first wait, doubled each time up to the second."""
BAD_TOKEN_MS = 60_000


type EndingFault = (
    NotReached | Unknown | Flooded | Gone | BadEntities | BadButtons | Refused | BadToken | Conflict
)
"""Faults that end the attempt."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One reply and the claim it came with."""

    claim: Claim
    item: Item
    reply: Reply

    def done(self, commit: Commit) -> Done:
        """The reply is dealt with; others of its lane become a turn of their own."""
        return Done(replace(commit, remove=(self.item.id,)))


def parts_of(reply: Reply) -> tuple[Part, ...]:
    """The messages and files that a reply is sent as."""
    return rich(reply.text) if reply.rich and not reply.plain else render(reply.text, plain=reply.plain)


class Sender:
    """Handler of one bot's outbox. Its LaneWorker takes one reply per turn (`per_turn=1`)."""

    def __init__(
        self, redis: RedisPort, api: BotApi, me: Me, limiter: Limiter, people: PeopleCache, clock: Clock
    ) -> None:
        self._redis = redis
        self._api = api
        self._me = me
        self._limiter = limiter
        self._people = people
        self._clock = clock
        self._unreached = 0

    async def run(self, claim: Claim) -> Outcome:
        """Send the first reply of the claim."""
        item = claim.items[0]
        try:
            letter = Letter(claim, item, load(Reply, item.body))
            before = found(item.id, claim.kept)
        except NewerVersion:
            return HandBack(NEWER_MS)
        except NotReadable as error:
            return Done(await self._dead(claim, item, str(error)))
        if not letter.reply.chat_id.lstrip("-").isdecimal():
            return Done(await self._dead(claim, item, "its chat id is not a number"))
        if before is not None and before.parts:
            return await self._send_parts(letter, before, saved=before)
        start = replace(fresh(parts_of(letter.reply)), taken_ms=self._clock())
        if before is not None:
            start = replace(before, parts=start.parts)
        return await self._send_parts(letter, start, saved=None)

    def bury(self, claim: Claim, reason: str) -> Commit:
        """Dead letters for what the turn took, and a notice for koi's owner."""
        return self._buried(claim, claim.items, reason)

    async def _send_parts(self, letter: Letter, at: Progress, saved: Progress | None) -> Outcome:
        chat_id, numbers = letter.reply.chat_id, list[int]()
        while not (marked := next_step(at)).done:
            wait_ms = await self._limiter.turn(chat_id)
            if wait_ms:
                await self._keep(letter, at, saved)
                return HandBack(wait_ms)
            await self._keep(letter, marked, saved)
            saved = marked
            last = marked.at == len(marked.parts) - 1
            fault = await self._try(letter.reply, marked.part, keyboard(letter.reply.buttons) if last else ())
            if isinstance(fault, int):
                numbers.append(fault)
                fault = None
            if isinstance(fault, BadEntities | BadButtons | Refused) and (parts := plainer(marked.part)):
                at = instead(marked, parts)
                self._log_without(fault, letter.reply)
                continue
            if isinstance(fault, Moved):
                await self._keep(letter, unsent(marked), marked)
                return await self._move(letter, fault.chat_id)
            if fault is not None:
                return await self._after(fault, letter, marked)
            self._unreached = 0
            self._limiter.worked()
            at = sent(marked, self._clock())
        reply = letter.reply
        log.info("reply_sent", lane=reply.lane, reply_id=reply.id, parts=len(marked.parts), left=marked.left)
        notices = left_notice(reply, self._me, await self._people.read()) if marked.left else ()
        life = life_effects(reply.id, reply.lane, marked, self._clock())
        return letter.done(Commit((*sent_effects(reply.lane, reply.id, numbers), *life), pushes=notices))

    async def _try(self, reply: Reply, part: KeptPart, buttons: Keyboard) -> Fault | int:
        """One part, without buttons if Telegram refuses them. Telegram's number of the message (0: unknown): it is with the
        person.
        """
        while True:
            try:
                return await self._send(reply, part, buttons)
            except AiogramError as error:
                fault = fault_of(error)
            if not (isinstance(fault, BadButtons) and buttons):
                return fault
            buttons = ()
            self._log_without(fault, reply)

    async def _send(self, reply: Reply, part: KeptPart, buttons: Keyboard) -> int:
        chat_id = int(reply.chat_id)
        if part.file:
            caption = AGAIN.strip() if part.again else ""
            await self._api.send_document(
                chat_id, part.file, part.text.encode(), reply.topic_id, caption=caption, buttons=buttons
            )
            return 0
        if part.rich:
            return await self._api.send_rich(chat_id, part.rich, reply.topic_id, buttons)
        return await self._api.send(chat_id, part.text, list(part.entities), reply.topic_id, buttons)

    def _log_without(self, fault: Fault, reply: Reply) -> None:
        log.warning("sent_without", what=type(fault).__name__, lane=reply.lane, reply_id=reply.id)

    async def _after(self, fault: EndingFault, letter: Letter, marked: Progress) -> Outcome:
        """How the turn ends when the marked part was not taken, or nobody knows."""
        lane, reply_id = letter.reply.lane, letter.reply.id
        log.warning("send_failed", lane=lane, reply_id=reply_id, part=marked.at, fault=type(fault).__name__)
        match fault:
            case Unknown():
                return HandBack(RESEND_MS)  # the mark stays
            case Flooded(retry_after_s=seconds):
                await self._keep(letter, unsent(marked), marked)
                await self._limiter.flooded(letter.reply.chat_id, seconds * 1000)
                return HandBack(seconds * 1000)
            case NotReached():
                await self._keep(letter, unsent(marked), marked)
                self._unreached += 1
                return HandBack(min(UNREACHED_MAX_MS, UNREACHED_MS * 2 ** min(self._unreached - 1, 10)))
            case BadToken() | Conflict():
                await self._keep(letter, unsent(marked), marked)
                return HandBack(BAD_TOKEN_MS)
            case Gone():
                return letter.done(Commit((*life_effects(reply_id, lane, marked, self._clock(), "gone"),)))
            case BadEntities() | BadButtons() | Refused():
                why = fault.why if isinstance(fault, Refused) else type(fault).__name__
                return Done(
                    await self._dead(letter.claim, letter.item, f"Telegram refuses it: {why}", marked)
                )
            case _:
                assert_never(fault)

    async def _move(self, letter: Letter, new_chat_id: str) -> Outcome:
        """All that is kept of the group goes to its new id, this reply with it: there it is sent."""
        moved = await migrate(
            self._redis, bot_id=self._me.bot_id, store=self._me.store, old_chat_id=letter.reply.chat_id,
            new_chat_id=new_chat_id,
        )  # fmt: skip
        match moved:
            case Migrated.DONE:
                return HandBack()  # the old lane is nobody's any more: the release changes nothing
            case Migrated.BUSY:
                return HandBack(RESEND_MS)
            case Migrated.BROKEN:
                return Done(await self._dead(letter.claim, letter.item, "its group cannot be moved"))

    async def _keep(self, letter: Letter, progress: Progress, saved: Progress | None) -> None:
        if progress is not saved:
            await keep(self._redis, letter.claim, kept(letter.item.id, progress, saved))

    async def _dead(self, claim: Claim, item: Item, reason: str, at: Progress | None = None) -> Commit:
        await self._people.read()
        is_kept = not await self._redis.exists(keys.unkept(item.id))
        return self._buried(claim, (item,), reason, at, is_kept=is_kept)

    def _buried(
        self,
        claim: Claim,
        items: tuple[Item, ...],
        reason: str,
        at: Progress | None = None,
        *,
        is_kept: bool = True,
    ) -> Commit:
        """at: as far as it came in this attempt. is_kept: for what is said; the commit itself stores no letter for what is
        unkept.
        """
        letters = tuple(
            (item.id, effect) for item in items for effect in dead_letter(claim, item, reason, self._clock())
        )
        people = self._people.last()
        pushes = tuple(
            push
            for item in items
            for push in dead_notice(claim, item, reason, self._me, people, is_kept=is_kept)
        )
        log.error("reply_dead", lane=claim.lane, reply_ids=[item.id for item in items], reason=reason)
        lives = tuple(effect for item in items for effect in dead_effects(item.id, claim, at, self._clock()))
        return Commit(lives, letters=letters, pushes=pushes, remove=tuple(item.id for item in items))
