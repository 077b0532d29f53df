"""What people of the family do, as Telegram tells it to the bots."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.telegram_state import Json
from tests.system.family.calls import Bot
from tests.system.family.stage import Action, Stage, drafts
from tests.system.koi import buttons_of

KOI, MIA = Bot("7801", "Koi"), Bot("7802", "Mia")
MENTION = re.compile(r"@\w+")


@dataclass(frozen=True, slots=True)
class Group:
    """A chat that both bots are in; both are told of every message (privacy mode is off)."""

    id: int
    kind: str
    topic: int = 0
    is_forum: bool = False

    @property
    def chat(self) -> Json:
        forum = {"is_forum": True} if self.is_forum else {}
        return {"id": self.id, "type": self.kind, "title": "Family", **forum}

    @property
    def thread(self) -> Json:
        return {"message_thread_id": self.topic, "is_topic_message": True} if self.topic else {}


type Where = Bot | Group


def bots_in(where: Where) -> tuple[Bot, ...]:
    return (where,) if isinstance(where, Bot) else (KOI, MIA)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One update for each bot of a chat. Called, it arrives."""

    where: Where
    made: Callable[[Stage], Awaitable[Json]]

    async def __call__(self, stage: Stage) -> None:
        update = await self.made(stage)
        for bot in bots_in(self.where):
            stage.feed(bot.id, dict(update))


def together(*arrivals: Arrival) -> Action:
    """In one batch: the bots find all of them at once."""

    async def arrive(stage: Stage) -> None:
        made = [(one.where, await one.made(stage)) for one in arrivals]
        for where, update in made:
            for bot in bots_in(where):
                stage.feed(bot.id, dict(update))

    return arrive


def mentions(text: str) -> Json:
    """Entities as Telegram sets them: counted in UTF-16 units."""
    found = [
        {"type": "mention", "offset": units(text[: one.start()]), "length": units(one[0])}
        for one in MENTION.finditer(text)
    ]
    return {"entities": found} if found else {}


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def forwarded_from(name: str) -> Json:
    return {"forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": name}}


def photo(file_id: str, width: int, height: int) -> Json:
    size = {
        "file_id": file_id,
        "file_unique_id": f"u-{file_id}",
        "width": width,
        "height": height,
        "file_size": 900,
    }
    return {"photo": [{**size, "file_id": f"small-{file_id}", "width": 8, "height": 6}, size]}


def document(name: str, file_id: str, size: int) -> Json:
    file = {"file_id": file_id, "file_unique_id": f"u-{file_id}", "file_name": name, "file_size": size}
    return {"document": file}


@dataclass(frozen=True, slots=True)
class Person:
    id: int
    name: str
    language: str

    @property
    def user(self) -> Json:
        return {
            "id": self.id,
            "is_bot": False,
            "first_name": self.name,
            "language_code": self.language,
        }

    def chat(self, where: Where) -> Json:
        if isinstance(where, Group):
            return where.chat
        return {"id": self.id, "type": "private", "first_name": self.name}

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────
    def says(self, text: str, to: Where = KOI, **more: Any) -> Arrival:
        """more: fields of the message; `message_id`, if it is to be edited later."""
        return self.sends(to, text=text, **mentions(text), **more)

    def sends(self, to: Where = KOI, **fields: Any) -> Arrival:
        """Anything."""

        async def made(stage: Stage) -> Json:
            return {"message": {**self._head(stage, to), "message_id": stage.number(), **fields}}

        return Arrival(to, made)

    def replies(self, text: str, to: Where = KOI, *, quote: str = "", **more: Any) -> Arrival:
        """To what Koi wrote last there; to a part of it."""

        async def made(stage: Stage) -> Json:
            there = stage.telegram.written[KOI.id, self.chat(to)["id"]]
            part = {"quote": {"text": quote, "position": there["text"].index(quote)}} if quote else {}
            message = {**self._head(stage, to), "message_id": stage.number(), "text": text}
            replied = {**there, "chat": self.chat(to)}
            return {"message": {**message, **part, "reply_to_message": replied, **more}}

        return Arrival(to, made)

    def edits(self, message_id: int, text: str, to: Where = KOI) -> Arrival:
        async def made(stage: Stage) -> Json:
            message = {**self._head(stage, to), "message_id": message_id, "text": text}
            return {"edited_message": {**message, "edit_date": stage.now_s}}

        return Arrival(to, made)

    def sends_the_pairing_code(self) -> Arrival:
        """By the link that the console shows."""

        async def made(stage: Stage) -> Json:
            text = f"/start {await stage.pairing_code()}"
            return {"message": {**self._head(stage, KOI), "message_id": stage.number(), "text": text}}

        return Arrival(KOI, made)

    def _head(self, stage: Stage, to: Where) -> Json:
        thread = to.thread if isinstance(to, Group) else {}
        return {"date": stage.now_s, "from": self.user, "chat": self.chat(to), **thread}

    # ── beside messages ──────────────────────────────────────────────────────────────────────────────────────────
    def reacts(self, emoji: str) -> Arrival:
        """To what Koi wrote last in private."""

        async def made(stage: Stage) -> Json:
            number = stage.telegram.written[KOI.id, self.id]["message_id"]
            new = [{"type": "emoji", "emoji": emoji}]
            reaction = {"message_id": number, "old_reaction": [], "new_reaction": new, "user": self.user}
            return {"message_reaction": {"chat": self.chat(KOI), "date": stage.now_s, **reaction}}

        return Arrival(KOI, made)

    def taps(self, label: str, of: Bot = KOI) -> Action:
        """The button under the last message that has it, in private."""

        async def tap(stage: Stage) -> None:
            sent = reversed(stage.telegram.sent(self.id))
            command = next(found[label] for one in sent if label in (found := buttons_of(one)))
            stage.updates += 1
            stage.telegram.tap(of.id, self.id, command, name=self.name, language=self.language)

        return tap

    async def presses_stop(self, stage: Stage) -> None:
        """The button under the draft that is shown."""
        shown = drafts(stage.telegram.calls[stage.mark :])
        stage.updates += 1
        stage.telegram.press_stop(KOI.id, self.id, int(shown[-1].fields["draft_id"]))


def becomes(old: Group, new: Group, by: Person) -> Action:
    """Telegram tells every bot twice that a group became a supergroup: in the old chat and in the new one."""

    async def migrate(stage: Stage) -> None:
        for here, field in ((old, {"migrate_to_chat_id": new.id}), (new, {"migrate_from_chat_id": old.id})):
            head = {"date": stage.now_s, "from": by.user, "chat": here.chat}
            for bot in (KOI, MIA):
                stage.feed(bot.id, {"message": {**head, "message_id": stage.number(), **field}})

    return migrate


def pasted(parts: Sequence[str], by: Person) -> Action:
    """A long text, which Telegram's apps cut into several messages."""
    return together(*(by.says(part) for part in parts))


ANNA, BEN, TOM, EVE = (
    Person(101, "Anna", "en"),
    Person(102, "Ben", "de"),
    Person(103, "Tom", "en"),
    Person(666, "Eve", "en"),
)
"""The owner; whom she lets in; who is in the group only; a stranger."""
FAMILY = Group(-4001, "group")
SUPER = Group(-1004001, "supergroup", is_forum=True)
"""The same, from noon on."""
TRIP = Group(-1004001, "supergroup", topic=77, is_forum=True)
"""A topic of it."""
