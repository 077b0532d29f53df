"""What chats and people are called on the pages: names that the owner knows, else ids. Pure, but for reading them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

from dashboard.shared import Shared
from infra.people import People, read_people
from infra.settings import Settings

LATELY_ROWS = 500
LOCAL = "local:"
"""Ids of people who sit at the machine begin with it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A lane in its parts: `bot:chat:topic`, where a chat's id may hold colons."""

    bot_id: str
    chat_id: str
    topic: str

    @classmethod
    def of(cls, lane: str) -> Self:
        """Of any text: what has too few parts is a chat."""
        bot_id, _, rest = lane.partition(":")
        chat_id, _, topic = rest.rpartition(":")
        return cls(bot_id, chat_id or rest, topic)

    @property
    def is_group(self) -> bool:
        """Telegram's ids of groups are negative."""
        return self.chat_id.startswith("-")


@dataclass(frozen=True, slots=True)
class Names:
    """Of everybody with a role, as read at one moment."""

    people: People = field(default_factory=People)
    bots: Mapping[str, str] = field(default_factory=dict[str, str])
    """bot_id → its name in the settings."""

    def person(self, user_id: str) -> str:
        """The name, else the id; "local:anna" is Anna at this machine: "anna"."""
        known = self.people.by_id.get(user_id)
        return _line(known.name if known else "") or user_id.removeprefix(LOCAL)

    def chat(self, lane: str) -> str:
        """ "Anna", "Family · 7" (a topic of a group), or the id."""
        place = Place.of(lane)
        if not place.is_group:
            return self.person(place.chat_id)
        return self._group(place.chat_id, place.topic)

    def owner(self, owner: str) -> str:
        """Of a memory owner: the person, or the group's topic."""
        _, _, rest = owner.partition(":")
        kind, _, who = rest.partition(":")
        if kind != "g":
            return self.person(who) or owner
        chat_id, _, topic = who.rpartition(":")
        return self._group(chat_id, topic)

    def bot(self, bot_id: str) -> str:
        """Its name in the settings, else its id."""
        return self.bots.get(bot_id, bot_id)

    def _group(self, chat_id: str, topic: str) -> str:
        known = self.people.groups.get(chat_id)
        title = _line(known.title if known else "") or chat_id
        return title if topic in {"", "0"} else f"{title} · {topic}"


async def read_names(shared: Shared) -> Names:
    """One round trip. Bots are called as in the settings, else as they called themselves lately. Raises what redis-py raises."""
    lately = {
        Place.of(row.lane).bot_id: row.bot
        for row in islice(shared.lives.newest_first(), LATELY_ROWS)
        if row.bot
    }
    return Names(await read_people(shared.redis, shared.settings), {**lately, **bots_of(shared.settings)})


def bots_of(settings: Settings) -> Mapping[str, str]:
    """bot_id → name, of those that the settings name. A process that was given no tokens knows none."""
    found = {bot.token.get_secret_value().partition(":")[0]: bot.name for bot in settings.bots}
    return {bot_id: name for bot_id, name in found.items() if bot_id}


def store_of(owner: str) -> str:
    """The memory store of an owner."""
    return owner.partition(":")[0]


def _line(text: str) -> str:
    return " ".join(text.split())
