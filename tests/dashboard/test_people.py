"""People: who may use koi, by whose plan; let in, blocked and unblocked in one step, or not at all."""

import pytest

from dashboard import audit
from dashboard.admit import Records, Verb, decide, read_records, step_of
from dashboard.people import Plan, plan_of, read_everybody, waiting_count
from dashboard.shared import Shared
from infra import keys
from infra.knocks import ask, read_knocks
from infra.people import read_people, save_person
from infra.redis_port import RedisPort
from infra.settings import PlanSettings
from schemas.inbound import InboundMessage
from schemas.person import Group, Knock, Person
from schemas.reply import Reply
from schemas.wire import dump, load
from tests.dashboard.furnish import HOUR_MS, Caller, life, live
from tests.dashboard.house import NOW_MS, OWN, PASSWORDS, browser, shared_by
from workers.plans import plan_of as plan_by_worker
from workers.plans import plans_from

GROUP = "-100200"
HTMX = {**OWN, "HX-Request": "true"}


@pytest.fixture
async def shared(redis: RedisPort) -> Shared:
    return await shared_by(redis, {**PASSWORDS, "TELEGRAM_OWNER": "1"})


async def knock(redis: RedisPort, who: str = "43", kind: str = "private") -> Knock:
    message = InboundMessage(
        id="7:5", bot_id="7", bot="parcels", chat_id=who, user_id="43", user_name="Bo", language="de", chat_kind=kind,  # pyright: ignore[reportArgumentType]
        sent_at_ms=NOW_MS,
    )  # fmt: skip
    found = await ask(redis, message, now_ms=NOW_MS, title="Family")
    assert found is not None
    return found.knock


async def do(redis: RedisPort, verb: Verb, who: str, *, now_ms: int = NOW_MS, owner_id: str = "1") -> bool:
    (records,) = await read_records(redis, [who])
    return await decide(redis, verb, who, records.seen, owner_id=owner_id, now_ms=now_ms)


async def sent(redis: RedisPort, chat: str) -> list[Reply]:
    bodies = await redis.hgetall(keys.bodies(keys.outbox_job(f"7:{chat}:0")))
    return [load(Reply, body) for body in bodies.values()]


# ── decisions ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("verb", "role", "version"), [("approve", "member", 1), ("guest", "guest", 2)])
async def test_whoever_knocked_is_let_in_and_told_in_their_language(
    redis: RedisPort, shared: Shared, verb: Verb, role: str, version: int
) -> None:
    await knock(redis)

    assert await do(redis, verb, "43")

    person = (await read_people(redis, shared.settings)).by_id["43"]
    assert (person.role, person.v, person.name, person.language, person.chat_bot_id) == (
        role,
        version,
        "Bo",
        "de",
        "7",
    )
    assert person.since_ms == NOW_MS
    assert await read_knocks(redis, NOW_MS) == ()
    (hello,) = await sent(redis, "43")
    assert hello.text.startswith("Gute Nachricht, Bo")
    assert not await do(redis, verb, "43")


async def test_a_group_is_let_in_and_told(redis: RedisPort, shared: Shared) -> None:
    await knock(redis, GROUP, "group")

    assert await do(redis, "approve", GROUP)

    assert (await read_people(redis, shared.settings)).groups[GROUP] == Group(
        chat_id=GROUP, title="Family", since_ms=NOW_MS
    )
    assert len(await sent(redis, GROUP)) == 1


async def test_a_code_that_is_over_lets_nobody_in(redis: RedisPort, shared: Shared) -> None:
    await knock(redis)

    assert not await do(redis, "approve", "43", now_ms=NOW_MS + HOUR_MS)
    assert (await read_people(redis, shared.settings)).by_id == {}


async def test_a_member_is_blocked_unblocked_and_let_in_again(redis: RedisPort, shared: Shared) -> None:
    await save_person(redis, Person(user_id="42", name="Anna", since_ms=5))

    assert await do(redis, "block", "42")
    assert not await do(redis, "block", "42")
    assert (await read_people(redis, shared.settings)).role_of("42") == "blocked"
    assert await do(redis, "restore", "42")
    person = (await read_people(redis, shared.settings)).by_id["42"]
    assert (person.role, person.name) == ("member", "Anna")
    assert not await do(redis, "unblock", "42")
    assert await do(redis, "block", "42")
    assert await do(redis, "unblock", "42")
    assert (await read_people(redis, shared.settings)).role_of("42") == "stranger"


async def test_a_blocked_group_is_unknown_again_or_approved(redis: RedisPort, shared: Shared) -> None:
    await redis.hset(keys.groups(), GROUP, dump(Group(chat_id=GROUP, title="Family")))

    steps: list[tuple[Verb, str]] = [
        ("block", "blocked"), ("restore", "approved"), ("block", "blocked"), ("unblock", "unknown"),
    ]  # fmt: skip
    for verb, role in steps:
        assert await do(redis, verb, GROUP)
        assert (await read_people(redis, shared.settings)).group_role(GROUP) == role


async def test_who_knocks_can_be_blocked_and_their_request_is_over(redis: RedisPort, shared: Shared) -> None:
    await knock(redis)

    assert await do(redis, "block", "43")

    assert (await read_people(redis, shared.settings)).by_id["43"].name == "Bo"
    assert await read_knocks(redis, NOW_MS) == ()


async def test_nobody_blocks_the_owner(redis: RedisPort) -> None:
    await save_person(redis, Person(user_id="1", role="owner"))

    assert not await do(redis, "block", "1")


async def test_what_changed_since_it_was_seen_is_left(redis: RedisPort, shared: Shared) -> None:
    await save_person(redis, Person(user_id="42", name="Anna"))
    (records,) = await read_records(redis, ["42"])
    await save_person(redis, Person(user_id="42", name="Anna", role="guest", v=2))

    assert not await decide(redis, "block", "42", records.seen, owner_id="1", now_ms=NOW_MS)
    assert (await read_people(redis, shared.settings)).role_of("42") == "guest"


async def test_a_record_of_a_newer_release_is_left(redis: RedisPort) -> None:
    await redis.hset(keys.people(), "42", b'{"v": 99}')

    assert not await do(redis, "block", "42")
    assert await redis.hget(keys.people(), "42") == b'{"v": 99}'
    assert step_of("unblock", Records("43"), owner_id="", now_ms=0) is None


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("user_id", ["1", "42", "43", "local:anna"])
@pytest.mark.parametrize("owner_id", ["1", ""])
@pytest.mark.parametrize("everybody", [(), ("*",)])
def test_the_plan_is_the_one_that_the_worker_goes_by(
    user_id: str, owner_id: str, everybody: tuple[str, ...]
) -> None:
    plans = {
        "free": PlanSettings(people=everybody, messages_per_day=5),
        "rich": PlanSettings(people=("42",), usd_per_month=1.5, models=("sonnet",)),
    }

    found, theirs = plan_of(plans, user_id, owner_id), plan_by_worker(plans_from(plans), user_id, owner_id)

    assert (found.name if found else None) == (theirs.name if theirs else None)
    if user_id == "42":
        assert found == Plan("rich", None, 1_500_000, ("sonnet",))


# ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_everybody_is_listed_by_role_with_their_use(redis: RedisPort) -> None:
    shared = await shared_by(redis, {**PASSWORDS, "TELEGRAM_OWNER": "1", "TELEGRAM_ALLOWED_USERS": "50"})
    await save_person(redis, Person(user_id="44", role="blocked"))
    await save_person(redis, Person(user_id="42", name="Anna", since_ms=9))
    await save_person(redis, Person(user_id="43", role="guest", v=2))
    await live(redis, [life(user_id="local:bo", lane="local:local:bo:0")])
    await Caller(redis).calls("sonnet", times=2)
    await knock(redis, "60")

    found = await read_everybody(shared, NOW_MS, 1)

    assert [(one.id, one.role) for one in found.people] == [
        ("1", "owner"), ("42", "member"), ("50", "member"), ("43", "guest"), ("local:bo", "local"), ("44", "blocked"),
    ]  # fmt: skip
    anna = found.people[1]
    assert (anna.name, anna.use.answers, anna.use.microusd, anna.use.month_microusd) == (
        "Anna",
        2,
        24_300,
        24_300,
    )
    assert [one.by_setting for one in found.people] == [False, False, True, False, False, False]
    assert (await waiting_count(shared, NOW_MS), found.has_owner) == (1, True)


async def test_the_page_lets_in_blocks_after_asking_and_writes_it_down(
    redis: RedisPort, shared: Shared
) -> None:
    await knock(redis)
    field = (await read_everybody(shared, NOW_MS, 1)).waiting[0].field

    async with browser(shared, role="admin") as client:
        page = await client.get("/people")
        let_in = await client.post("/people/approve", data={"target": field}, headers=HTMX)
        again = await client.post("/people/approve", data={"target": field}, headers=HTMX)
        member = next(one.field for one in (await read_everybody(shared, NOW_MS, 1)).people if one.id == "43")
        asked = await client.post("/people/block", data={"target": member}, headers=HTMX)
        blocked = await client.post("/people/block", data={"target": member, "sure": "1"}, headers=HTMX)
        no_verb = await client.post("/people/crown", data={"target": member}, headers=HTMX)
        odd = await client.post("/people/block", data={"target": "x", "sure": "1"}, headers=HTMX)

    assert field in page.text
    assert [let_in.status_code, again.status_code, asked.status_code, blocked.status_code] == [
        200,
        409,
        200,
        200,
    ]
    assert [no_verb.status_code, odd.status_code] == [404, 400]
    assert "Block them?" in asked.text
    assert [(one.action, one.target, one.outcome) for one in await audit.newest(redis, 9)] == [
        ("block", "43", "done"), ("approve", "43", "changed"), ("approve", "43", "done"),
    ]  # fmt: skip


async def test_a_hash_that_holds_another_type_is_no_fault_of_the_page(
    redis: RedisPort, shared: Shared
) -> None:
    await knock(redis)
    field = (await read_everybody(shared, NOW_MS, 1)).waiting[0].field
    await redis.rpush(keys.outbox_queue("7"), "x")

    async with browser(shared, role="admin") as client:
        answer = await client.post("/people/approve", data={"target": field}, headers=HTMX)

    assert answer.status_code == 409
    assert len(await read_knocks(redis, NOW_MS)) == 1
