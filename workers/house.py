"""Everybody who may talk to koi or asks to, as the owner's commands look at them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from infra.knocks import read_knocks
from infra.people import People, PeopleCache
from infra.redis_port import RedisPort
from infra.texts import later
from schemas.inbound import InboundMessage
from schemas.person import Group, Knock, Person
from schemas.reply import Button
from workers.plans import NO_PLANS, Plans
from workers.texts import say

ROLES: Mapping[str, str] = {
    "owner": later("owner"),
    "member": later("member"),
    "guest": later("guest"),
    "blocked": later("blocked"),
}

type LetIn = Literal["member", "guest"]


@dataclass(frozen=True, slots=True)
class House:
    """Who asks, and everybody there is."""

    message: InboundMessage
    role: str
    """Of whoever asks, one of ROLES (workers.commands.role_in)."""
    people: People
    knocks: tuple[Knock, ...]
    """Open requests."""
    language: str
    zone: tzinfo
    now_ms: int
    plans: Plans = NO_PLANS

    def name_of(self, who: str) -> str:
        """As people are shown: the name if one is known, else the id."""
        return self.known_name(who) or who

    def known_name(self, who: str) -> str:
        """Of a person or a group; "" if none is known. One line."""
        group, person, knock = self.people.groups.get(who), self.people.by_id.get(who), self.knock_of(who)
        names = (group.title if group else "", person.name if person else "", knock.name if knock else "")
        return next((" ".join(name.split()) for name in names if name.strip()), "")

    def knock_of(self, who: str) -> Knock | None:
        return next((knock for knock in self.knocks if knock.who == who), None)

    def person(self, user_id: str, role: Literal["member", "guest", "blocked"]) -> Person:
        """Their record with another role from now on; version 2 only where it must be."""
        known = self.people.by_id.get(user_id) or Person(user_id=user_id, name=self.known_name(user_id))
        version = 2 if role == "guest" else 1
        return known.model_copy(update={"v": version, "role": role, "since_ms": self.now_ms})

    def group(self, chat_id: str, role: Literal["approved", "blocked"]) -> Group:
        return Group(chat_id=chat_id, title=self.known_name(chat_id), role=role, since_ms=self.now_ms)


async def load_everybody(
    redis: RedisPort, cache: PeopleCache, now_ms: int
) -> tuple[People, tuple[Knock, ...]]:
    """Everybody as of now, and the open requests: three round trips at most.

    Raises what redis-py raises.
    """
    cache.changed()
    return await cache.read(), await read_knocks(redis, now_ms)


def is_group(who: str) -> bool:
    """Telegram's chat ids of groups are negative."""
    return who.startswith("-")


def block_button(who: str, language: str, name: str = "") -> Button:
    """name: "" where it is clear who is meant."""
    text = say(language, "Block {name}", name=name) if name else say(language, "Block")
    return Button(text=text, command=f"/block {who}")


def unblock_button(who: str, language: str, *, name: str = "", role: LetIn | None = None) -> Button:
    """role: the one to give back; None: they have to ask."""
    text = say(language, "Unblock {name}", name=name) if name else say(language, "Unblock")
    return Button(text=text, command=" ".join(filter(None, ("/unblock", who, role))))


def approve_button(knock: Knock, language: str, name: str) -> Button:
    kind = "group " if knock.kind == "group" else ""
    return Button(text=say(language, "Let {name} in", name=name), command=f"/approve {kind}{knock.code}")
