"""Who may use koi, decided on the dashboard: somebody is let in, blocked, or blocked no more. Each is one step that changes
something only if the person still is as the page showed them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.actions import NONE, stamp_of
from dashboard.texts import say
from infra import keys
from infra.deliver import deliver
from infra.effect import Effect, Expect, Push
from infra.knocks import answered_effects
from infra.people import group_effect, person_effect, stranger_effect, unknown_group_effect
from infra.pushes import push_reply
from infra.redis_port import RedisPort
from infra.together import checked, together
from schemas.person import Group, Knock, Person
from schemas.reply import Reply
from schemas.wire import NewerVersion, NotReadable, load

type Verb = Literal["approve", "guest", "block", "unblock", "restore"]
"""approve, guest: who knocked is let in. unblock: they may ask to be let in. restore: they may talk to koi again."""

VERBS: Mapping[str, Verb] = {
    "approve": "approve", "guest": "guest", "block": "block", "unblock": "unblock", "restore": "restore",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Records:
    """What is stored of a person or a group; None: nothing."""

    who: str
    record: bytes | None = None
    knock: bytes | None = None

    @property
    def is_group(self) -> bool:
        """Telegram's ids of groups are negative."""
        return self.who.startswith("-")

    @property
    def key(self) -> str:
        """Of the hash that holds the record."""
        return keys.groups() if self.is_group else keys.people()

    @property
    def seen(self) -> str:
        """What a page showed: both values, told apart from any others."""
        return ".".join(NONE if raw is None else stamp_of(raw) for raw in (self.record, self.knock))


@dataclass(frozen=True, slots=True)
class Step:
    """What is done."""

    effects: tuple[Effect, ...]
    pushes: tuple[Push, ...] = ()


# ── pure ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def field_of(records: Records) -> str:
    """Of the form: what was seen, a space, who."""
    return f"{records.seen} {records.who}"


def step_of(verb: Verb, records: Records, *, owner_id: str, now_ms: int) -> Step | None:
    """None: it cannot be done, as they stand.

    Raises: NotReadable, NewerVersion: a record is not known to this release.
    """
    knock = load(Knock, records.knock) if records.knock else None
    if knock is not None and knock.until_ms <= now_ms:
        knock = None
    match verb:
        case "approve" | "guest":
            return None if knock is None else _let_in(verb, records, knock, now_ms)
        case "block":
            return None if records.who == owner_id else _blocked(records, knock, now_ms)
        case "unblock" | "restore":
            return _unblocked(verb, records, now_ms) if _is_blocked(records) else None


def _let_in(verb: Verb, records: Records, knock: Knock, now_ms: int) -> Step:
    if records.is_group:
        effect = group_effect(_group(records, "approved", knock.name, now_ms))
        hello = say(
            knock.language,
            "Hello everybody! From now on all of you may talk to me here: mention me, reply to me or use a command. /help "
            "shows what I can do, /forget all removes what I remember of this group.",
        )
    else:
        person = _person(records, "guest" if verb == "guest" else "member", knock.name, now_ms)
        known = {"language": knock.language, "chat_bot_id": knock.bot_id}
        effect = person_effect(person.model_copy(update=known))
        hello = say(
            knock.language,
            "Good news, {name}: you are let in. Just write to me; what we talk about I remember for a day. /forget all "
            "removes it, /help shows the rest.",
            name=knock.name or knock.who,
        )
    return Step((effect, *answered_effects(knock)), (_tell(knock, hello),))


def _blocked(records: Records, knock: Knock | None, now_ms: int) -> Step | None:
    if _is_blocked(records):
        return None
    name = knock.name if knock else ""
    if records.is_group:
        effect = group_effect(_group(records, "blocked", name, now_ms))
    else:
        effect = person_effect(_person(records, "blocked", name, now_ms))
    return Step((effect, *(answered_effects(knock) if knock else ())))


def _unblocked(verb: Verb, records: Records, now_ms: int) -> Step:
    if records.is_group:
        approved = group_effect(_group(records, "approved", "", now_ms))
        return Step((approved if verb == "restore" else unknown_group_effect(records.who),))
    member = person_effect(_person(records, "member", "", now_ms))
    return Step((member if verb == "restore" else stranger_effect(records.who),))


def _is_blocked(records: Records) -> bool:
    if records.record is None:
        return False
    kind = Group if records.is_group else Person
    return load(kind, records.record).role == "blocked"


def _person(records: Records, role: Literal["member", "guest", "blocked"], name: str, now_ms: int) -> Person:
    """Version 2 only where it must be."""
    known = load(Person, records.record) if records.record else Person(user_id=records.who, name=name)
    version = 2 if role == "guest" else 1
    return known.model_copy(update={"v": version, "role": role, "since_ms": now_ms})


def _group(records: Records, role: Literal["approved", "blocked"], title: str, now_ms: int) -> Group:
    known = load(Group, records.record) if records.record else Group(chat_id=records.who, title=title)
    return known.model_copy(update={"role": role, "since_ms": now_ms})


def _tell(knock: Knock, text: str) -> Push:
    """Where they wrote from, by the bot they wrote to."""
    reply = Reply(
        id=f"knock:{knock.code}:approved", bot_id=knock.bot_id, chat_id=knock.who, text=text, plain=True,
        language=knock.language,
    )  # fmt: skip
    return push_reply(reply)


# ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────
async def read_records(redis: RedisPort, whose: Sequence[str]) -> Sequence[Records]:
    """One round trip. Raises what redis-py raises."""
    asked = [
        command
        for who in whose
        for command in (("HGET", Records(who).key, who), ("HGET", keys.knock(who), "knock"))
    ]
    found = checked(await together(redis).run(*asked)) if asked else []
    return [Records(who, found[2 * nth], found[2 * nth + 1]) for nth, who in enumerate(whose)]


async def decide(redis: RedisPort, verb: Verb, who: str, seen: str, *, owner_id: str, now_ms: int) -> bool:
    """False: they are not as they were shown, or it cannot be done; nothing changed.

    Raises: CannotDeliver, and what redis-py raises.
    """
    (records,) = await read_records(redis, [who])
    if records.seen != seen:
        return False
    try:
        step = step_of(verb, records, owner_id=owner_id, now_ms=now_ms)
    except (NotReadable, NewerVersion):
        return False
    if step is None:
        return False
    return await deliver(
        redis,
        expects=(Expect(records.key, who, records.record), Expect(keys.knock(who), "knock", records.knock)),
        effects=step.effects,
        pushes=step.pushes,
    )
