"""A group that became a supergroup: everything goes along in one step, once, whoever was working on it."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from infra import keys
from infra.effect import Effect
from infra.forget import forget
from infra.migrate import Migrated, migrate
from infra.pushes import push_message, push_reply
from infra.redis_port import RedisPort
from lanes.claim import Claim, claim_due
from lanes.commit import Committed, commit, release
from lanes.ingest import ingest
from lanes.keep import LeaseLost, keep
from lanes.outcome import Commit
from lanes.sweep import sweep
from schemas.dead import DeadLetter
from schemas.inbound import InboundMessage
from schemas.memory import RingEntry, ToolCall
from schemas.reply import Reply
from schemas.things import Memo, Reminder, Task
from schemas.tools import Pending
from schemas.wire import WireModel, dump, load

OLD, NEW = "-5", "-100123"
OWNER, NEW_OWNER = f"home:g:{OLD}:0", f"home:g:{NEW}:0"
LANE, NEW_LANE = f"7:{OLD}:0", f"7:{NEW}:0"
OTHER_LANE, NEW_OTHER_LANE = f"8:{OLD}:0", f"8:{NEW}:0"
HOSTILE = f'say "chat_id":"{OLD}" and "owner":"{OWNER}", "lane":"{LANE}" 100%1'


def message(number: int, text: str = "hi", *, bot_id: str = "7", chat_id: str = OLD) -> InboundMessage:
    return InboundMessage(
        id=f"{bot_id}:{number}", bot_id=bot_id, bot="Parcel", chat_id=chat_id, chat_kind="group", user_id="42",
        message_id=number, sent_at_ms=number, text=text,
    )  # fmt: skip


def reply(number: int, text: str = "yes", *, chat_id: str = OLD, owner: str = OWNER) -> Reply:
    return Reply(id=f"turn{number}:answer", bot_id="7", chat_id=chat_id, text=text, owner=owner)


def entry(number: int, lane: str = LANE) -> RingEntry:
    return RingEntry(id=f"turn{number}", at_ms=number, user_message=HOSTILE, summary="-", lane=lane)


def reminder(id_: str, about: str = "") -> Reminder:
    return Reminder(
        id=id_, text="bins", local="2026-12-01T08:00", zone="Europe/Berlin", due_ms=99, lane=LANE, about=about,
        made_ms=1, changed_ms=1,
    )  # fmt: skip


def task(id_: str, title: str) -> Task:
    return Task(id=id_, title=title, made_ms=1, changed_ms=1)


async def move(redis: RedisPort) -> Migrated:
    return await migrate(redis, bot_id="7", store="home", old_chat_id=OLD, new_chat_id=NEW)


async def send(redis: RedisPort, *messages: InboundMessage) -> None:
    done = await ingest(redis, [push_message(one) for one in messages])
    assert done.taken == len(messages), done.error


async def take(redis: RedisPort, queue: str = "") -> list[Claim]:
    claims, _ = await claim_due(
        redis, queue or keys.inbox_queue(), lease_ms=10_000, wanted=50, prefix="t", per_turn=20
    )
    return claims


async def take_one(redis: RedisPort, queue: str = "") -> Claim:
    (claim,) = await take(redis, queue)
    return claim


def texts(claim: Claim) -> list[str]:
    return [load(InboundMessage, item.body).text for item in claim.items]


async def contents(redis: RedisPort) -> dict[bytes, bytes]:
    raw = cast("Any", redis)
    return {key: await raw.dump(key) async for key in redis.scan_iter() if b"koi:fence" not in key}


async def put_things(redis: RedisPort, owner: str, version: int, *things: WireModel) -> None:
    found: Mapping[str, bytes] = {cast("Any", thing).id: dump(thing) for thing in things}
    await redis.hset(keys.things(owner), mapping={**found, "version": str(version)})


async def things_of(redis: RedisPort, owner: str) -> dict[str, bytes]:
    return {name.decode(): value for name, value in (await redis.hgetall(keys.things(owner))).items()}


async def fill(redis: RedisPort) -> None:
    """Something in every place that a group has."""
    await send(redis, message(1, HOSTILE), message(2))
    await ingest(redis, [push_reply(reply(1, HOSTILE))])
    await redis.rpush(keys.ring(OWNER), dump(entry(1)), dump(entry(3)))
    await redis.pexpire(keys.ring(OWNER), 50_000)
    await redis.rpush(keys.turns(OWNER), f'{{"lane":"{LANE}","owner":"{OWNER}","at_ms":1}}')
    await put_things(redis, OWNER, 5, task("t1", "bread"), reminder("r5", "t1"))
    await redis.zadd(keys.due(), {f"{OWNER}|r5": 99})
    await redis.hset(keys.facts(OWNER), "f2", '{"id":"f2","text":"vegetarian"}')
    letter = DeadLetter(
        id="7:0",
        job_id=f"in:{LANE}",
        at_ms=1,
        reason="x",
        body=dump(message(0, HOSTILE)).decode(),
        owner=OWNER,
    )
    await redis.hset(keys.dead_of(OWNER), "7:0", dump(letter))
    await redis.zadd(keys.dead(), {f"{OWNER}|7:0": 1})
    pending = Pending(id="ab", kind="question", at_ms=1, turn_id="t", owner=OWNER)
    for key in (keys.session(LANE), keys.answer(LANE), keys.fold(LANE), keys.parked(LANE)):
        await redis.set(key, "text", px=40_000)
    await redis.set(keys.pending(LANE), dump(pending), px=40_000)
    await redis.set(keys.choice(LANE), "strong")
    await redis.set(keys.rich(OLD), "1")
    await redis.set(keys.project(LANE), "garden")
    await redis.hset(keys.ratios(LANE), "m", "1")
    expiring = (
        keys.ring(OWNER),
        keys.turns(OWNER),
        keys.session(LANE),
        keys.fold(LANE),
        keys.pending(LANE),
        keys.parked(LANE),
    )
    await redis.zadd(keys.expiry(), dict.fromkeys(expiring, 5))


async def test_everything_is_under_the_new_id_and_nothing_under_the_old_one(redis: RedisPort) -> None:
    await fill(redis)

    assert await move(redis) is Migrated.DONE

    left = [key async for key in redis.scan_iter() if b":-5:" in key]
    assert left == []
    assert await redis.lrange(keys.ring(NEW_OWNER), 0, -1) == [
        dump(entry(1, NEW_LANE)),
        dump(entry(3, NEW_LANE)),
    ]
    assert 0 < await redis.pttl(keys.ring(NEW_OWNER)) <= 50_000
    assert await redis.lrange(keys.turns(NEW_OWNER), 0, -1) == [
        f'{{"lane":"{NEW_LANE}","owner":"{NEW_OWNER}","at_ms":1}}'.encode()
    ]
    things = await things_of(redis, NEW_OWNER)
    assert load(Reminder, things["r5"]) == reminder("r5", "t1").model_copy(update={"lane": NEW_LANE})
    assert things["t1"] == dump(task("t1", "bread"))
    assert things["version"] == b"5"
    assert await redis.zscore(keys.due(), f"{NEW_OWNER}|r5") == 99
    assert await redis.zscore(keys.due(), f"{OWNER}|r5") is None
    assert await redis.hget(keys.facts(NEW_OWNER), "f2") is not None
    for key in (keys.session(NEW_LANE), keys.answer(NEW_LANE), keys.fold(NEW_LANE), keys.parked(NEW_LANE)):
        assert await redis.get(key) == b"text"
        assert 0 < await redis.pttl(key) <= 40_000
    assert load(Pending, await redis.get(keys.pending(NEW_LANE)) or b"").owner == NEW_OWNER
    assert await redis.get(keys.choice(NEW_LANE)) == b"strong"
    assert (await redis.get(keys.rich(OLD)), await redis.get(keys.rich(NEW))) == (None, b"1")
    assert await redis.get(keys.project(NEW_LANE)) == b"garden"
    assert await redis.hget(keys.ratios(NEW_LANE), "m") == b"1"
    expiring = {member.decode() for member in await redis.zrange(keys.expiry(), 0, -1)}
    assert expiring == {
        keys.ring(NEW_OWNER), keys.turns(NEW_OWNER), keys.session(NEW_LANE), keys.fold(NEW_LANE),
        keys.pending(NEW_LANE), keys.parked(NEW_LANE),
    }  # fmt: skip


async def test_what_waits_is_answered_in_order_under_the_new_id(redis: RedisPort) -> None:
    await fill(redis)

    await move(redis)

    claim = await take_one(redis)
    assert claim.job_id == keys.inbox_job(NEW_LANE)
    assert claim.owner == NEW_OWNER
    assert texts(claim) == [HOSTILE, "hi"]
    assert load(InboundMessage, claim.items[0].body) == message(1, HOSTILE, chat_id=NEW)
    sending = await take_one(redis, keys.outbox_queue("7"))
    assert load(Reply, sending.items[0].body) == reply(1, HOSTILE, chat_id=NEW, owner=NEW_OWNER)
    assert await sweep(redis) == 0


async def test_a_group_that_was_let_in_stays_let_in(redis: RedisPort) -> None:
    await redis.hset(keys.groups(), OLD, f'{{"chat_id":"{OLD}","title":"Home"}}')

    await move(redis)

    assert await redis.hget(keys.groups(), NEW) == f'{{"chat_id":"{NEW}","title":"Home"}}'.encode()


async def test_a_dead_letter_can_be_retried_in_the_new_chat(redis: RedisPort) -> None:
    await fill(redis)

    await move(redis)

    letter = load(DeadLetter, await redis.hget(keys.dead_of(NEW_OWNER), "7:0") or b"")
    assert (letter.owner, letter.job_id) == (NEW_OWNER, f"in:{NEW_LANE}")
    assert load(InboundMessage, letter.body) == message(0, HOSTILE, chat_id=NEW)
    assert await redis.zrange(keys.dead(), 0, -1) == [f"{NEW_OWNER}|7:0".encode()]


async def test_a_repeat_changes_nothing(redis: RedisPort) -> None:
    await fill(redis)
    await move(redis)
    before = await contents(redis)

    assert await move(redis) is Migrated.DONE

    assert await contents(redis) == before


async def test_where_there_is_nothing_nothing_happens(redis: RedisPort) -> None:
    assert await move(redis) is Migrated.DONE
    assert [key async for key in redis.scan_iter()] == []


async def test_the_running_turn_is_made_again_under_its_id_and_its_holder_commits_nothing(
    redis: RedisPort,
) -> None:
    await send(redis, message(1, "buy bread"))
    old = await take_one(redis)
    await keep(redis, old, {"round:1": f'{{"lane":"{LANE}"}}'.encode()})

    assert await move(redis) is Migrated.DONE

    said = Commit(effects=(Effect("INCRBY", "koi:count:commits", (1,)),))
    assert await commit(redis, keys.inbox_queue(), old, said) is Committed.FENCED
    with pytest.raises(LeaseLost):
        await keep(redis, old, {"result:1:c": b"x"})
    assert await release(redis, keys.inbox_queue(), old) is False
    new = await take_one(redis)
    assert (new.job_id, new.turn_id) == (keys.inbox_job(NEW_LANE), old.turn_id)
    assert texts(new) == ["buy bread"]
    assert new.kept == {"round:1": f'{{"lane":"{NEW_LANE}"}}'.encode()}
    assert (new.deaths, new.failures) == (0, 0)
    assert await commit(redis, keys.inbox_queue(), new, said) is Committed.DONE
    assert await redis.get("koi:count:commits") == b"1"
    assert await take(redis) == []


async def test_a_turn_that_was_committed_before_is_not_made_again_and_its_repeat_says_so(
    redis: RedisPort,
) -> None:
    await send(redis, message(1))
    claim = await take_one(redis)
    assert await commit(redis, keys.inbox_queue(), claim, Commit()) is Committed.DONE

    await move(redis)

    assert await commit(redis, keys.inbox_queue(), claim, Commit()) is Committed.ALREADY
    assert await take(redis) == []


async def test_a_reply_that_is_being_sent_keeps_what_is_known_of_its_parts(redis: RedisPort) -> None:
    await ingest(redis, [push_reply(reply(1)), push_reply(reply(2))])
    sending = await take_one(redis, keys.outbox_queue("7"))
    await keep(redis, sending, {"parts:turn1:answer": b'{"at":0}'})

    await move(redis)

    claim = await take_one(redis, keys.outbox_queue("7"))
    assert (claim.job_id, claim.turn_id) == (keys.outbox_job(NEW_LANE), sending.turn_id)
    assert [item.id for item in claim.items] == ["turn1:answer", "turn2:answer"]
    assert claim.kept == {"parts:turn1:answer": b'{"at":0}'}


async def test_what_was_forgotten_while_the_turn_ran_stays_forgotten(redis: RedisPort) -> None:
    await send(redis, message(1))
    await take_one(redis)
    await forget(redis, OWNER, "no such word")
    await redis.incr(keys.epoch(NEW_OWNER))

    await move(redis)

    stored = Commit(texts=(Effect("SET", "koi:session:x", ("secret",)),))
    assert await commit(redis, keys.inbox_queue(), await take_one(redis), stored) is Committed.FORGOTTEN


async def test_a_turn_of_a_group_that_forgot_before_stores_its_text(redis: RedisPort) -> None:
    await forget(redis, OWNER, "all")
    await send(redis, message(1))
    await take_one(redis)

    await move(redis)

    stored = Commit(texts=(Effect("SET", "koi:session:x", ("kept",)),))
    assert await commit(redis, keys.inbox_queue(), await take_one(redis), stored) is Committed.DONE


async def test_what_is_forgotten_afterwards_is_gone_from_both_sides_of_the_lane(redis: RedisPort) -> None:
    await fill(redis)
    await move(redis)

    await forget(redis, NEW_OWNER, "all")

    for job_id in (keys.inbox_job(NEW_LANE), keys.outbox_job(NEW_LANE)):
        assert await redis.exists(keys.items(job_id), keys.bodies(job_id), keys.kept(job_id)) == 0
    assert await redis.exists(keys.session(NEW_LANE), keys.pending(NEW_LANE), keys.ring(NEW_OWNER)) == 0


async def test_all_bots_of_the_store_go_along(redis: RedisPort) -> None:
    await send(redis, message(1), message(1, "to the other", bot_id="8"))
    await redis.set(keys.session(OTHER_LANE), "text")

    await move(redis)

    assert {claim.job_id for claim in await take(redis)} == {f"in:{NEW_LANE}", f"in:{NEW_OTHER_LANE}"}
    assert await redis.get(keys.session(NEW_OTHER_LANE)) == b"text"


async def test_other_chats_stay_where_they_are(redis: RedisPort) -> None:
    await send(redis, message(1, chat_id="-55"), message(2, chat_id="5"))
    before = await contents(redis)

    await move(redis)

    assert await contents(redis) == before


async def test_what_came_late_stands_before_what_came_in_the_new_chat(redis: RedisPort) -> None:
    await send(redis, message(3, "new", chat_id=NEW))
    await send(redis, message(1, "late"), message(2, "later"))
    await redis.rpush(keys.ring(OWNER), dump(entry(2)))
    await redis.rpush(keys.ring(NEW_OWNER), dump(entry(1, NEW_LANE)), dump(entry(3, NEW_LANE)))
    await redis.set(keys.session(LANE), "old")
    await redis.set(keys.session(NEW_LANE), "new")

    await move(redis)

    assert texts(await take_one(redis)) == ["late", "later", "new"]
    assert await redis.lrange(keys.ring(NEW_OWNER), 0, -1) == [dump(entry(n, NEW_LANE)) for n in (1, 2, 3)]
    assert await redis.get(keys.session(NEW_LANE)) == b"new"
    assert await redis.exists(keys.session(LANE)) == 0


async def test_what_waits_joins_a_lane_whose_turn_runs(redis: RedisPort) -> None:
    await send(redis, message(3, "new", chat_id=NEW))
    running = await take_one(redis)
    await send(redis, message(1, "late"))
    await take_one(redis)  # its turn has kept nothing

    assert await move(redis) is Migrated.DONE

    assert await take(redis) == []  # held
    assert await commit(redis, keys.inbox_queue(), running, Commit()) is Committed.DONE
    assert texts(await take_one(redis)) == ["late"]


async def test_two_turns_that_would_have_to_be_one_wait_for_each_other(redis: RedisPort) -> None:
    await send(redis, message(3, "new", chat_id=NEW))
    running = await take_one(redis)
    await send(redis, message(1, "late"))
    late = await take_one(redis)
    await keep(redis, late, {"round:1": b"done"})
    before = await contents(redis)

    assert await move(redis) is Migrated.BUSY

    assert await contents(redis) == before
    await commit(redis, keys.inbox_queue(), running, Commit())
    assert await move(redis) is Migrated.DONE
    again = await take_one(redis)
    assert (again.turn_id, again.kept) == (late.turn_id, {"round:1": b"done"})


async def test_an_id_that_is_given_already_is_given_anew(redis: RedisPort) -> None:
    await put_things(redis, OWNER, 2, task("t1", "bread"), reminder("r2", "t1"))
    await put_things(redis, NEW_OWNER, 1, task("t1", "milk"))
    await redis.zadd(keys.due(), {f"{OWNER}|r2": 99})
    note = Memo(id="m3", text="x", about="t1", made_ms=1, changed_ms=1)
    await put_things(redis, OWNER, 3, note)

    await move(redis)

    things = await things_of(redis, NEW_OWNER)
    assert load(Task, things["t1"]).title == "milk"
    assert load(Task, things["t5"]) == task("t5", "bread")
    assert load(Reminder, things["r2"]).about == "t5"
    assert load(Memo, things["m3"]).about == "t5"
    assert things["version"] == b"5"
    assert await redis.zscore(keys.due(), f"{NEW_OWNER}|r2") == 99


async def test_a_key_of_another_type_is_told_and_nothing_is_moved(redis: RedisPort) -> None:
    await send(redis, message(1))
    await redis.set(keys.ring(OWNER), "not a list")
    before = await contents(redis)

    assert await move(redis) is Migrated.BROKEN

    assert await contents(redis) == before


async def test_a_round_of_a_turn_is_readable_after_the_move(redis: RedisPort) -> None:
    await send(redis, message(1))
    call = ToolCall(id="c", name="create_task", arguments=f'{{"title":"{HOSTILE}"}}'.replace('"', '\\"'))
    pending = Pending(id="ab", kind="preview", at_ms=1, turn_id="t", owner=OWNER, calls=(call,), text=HOSTILE)
    await redis.set(keys.pending(LANE), dump(pending))

    await move(redis)

    moved = load(Pending, await redis.get(keys.pending(NEW_LANE)) or b"")
    assert moved == pending.model_copy(update={"owner": NEW_OWNER})
