"""Everybody who may use koi, was kept out, or asks to be let in, with what they use and may use."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.admit import field_of, read_records
from dashboard.names import LOCAL, Names, read_names
from dashboard.shared import Shared
from dashboard.spent import Use, read_uses
from infra.knocks import read_knocks
from infra.people import People
from infra.settings import PlanSettings
from schemas.person import Group, Knock

PER_PAGE = 50
EVERYBODY = "*"
ORDER = ("owner", "member", "guest", "local", "blocked")

type Role = Literal["owner", "member", "guest", "local", "blocked", "stranger"]
"""local: sits at the machine (`koi chat`)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What somebody may use."""

    name: str
    messages_per_day: int | None = None
    microusd_per_month: int | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Someone:
    """A person."""

    id: str
    name: str
    role: Role
    since_ms: int
    """0: not known."""
    by_setting: bool
    """TELEGRAM_ALLOWED_USERS names them."""
    plan: Plan | None
    """None: no limits."""
    use: Use
    field: str
    """Of the forms that change their role."""


@dataclass(frozen=True, slots=True)
class Place:
    """A group that was decided about."""

    group: Group
    field: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Somebody, or a group, asks to be let in."""

    knock: Knock
    field: str


@dataclass(frozen=True, slots=True)
class Everybody:
    """One page of people, with all groups and requests."""

    people: Sequence[Someone]
    total: int
    page: int
    pages: int
    groups: Sequence[Place]
    waiting: Sequence[Waiting]
    has_owner: bool


# ── pure ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def ids_of(people: People, local: Iterable[str]) -> list[str]:
    """By role, those who came first before the others; then by id."""
    known = dict.fromkeys((*people.by_id, *people.allowed, *filter(None, [people.owner_id]), *local))

    def rank(user_id: str) -> tuple[int, bool, int, str]:
        person = people.by_id.get(user_id)
        since_ms = person.since_ms if person else 0
        return ORDER.index(role_of(people, user_id)), not since_ms, since_ms, user_id

    return sorted(known, key=rank)


def role_of(people: People, user_id: str) -> Role:
    """As infra.people says it; who sits at the machine needs none."""
    role = people.role_of(user_id)
    return "local" if role == "stranger" else role


def plan_of(plans: Mapping[str, PlanSettings], user_id: str, owner_id: str) -> Plan | None:
    """As workers.plans decides: by name, else the plan of everybody, which is not the owner's (nor, before anybody paired,
    of who sits at the machine).
    """
    named = next((name for name, plan in plans.items() if user_id in plan.people), "")
    is_owner = user_id == owner_id if owner_id else user_id.startswith(LOCAL)
    if not named and not is_owner:
        named = next((name for name, plan in plans.items() if EVERYBODY in plan.people), "")
    if not named:
        return None
    plan = plans[named]
    usd = plan.usd_per_month
    return Plan(named, plan.messages_per_day, None if usd is None else round(usd * 1_000_000), plan.models)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def read_everybody(shared: Shared, now_ms: int, page: int) -> Everybody:
    """page: from 1. A handful of round trips. Raises what redis-py raises."""
    names = await read_names(shared)
    await shared.lives.read_on(shared.redis)
    local = {row.user_id for row in shared.lives.newest_first() if row.user_id.startswith(LOCAL)}
    ids = ids_of(names.people, sorted(local))
    pages = max(1, -(-len(ids) // PER_PAGE))
    page = min(max(1, page), pages)
    shown = ids[(page - 1) * PER_PAGE : page * PER_PAGE]
    knocks = await read_knocks(shared.redis, now_ms)
    chats = sorted(names.people.groups)[:PER_PAGE]
    whose = (*shown, *chats, *(knock.who for knock in knocks))
    fields = {one.who: field_of(one) for one in await read_records(shared.redis, whose)}
    uses = await read_uses(shared, shown, now_ms)
    return Everybody(
        [_someone(shared, names, id_, uses[id_], fields[id_]) for id_ in shown],
        len(ids),
        page,
        pages,
        [Place(names.people.groups[chat], fields[chat]) for chat in chats],
        [Waiting(knock, fields[knock.who]) for knock in knocks],
        bool(names.people.owner_id),
    )


async def waiting_count(shared: Shared, now_ms: int) -> int:
    """How many ask to be let in."""
    return len(await read_knocks(shared.redis, now_ms))


def _someone(shared: Shared, names: Names, user_id: str, use: Use, field: str) -> Someone:
    people = names.people
    person = people.by_id.get(user_id)
    return Someone(
        user_id, names.person(user_id), role_of(people, user_id), person.since_ms if person else 0,
        user_id in people.allowed, plan_of(shared.settings.plans, user_id, people.owner_id), use, field,
    )  # fmt: skip
