"""Who gets in: what to do with a message of this sender. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, assert_never, cast

from infra.clean import clean
from infra.people import People, code_in
from schemas.inbound import InboundMessage
from schemas.person import Person

JUST_PAIRED_MS = 600_000
"""The same code again within this time (sent twice, or delivered again after a crash) is greeted, not answered."""

TITLE_CHARS = 64


@dataclass(frozen=True, slots=True)
class Welcome:
    """Let in."""

    note: Person | None = None
    """What to store about the owner first, if that changed."""
    is_limited: bool = True
    """Against floods."""
    in_unknown_group: bool = False
    """The owner is to be asked about the group."""


@dataclass(frozen=True, slots=True)
class TriesCode:
    """Nobody owns koi yet, and this looks like the pairing code."""

    code: str


@dataclass(frozen=True, slots=True)
class Greeted:
    """Sends the code that made him the owner a moment ago."""


@dataclass(frozen=True, slots=True)
class Unowned:
    """Writes to a koi that belongs to nobody yet; is told so, politely and rarely."""


@dataclass(frozen=True, slots=True)
class Knocks:
    """Not let in, but may ask; in a group that nobody approved: for the group, and hears nothing."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Gets no answer at all."""


@dataclass(frozen=True, slots=True)
class NotHere:
    """This bot is for others; hears that once."""


type NotLetIn = TriesCode | Greeted | Unowned | Knocks | NotHere | Silent
type Decision = Welcome | NotLetIn


def decide(
    message: InboundMessage, people: People, *, now_ms: int, only: Collection[str] | None = None
) -> Decision:
    """What to do with a message of this sender. only: ids that this bot is for; None: for everybody who was let in."""
    role = people.role_of(message.user_id)
    if only is not None and role != "owner":
        return _to_chosen(message, people, only)
    match role:
        case "owner":
            return _to_owner(message, people, now_ms)
        case "member" | "guest":
            return Welcome(in_unknown_group=_is_unknown_group(message, people))
        case "blocked":
            return Silent()
        case "stranger" if message.chat_kind == "group":
            return _to_group(message, people)
        case "stranger":
            return Knocks() if people.owner_id else _while_unowned(message)
        case _:
            assert_never(role)


def _to_chosen(message: InboundMessage, people: People, only: Collection[str]) -> Decision:
    """Anybody but the owner, at a bot that is for some: who is written down need not ask, and nobody else can."""
    if people.role_of(message.user_id) == "blocked":
        return Silent()
    if message.user_id in only:
        return Welcome()
    if message.chat_kind == "group":
        return Silent()
    return NotHere() if people.owner_id else _while_unowned(message)


def _while_unowned(message: InboundMessage) -> TriesCode | Unowned:
    code = code_in(maybe_code(message))
    return TriesCode(code) if code else Unowned()


def _to_owner(message: InboundMessage, people: People, now_ms: int) -> Welcome | Greeted:
    known, sent = people.by_id.get(message.user_id), maybe_code(message)
    is_code = message.chat_kind == "private" and sent != "" and code_in(sent) == sent
    if is_code and known is not None and 0 <= now_ms - known.since_ms < JUST_PAIRED_MS:
        return Greeted()
    return Welcome(_news(message, known), False, _is_unknown_group(message, people))


def _to_group(message: InboundMessage, people: People) -> Welcome | Knocks | Silent:
    """Somebody without a role, in a group."""
    match people.group_role(message.chat_id):
        case "approved":
            return Welcome()
        case "unknown" if people.owner_id:
            return Knocks()
        case _:
            return Silent()


def _is_unknown_group(message: InboundMessage, people: People) -> bool:
    return (
        message.chat_kind == "group"
        and bool(people.owner_id)
        and people.group_role(message.chat_id) == "unknown"
    )


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


def title_in(raw: Mapping[str, Any]) -> str:
    """The title of the group that an update is from; "" if it has none."""
    found: Any = raw
    for names in (("message", "edited_message"), ("chat",), ("title",)):
        if not isinstance(found, Mapping):
            return ""
        fields = cast("Mapping[str, Any]", found)
        found = next((fields[name] for name in names if name in fields), None)
    return clean(found)[:TITLE_CHARS] if isinstance(found, str) else ""
