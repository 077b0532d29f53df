"""The commands that Telegram offers when somebody types "/": per language, and for private chats, groups and the owner.

They are set when a bot starts and when koi gets another owner, and only where they differ from what was set last. Whatever
goes wrong is logged and tried again later: the menu is a help, and no command depends on it.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

import orjson
import structlog
from aiogram.exceptions import AiogramError
from redis.exceptions import RedisError

from bot.api import BotApi, Json
from bot.faults import Gone, fault_of
from bot.texts import CATALOG, say
from infra import keys
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.texts import ENGLISH, later

log = structlog.get_logger()

LOOK_S = 5.0
"""How often it is looked whether there is another owner."""
RETRY_S = 600.0
"""After something went wrong. That the owner never wrote to this bot (then Telegram knows no such chat) is no trouble."""
KEPT_MS = 30 * 24 * 3_600_000
"""How long it is believed that Telegram shows what was set."""

COMMANDS: Mapping[str, str] = {
    "new": later("Begin a new conversation"),
    "stop": later("Stop the answer that is being written"),
    "retry": later("Answer again"),
    "memory": later("What I remember"),
    "forget": later("Forget: all, last, or a text"),
    "why": later("What my last answer was made of"),
    "model": later("Which model answers"),
    "usage": later("What you used today and this month"),
    "tasks": later("Tasks"),
    "memos": later("Memos"),
    "agenda": later("Calendar and reminders"),
    "facts": later("What I know about you"),
    "project": later("A conversation of its own for a project"),
    "language": later("The language I talk to you in"),
    "timezone": later("The clock I go by"),
    "rich": later("Tables and formulas laid out by Telegram itself"),
    "whoami": later("Your id and your role"),
    "help": later("What I can do"),
    "start": later("How we begin"),
}
"""Name → what it does, in the order in which they are offered."""
NOT_IN_GROUPS = frozenset({"usage", "facts", "language", "timezone", "rich", "start"})
"""They are about one person; or, in a group, the owner's."""
OWNERS: Mapping[str, str] = {
    "status": later("How koi is doing"),
    "people": later("Who may talk to me"),
    "approve": later("Let somebody in, by their code"),
    "block": later("Answer somebody no more, by their id"),
}

type Scope = str
"""BotCommandScope: its type, of a chat with the id: "all_private_chats", "chat:42"."""
type Place = tuple[Scope, str]
"""A scope and a language; "" for all languages that have no menu of their own."""
type Menu = tuple[tuple[str, str], ...]
"""(name, description) of each command."""
type Menus = Mapping[Place, Menu]

PRIVATE, GROUPS, CHAT = "all_private_chats", "all_group_chats", "chat:"


def menus(owner_id: str) -> Menus:
    """Everything that is to be shown. owner_id: "" as long as nobody is."""
    names: dict[Scope, Mapping[str, str]] = {
        PRIVATE: COMMANDS,
        GROUPS: {name: what for name, what in COMMANDS.items() if name not in NOT_IN_GROUPS},
    }
    if owner_id:
        names[CHAT + owner_id] = {**OWNERS, **COMMANDS}
    languages = [code for code in CATALOG.languages() if len(code) == 2]  # which is all that Telegram takes
    return {
        (scope, "" if code == ENGLISH else code): tuple(
            (name, say(code, what)) for name, what in commands.items()
        )
        for scope, commands in names.items()
        for code in languages
    }


def changes(wanted: Menus, shown: Mapping[str, str]) -> tuple[tuple[Place, Menu], ...]:
    """What to set; a menu of no commands is to be deleted (of the chat of a former owner).

    shown: field → digest of what was set last.
    """
    to_set = [(place, menu) for place, menu in wanted.items() if shown.get(field(place)) != digest(menu)]
    known = {field(place) for place in wanted}
    gone = [(place_of(name), ()) for name in shown if name not in known]
    return (*to_set, *gone)


def field(place: Place) -> str:
    """ "all_private_chats de"."""
    return " ".join(place).rstrip()


def place_of(name: str) -> Place:
    scope, _, language = name.partition(" ")
    return scope, language


def digest(menu: Menu) -> str:
    return hashlib.sha256(orjson.dumps(menu)).hexdigest()[:16]


def scope_json(scope: Scope) -> Json:
    """As Telegram takes it."""
    if scope.startswith(CHAT):
        return {"type": "chat", "chat_id": int(scope.removeprefix(CHAT))}
    return {"type": scope}


class MenuKeeper:
    """Keeps the menus of one bot."""

    def __init__(
        self,
        redis: RedisPort,
        api: BotApi,
        people: PeopleCache,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._redis = redis
        self._api = api
        self._people = people
        self._sleep = sleep

    async def serve(self) -> None:
        """For ever."""
        done_for: str | None = None
        while True:
            try:
                owner_id = (await self._people.read()).owner_id
            except RedisError:
                await self._sleep(LOOK_S)
                continue
            if owner_id == done_for:
                await self._sleep(LOOK_S)
            elif await self.show(owner_id):
                done_for = owner_id
            else:
                await self._sleep(RETRY_S)

    async def show(self, owner_id: str) -> bool:
        """Set what differs. False: some of it could not be set."""
        key = keys.menu(self._api.bot_id)
        try:
            shown = {name.decode(): of.decode() for name, of in (await self._redis.hgetall(key)).items()}
            done = [await self._set(key, *change) for change in changes(menus(owner_id), shown)]
        except RedisError as error:
            log.warning("menu_not_set", bot_id=self._api.bot_id, error=type(error).__name__)
            return False
        return all(done)

    async def _set(self, key: str, place: Place, menu: Menu) -> bool:
        """Raises: RedisError."""
        scope, language = place
        try:
            await self._api.set_commands(_commands(menu), scope_json(scope), language)
        except AiogramError as error:
            hint = log.debug if isinstance(fault_of(error), Gone) else log.warning
            hint("menu_not_set", bot_id=self._api.bot_id, scope=scope, error=type(error).__name__)
            return False
        if menu:
            await self._redis.hset(key, field(place), digest(menu))
            await self._redis.pexpire(key, KEPT_MS)
        else:
            await self._redis.hdel(key, field(place))
        return True


def _commands(menu: Menu) -> Sequence[Json]:
    return [{"command": name, "description": what} for name, what in menu]
