"""An owner's things in Redis: read at once, changed with the version that counts changes."""

from collections.abc import Mapping

import orjson
import pytest
from structlog.testing import capture_logs

from infra import keys
from infra.effect import Effect, Expect
from infra.redis_port import RedisPort
from schemas.things import Fact, Memo, Task
from schemas.wire import NewerVersion, dump
from tests.tools.stage import HERE, NOTHING, NOW_MS, after, call, made
from tools.store import change_effects, expects, load_things, read_things
from tools.tool import Ran, Things

OWNER = HERE.owner
BREAD = Task(id="t1", title="Bread", made_ms=NOW_MS, changed_ms=NOW_MS)
MEMO = Memo(id="m10", text="rye", made_ms=NOW_MS, changed_ms=NOW_MS)
DIET = Fact(id="f3", subject="diet", text="vegan", at_ms=NOW_MS + 1)
CAR = Fact(id="f4", subject="car", text="none", at_ms=NOW_MS)


async def apply(redis: RedisPort, ran: Ran) -> Things:
    """The things after `ran`, as a step would change them."""
    before = await load_things(redis, OWNER)
    for effect in change_effects(OWNER, before, ran):
        async with redis.pipeline() as pipe:
            pipe.execute_command(effect.command, effect.key, *effect.args)
            await pipe.execute()
    return await load_things(redis, OWNER)


async def test_who_has_nothing_has_no_things_and_expects_that_it_stays_so(redis: RedisPort) -> None:
    things = await load_things(redis, OWNER)

    assert things == NOTHING
    assert expects(OWNER, things) == (Expect(keys.things(OWNER), "version", None),)


async def test_what_a_call_makes_is_read_back(redis: RedisPort) -> None:
    expected = NOTHING
    for title in ("Bread", "Milk"):
        ran = call("create_task", await load_things(redis, OWNER), title=title)
        expected = after(expected, ran)
        assert await apply(redis, ran) == expected

    things = await load_things(redis, OWNER)
    assert list(things.by_id) == ["t1", "t2"]
    assert expects(OWNER, things) == (Expect(keys.things(OWNER), "version", b"2"),)


async def test_what_a_person_asked_for_never_expires(redis: RedisPort) -> None:
    await apply(redis, Ran("", put=(BREAD, DIET)))

    assert [await redis.pttl(key) for key in (keys.things(OWNER), keys.facts(OWNER))] == [-1, -1]


async def test_things_come_in_the_order_they_were_made_and_facts_as_they_were_learned(
    redis: RedisPort,
) -> None:
    late = BREAD.model_copy(update={"id": "t9"})

    things = await apply(redis, Ran("", put=(MEMO, DIET, late, CAR, BREAD)))

    assert list(things.by_id) == ["t1", "t9", "m10"]
    assert list(things.facts) == ["f4", "f3"]


async def test_what_is_dropped_is_gone_and_its_number_is_not_given_again(redis: RedisPort) -> None:
    await apply(redis, call("create_task", NOTHING, title="Bread"))
    dropped = await apply(redis, Ran("", drop=("t1",)))

    assert (dropped.version, dropped.by_id) == (2, {})
    assert list(made("create_task", dropped, title="Milk").by_id) == ["t3"]


async def test_facts_and_things_are_dropped_where_they_are(redis: RedisPort) -> None:
    await apply(redis, Ran("", put=(BREAD, DIET)))

    things = await apply(redis, Ran("", drop=("t1", "f3", "t1")))

    assert (things.by_id, things.facts) == ({}, {})
    assert await redis.exists(keys.facts(OWNER)) == 0


def test_each_new_thing_counts_so_that_no_id_is_given_twice() -> None:
    two = Ran("", put=(BREAD, MEMO))

    effects = change_effects(OWNER, Things(version=7), two)

    assert effects[-1] == Effect("HSET", keys.things(OWNER), ("version", 9))


def test_what_changes_nothing_writes_nothing() -> None:
    assert change_effects(OWNER, Things(version=7), call("list_tasks")) == ()


def test_other_effects_of_a_call_are_part_of_its_step() -> None:
    due = Effect("ZREM", keys.due(), ("u:1:home|r4",))

    assert change_effects(OWNER, NOTHING, Ran("", effects=(due,))) == (due,)
    assert change_effects(OWNER, NOTHING, Ran("", drop=("t1",), effects=(due,)))[-1] == due


async def test_another_owner_has_other_things(redis: RedisPort) -> None:
    await apply(redis, Ran("", put=(BREAD, DIET)))

    assert await load_things(redis, "u:2:home") == NOTHING


# ── what cannot be read ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("id_", "value"),
    [("t2", b"{"), ("t2", b'{"v":1}'), ("x2", dump(BREAD)), ("tt", dump(BREAD)), ("m2", dump(BREAD))],
    ids=["no JSON", "no task", "unknown kind", "no number", "another kind"],
)
async def test_what_cannot_be_read_is_left_out_reported_and_stays(
    redis: RedisPort, id_: str, value: bytes
) -> None:
    await apply(redis, Ran("", put=(BREAD, BREAD)))
    await redis.hset(keys.things(OWNER), id_, value)

    with capture_logs() as logs:
        things = await load_things(redis, OWNER)
    await apply(redis, call("create_task", things, title="Milk"))

    assert list(things.by_id) == ["t1"]
    assert [(line["event"], line["thing"]) for line in logs] == [("thing_unreadable", id_)]
    assert "Bread" not in repr(logs)
    assert (await redis.hgetall(keys.things(OWNER)))[id_.encode()] == value


@pytest.mark.parametrize("key", [keys.things(OWNER), keys.facts(OWNER)], ids=["things", "facts"])
async def test_what_a_newer_release_wrote_is_left_to_it(redis: RedisPort, key: str) -> None:
    await redis.hset(key, "t2", orjson.dumps({"v": 2, "colour": "red"}))

    with pytest.raises(NewerVersion):
        await load_things(redis, OWNER)


def test_both_forms_of_a_hash_are_read() -> None:
    things: Mapping[bytes, bytes] = {b"version": b"1", b"t1": dump(BREAD)}
    flat = [b"version", b"1", b"t1", dump(BREAD)]

    assert read_things(things, {}) == read_things(flat, []) == Things(1, {"t1": BREAD})
