"""Who may use the bots: the owner, people and groups that the owner let in, and the ids that the settings allow."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Literal, cast

import structlog

from infra import keys
from infra.clock import Clock
from infra.effect import Effect
from infra.redis_port import RedisPort
from infra.scripts import Script
from infra.settings import Settings
from infra.together import checked, together
from schemas.person import Group, Person
from schemas.wire import NewerVersion, NotReadable, WireModel, dump, load

log = structlog.get_logger()

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without the ones that look alike: I and 1, O and 0."""
CODE_LENGTH = 8
CODE = re.compile(rf"(?=.*\d)[{CODE_LETTERS}]{{{CODE_LENGTH}}}")
"""With a digit in it, so that no word is taken for one."""
TRIES = 3
TRIES_PERIOD_MS = 3_600_000
"""So many wrong codes a person may send in that time."""
CACHE_MS = 3_000
"""How long a process believes what it read: whoever is let in or blocked waits at most so long."""

_PAIR = Script(Path(__file__).with_name("pair.lua"))

type Role = Literal["owner", "member", "guest", "blocked", "stranger"]
type GroupRole = Literal["approved", "blocked", "unknown"]


@dataclass(frozen=True, slots=True)
class People:
    """Everybody with a role, and every group, as read at one moment."""

    owner_id: str = ""
    """ "" as long as nobody is."""
    by_id: Mapping[str, Person] = field(default_factory=dict[str, Person])
    allowed: frozenset[str] = frozenset()
    groups: Mapping[str, Group] = field(default_factory=dict[str, Group])
    """By the id of their chat."""

    def role_of(self, user_id: str) -> Role:
        """Blocked beats the list of allowed ids; nobody blocks the owner."""
        if user_id and user_id == self.owner_id:
            return "owner"
        person = self.by_id.get(user_id)
        if person is not None and person.role in {"blocked", "guest"}:
            return person.role
        return "member" if person is not None or user_id in self.allowed else "stranger"

    def group_role(self, chat_id: str) -> GroupRole:
        """Approved: everybody there may talk to the bots, in that group."""
        group = self.groups.get(chat_id)
        return "unknown" if group is None else group.role


class Pairing(Enum):
    """What became of a code that somebody sent."""

    PAIRED = b"paired"
    WRONG = b"wrong"
    THROTTLED = b"throttled"
    CLOSED = b"closed"
    """There is an owner, or no code."""


async def read_people(redis: RedisPort, settings: Settings) -> People:
    """Everybody, in one round trip. A record that cannot be read (or is of a newer version) lets nobody in."""
    people, groups = checked(
        await together(redis).run(("HGETALL", keys.people()), ("HGETALL", keys.groups()))
    )
    by_id = _readable(Person, people)
    paired = next((p.user_id for p in by_id.values() if p.role == "owner"), "")
    return People(
        settings.telegram_owner or paired,
        by_id,
        frozenset(settings.telegram_allowed_users),
        _readable(Group, groups),
    )


def _readable[W: WireModel](model: type[W], found: object) -> dict[str, W]:
    """Those records of a hash that this process can read, by their id."""
    readable: dict[str, W] = {}
    for raw_id, raw in cast("Mapping[bytes, bytes]", found).items():
        try:
            readable[raw_id.decode()] = load(model, raw)
        except (NotReadable, NewerVersion) as error:
            log.warning("person_unreadable", kind=model.__name__, id=raw_id.decode(), error=str(error))
    return readable


async def owner_id(redis: RedisPort, settings: Settings) -> str:
    """The owner's id; "" if nobody is it yet."""
    return settings.telegram_owner or (await read_people(redis, settings)).owner_id


class PeopleCache:
    """What `read_people` gave, at most CACHE_MS old."""

    def __init__(self, redis: RedisPort, settings: Settings, clock: Clock) -> None:
        self._redis = redis
        self._settings = settings
        self._clock = clock
        self._read_at_ms = 0
        self._people: People | None = None

    async def read(self) -> People:
        """Raises what redis-py raises."""
        now_ms = self._clock()
        if self._people is None or not 0 <= now_ms - self._read_at_ms < CACHE_MS:
            self._people = await read_people(self._redis, self._settings)
            self._read_at_ms = now_ms
        return self._people

    def last(self) -> People:
        """What was read last, however long ago."""
        return self._people or People(self._settings.telegram_owner)

    def changed(self) -> None:
        """Read again next time."""
        self._people = None


async def save_person(redis: RedisPort, person: Person) -> None:
    """Store one person as given."""
    await redis.hset(keys.people(), person.user_id, dump(person))


def person_effect(person: Person) -> Effect:
    """The same as `save_person`, for a commit."""
    return Effect("HSET", keys.people(), (person.user_id, dump(person)))


def stranger_effect(user_id: str) -> Effect:
    """Whoever it was has no role any more."""
    return Effect("HDEL", keys.people(), (user_id,))


def group_effect(group: Group) -> Effect:
    """Store one group as given."""
    return Effect("HSET", keys.groups(), (group.chat_id, dump(group)))


def unknown_group_effect(chat_id: str) -> Effect:
    """As if nobody had ever written there."""
    return Effect("HDEL", keys.groups(), (chat_id,))


async def pairing_code(redis: RedisPort, settings: Settings) -> str:
    """The code for the first owner, made when it is first asked for; "" if there is an owner."""
    if await owner_id(redis, settings):
        return ""
    await redis.set(keys.pairing(), new_code(), nx=True)
    return (await redis.get(keys.pairing()) or b"").decode()


def new_code() -> str:
    """Eight letters and digits, 40 bits less what the digit costs."""
    while True:
        code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
        if CODE.fullmatch(code):
            return code


def code_in(text: str) -> str:
    """The pairing code that `text` is, however it is spaced and cased; "" if it is none."""
    code = text.strip().replace("-", "").replace(" ", "").upper()
    return code if CODE.fullmatch(code) else ""


async def pair(redis: RedisPort, code: str, person: Person) -> Pairing:
    """Make `person` the owner if `code` is the pairing code, in one step."""
    result = await _PAIR(
        redis,
        [keys.pairing(), keys.people(), keys.tries(person.user_id)],
        [code, person.user_id, dump(person), TRIES, TRIES_PERIOD_MS],
    )
    return Pairing(result)
