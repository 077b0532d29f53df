"""Acts of the dashboard: each does what it says, once, or nothing if it is not as it was shown."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.actions import (
    KINDS,
    Abort,
    Act,
    BadField,
    DeleteWaiting,
    DropDead,
    Forget,
    Pause,
    Resume,
    RetryDead,
    RunLane,
    RunReminder,
    act_of,
    field_of,
    stamp_of,
)
from dashboard.perform import Performer, Why
from infra import keys
from infra.changes import push_words
from infra.dead import dead_letters
from infra.effect import Push
from infra.pause import EVERYTHING, pause, paused
from infra.redis_port import RedisPort
from infra.waiting import take_out
from lanes.commit import commit, release
from lanes.keep import keep
from lanes.outcome import Commit
from lanes.sweep import sweep
from llm.candidates import Candidate
from llm.chain import Chain
from llm.events import Text
from llm.routing import Models
from schemas.dead import DeadLetter
from schemas.memory import RingEntry
from schemas.profile import Profile
from schemas.reply import Reply
from schemas.things import Reminder
from schemas.wire import dump, load
from tests.llm.scripted import SERVICE, USED, ScriptedProvider
from tests.workers.stage import House, open_house
from workers.reminders import fire_due
from workers.services import Brain
from workers.stop import Stops

LANE, OWNER = "7:42:0", "home:u:42"
JOB, OUT = keys.inbox_job(LANE), keys.outbox_job(LANE)
BOILER = "Was macht die Heizung?"


@pytest.fixture
def house(redis: RedisPort) -> House:
    return open_house(redis)


def performer(house: House) -> Performer:
    return Performer(house.redis, house.now_ms, "en")


async def do(house: House, act: Act) -> Why | None:
    return await performer(house).one(act)


async def stamp(redis: RedisPort, key: str, field: str) -> str:
    return stamp_of(await redis.hget(key, field) or b"")


async def everything(redis: RedisPort) -> dict[bytes, bytes]:
    """The whole database, by value."""
    names = sorted([key async for key in redis.scan_iter()])
    async with redis.pipeline() as pipe:
        for name in names:
            pipe.dump(name)
        return dict(zip(names, await pipe.execute(), strict=True))


async def holds(redis: RedisPort, text: str) -> list[bytes]:
    """Keys that hold a text, replies on their way out aside."""
    found: list[bytes] = []
    async for key in redis.scan_iter():
        if key.startswith(b"koi:lane:out:"):
            continue
        kind = await redis.type(key.decode())
        values: Any = b""
        if kind == b"hash":
            values = await redis.hgetall(key.decode())
        elif kind == b"list":
            values = await redis.lrange(key.decode(), 0, -1)
        elif kind == b"string":
            values = await redis.get(key.decode())
        if text in repr(values) or text in str(values):
            found.append(key)
    return found


async def buried(house: House, text: str = BOILER, **fields: Any) -> DeadLetter:
    """A message that was given up; its person was told."""
    await house.push(house.message(text, **fields))
    await house.bury("overloaded")
    await house.sent()
    return (await dead_letters(house.redis))[-1]


async def seen_letter(house: House, letter: DeadLetter) -> str:
    return await stamp(house.redis, keys.dead_of(letter.owner), letter.id)


async def waits(house: House, text: str = BOILER, **fields: Any) -> DeleteWaiting:
    message = house.message(text, **fields)
    await house.push(message)
    job_id = keys.inbox_job(message.lane)
    return DeleteWaiting(job_id, message.id, await stamp(house.redis, keys.bodies(job_id), message.id))


# ── dead letters ─────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_retried_dead_letter_is_answered_once(house: House) -> None:
    letter = await buried(house)
    act = RetryDead(OWNER, letter.id, await seen_letter(house, letter))

    ends = await asyncio.gather(*(do(house, act) for _ in range(8)))
    await house.turn()

    assert sorted(end or "done" for end in ends) == ["done"] + ["gone"] * 7
    assert [reply.text for reply in await house.replies()] == ["answer 1"]
    assert await do(house, act) == "gone"
    assert await dead_letters(house.redis) == []
    assert await house.redis.zcard(keys.inbox_queue()) == 0


async def test_letters_of_a_lane_go_back_in_their_order(house: House) -> None:
    letters = [await buried(house, f"Frage {n}") for n in range(5)]
    acts = [RetryDead(OWNER, letter.id, await seen_letter(house, letter)) for letter in letters]

    report = await performer(house).all_of(acts)

    assert report.done == tuple(acts)
    assert await house.redis.lrange(keys.items(JOB), 0, -1) == [f"1:{one.id}".encode() for one in letters]


@pytest.mark.parametrize(
    ("telegram", "chosen", "said"),
    [
        ("de", "", "Deine Nachricht „Was macht die Heizung?“ hat der Besitzer dieses Bots verworfen."),
        ("en", "", "Your message “Was macht die Heizung?” was dropped by the owner of this bot."),
        ("en", "de", "Deine Nachricht „Was macht die Heizung?“ hat der Besitzer dieses Bots verworfen."),
    ],
)
async def test_a_dropped_letter_is_gone_with_its_text_and_its_person_is_told_in_their_language(
    house: House, telegram: str, chosen: str, said: str
) -> None:
    letter = await buried(house, language=telegram)
    if chosen:
        await house.redis.set(keys.profile("42"), dump(Profile(language=chosen)))
    act = DropDead(OWNER, letter.id, await seen_letter(house, letter))

    ends = await asyncio.gather(*(do(house, act) for _ in range(8)))

    assert sorted(end or "done" for end in ends) == ["done"] + ["gone"] * 7
    assert await holds(house.redis, "Heizung") == []
    (reply,) = await house.replies()
    assert (reply.text, reply.answers, reply.owner, reply.failed) == (said, (letter.id,), OWNER, True)
    assert OUT.encode() in await house.redis.smembers(keys.lanes_of(OWNER))  # so that /forget finds the quote


@pytest.mark.parametrize("kind", [RetryDead, DropDead])
async def test_a_letter_that_is_another_one_now_is_left(
    house: House, kind: type[RetryDead] | type[DropDead]
) -> None:
    letter = await buried(house)
    act = kind(OWNER, letter.id, await seen_letter(house, letter))
    later = letter.model_copy(update={"at_ms": letter.at_ms + 1, "reason": "failed again"})
    await house.redis.hset(keys.dead_of(OWNER), letter.id, dump(later))
    before = await everything(house.redis)

    assert await do(house, act) == "edited"
    assert await everything(house.redis) == before


async def test_a_dropped_reply_tells_nobody_since_it_could_not_be_sent(house: House) -> None:
    letter = DeadLetter(id="t:answer", job_id=OUT, at_ms=5, reason="refused", body="{}", owner=OWNER)
    await house.redis.hset(keys.dead_of(OWNER), letter.id, dump(letter))

    assert await do(house, DropDead(OWNER, letter.id, stamp_of(dump(letter)))) is None
    assert await house.replies() == []


async def test_what_cannot_be_read_can_be_dropped_but_not_retried(house: House) -> None:
    raw = b'{"v":9}'
    await house.redis.hset(keys.dead_of(OWNER), "7:1", raw)

    assert await do(house, RetryDead(OWNER, "7:1", stamp_of(raw))) == "unreadable"
    assert await do(house, DropDead(OWNER, "7:1", stamp_of(raw))) is None
    assert await house.redis.hlen(keys.dead_of(OWNER)) == 0


async def test_a_message_that_cannot_be_read_is_dropped_with_a_line_without_its_words(house: House) -> None:
    letter = DeadLetter(id="7:1", job_id=JOB, at_ms=5, reason="?", body="secret {", owner=OWNER)
    await house.redis.hset(keys.dead_of(OWNER), letter.id, dump(letter))

    await do(house, DropDead(OWNER, letter.id, stamp_of(dump(letter))))

    (reply,) = await house.replies()
    assert reply.text == "A message of yours was dropped by the owner of this bot."


# ── what waits ───────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_deleted_message_leaves_nothing_behind_and_its_person_is_told(house: House) -> None:
    act = await waits(house)

    ends = await asyncio.gather(*(do(house, act) for _ in range(8)))

    assert sorted(end or "done" for end in ends) == ["done"] + ["gone"] * 7
    assert await holds(house.redis, "Heizung") == []
    assert await house.redis.exists(keys.items(JOB), keys.bodies(JOB), keys.job(JOB), keys.state(JOB)) == 0
    assert await house.redis.zcard(keys.inbox_queue()) == 0
    (reply,) = await house.replies()
    assert "gelöscht" in reply.text
    assert BOILER in reply.text


async def test_the_others_of_its_lane_are_answered(house: House) -> None:
    first, second = await waits(house, "eins"), await waits(house, "zwei")

    assert await do(house, first) is None
    assert await holds(house.redis, "eins") == []
    await house.turn()

    assert house.asked == "zwei"
    assert await do(house, second) == "gone"
    assert await sweep(house.redis) == 0


@pytest.mark.parametrize("when", ["runs", "backs off"])
async def test_a_message_that_a_turn_has_taken_is_not_deleted(house: House, when: str) -> None:
    act = await waits(house)
    claim = await house.take()
    if when == "backs off":
        await release(house.redis, keys.inbox_queue(), claim, delay_ms=60_000, failed=True)
    before = await everything(house.redis)

    assert await do(house, act) == "taken"
    assert await everything(house.redis) == before


async def test_what_waits_behind_a_running_turn_can_be_deleted(house: House) -> None:
    await waits(house, "eins")
    claim = await house.take()
    act = await waits(house, "zwei")

    assert await do(house, act) is None

    assert await house.redis.lrange(keys.items(JOB), 0, -1) == [f"0:{claim.items[0].id}".encode()]
    await commit(house.redis, keys.inbox_queue(), claim, Commit())
    assert await house.redis.zcard(keys.inbox_queue()) == 0


async def test_a_message_that_was_edited_meanwhile_is_not_deleted(house: House) -> None:
    act = await waits(house)
    await house.redis.hset(keys.bodies(JOB), act.item_id, dump(house.message("anders")))

    assert await do(house, act) == "edited"
    assert await house.redis.llen(keys.items(JOB)) == 1


async def test_a_message_that_is_edited_between_the_look_and_the_step_is_not_deleted(house: House) -> None:
    act = await waits(house)
    seen = await house.redis.hget(keys.bodies(JOB), act.item_id) or b""
    await house.redis.hset(keys.bodies(JOB), act.item_id, dump(house.message("anders")))
    before = await everything(house.redis)

    assert await take_out(house.redis, JOB, act.item_id, seen) == "edited"
    assert await everything(house.redis) == before


async def test_of_a_worker_and_a_click_at_the_same_moment_one_has_the_message(house: House) -> None:
    for number in range(20):
        act = await waits(house, f"Frage {number}", chat_id=str(number), user_id=str(number))

        claims, end = await asyncio.gather(_try_to_take(house), do(house, act))

        assert len(claims) + (end is None) == 1
        assert end in {None, "taken"}


async def _try_to_take(house: House) -> list[Any]:
    try:
        return [await house.take()]
    except ValueError:  # nothing was there
        return []


@pytest.mark.parametrize("broken", [keys.items(OUT), keys.outbox_queue("7"), keys.lanes_of(OWNER)])
async def test_an_act_that_cannot_be_done_whole_changes_nothing(house: House, broken: str) -> None:
    act = await waits(house)
    await house.redis.delete(broken)
    await house.redis.set(broken, "another type")
    before = await everything(house.redis)

    assert await do(house, act) == "broken"
    assert await everything(house.redis) == before


# ── a turn ───────────────────────────────────────────────────────────────────────────────────────────────────────
@asynccontextmanager
async def silent_model(house: House) -> AsyncGenerator[ScriptedProvider]:
    """It says two words and then nothing; stops are heard."""
    provider = ScriptedProvider(((USED, Text("Die Heizung"), 1000.0),))
    stops = Stops(house.redis, sleep=lambda _: asyncio.sleep(3600))  # told, not by its look every second
    chain = Chain([(Candidate(SERVICE, "a"), provider)])
    house.services = replace(house.services, stops=stops, brain=Brain(chain, Models(("a",))))
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(stops.serve())
        while not await house.redis.publish(keys.stop_channel(), "nobody"):
            await asyncio.sleep(0.002)
        yield provider
        serving.cancel()


async def asked(provider: ScriptedProvider) -> None:
    async with asyncio.timeout(5):
        while not provider.requests:
            await asyncio.sleep(0.002)
    await asyncio.sleep(0.02)


async def test_an_aborted_turn_ends_and_what_was_written_stays(house: House) -> None:
    async with silent_model(house) as provider, asyncio.TaskGroup() as group:
        await waits(house)
        claim = await house.take()
        running = group.create_task(house.handler.run(claim))
        await asked(provider)

        assert await do(house, Abort(LANE, claim.turn_id)) is None
        async with asyncio.timeout(5):
            await house.settle(claim, await running)

    (reply,) = await house.replies()
    assert reply.text.startswith("Die Heizung")
    (entry,) = [load(RingEntry, raw) for raw in await house.redis.lrange(keys.ring(OWNER), 0, -1)]
    assert entry.reply == "Die Heizung"
    assert await house.redis.exists(keys.stop(LANE)) == 0
    assert await do(house, Abort(LANE, claim.turn_id)) == "ended"


async def test_a_turn_that_backs_off_is_aborted_at_its_retry_which_begins_at_once(house: House) -> None:
    await waits(house)
    claim = await house.take()
    await release(house.redis, keys.inbox_queue(), claim, delay_ms=60_000, failed=True)

    assert await do(house, Abort(LANE, claim.turn_id)) is None

    again = await house.take()
    assert again.turn_id == claim.turn_id
    assert await house.redis.get(keys.stop(LANE)) == claim.turn_id.encode()


async def test_the_next_turn_of_a_lane_is_not_the_one_that_was_shown(house: House) -> None:
    await waits(house, "eins")
    shown = await house.take()
    await commit(house.redis, keys.inbox_queue(), shown, Commit())
    await waits(house, "zwei")
    await house.take()
    before = await everything(house.redis)

    assert await do(house, Abort(LANE, shown.turn_id)) == "ended"
    assert await everything(house.redis) == before


# ── now ──────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_lane_that_backs_off_is_tried_now_with_what_it_has_kept(house: House) -> None:
    await waits(house)
    claim = await house.take()
    await keep(house.redis, claim, {"round:1": b"{}"}, ttl_ms=60_000)
    await release(house.redis, keys.inbox_queue(), claim, delay_ms=60_000, failed=True)

    ends = await asyncio.gather(*(do(house, RunLane(JOB, claim.turn_id)) for _ in range(8)))

    assert sorted(end or "done" for end in ends) == ["done"] + ["taken"] * 7
    again = await house.take()
    assert (again.turn_id, again.failures, again.kept) == (claim.turn_id, 1, {"round:1": b"{}"})


async def test_a_lane_that_was_to_run_now_runs_at_once_after_a_pause_that_came_between(house: House) -> None:
    await waits(house)
    claim = await house.take()
    await release(house.redis, keys.inbox_queue(), claim, delay_ms=60_000, failed=True)

    assert await do(house, RunLane(JOB, claim.turn_id)) is None
    await pause(house.redis, "7", 1)
    assert await _try_to_take(house) == []
    await do(house, Resume("7", 1))

    assert (await house.take()).turn_id == claim.turn_id


async def test_a_lane_is_not_run_if_it_runs_or_is_over_or_has_another_turn_or_is_paused(house: House) -> None:
    await waits(house)
    claim = await house.take()
    act = RunLane(JOB, claim.turn_id)
    assert await do(house, act) == "taken"
    await release(house.redis, keys.inbox_queue(), claim, delay_ms=60_000)
    assert await do(house, replace(act, turn_id="")) == "other"
    await pause(house.redis, "7", 1)
    assert await do(house, act) == "paused"
    await house.redis.delete(keys.items(JOB))
    assert await do(house, act) == "gone"


async def reminder(house: House, **fields: Any) -> RunReminder:
    """One that is due in an hour."""
    due_ms = house.now_ms + 3_600_000
    values: dict[str, Any] = {
        "id": "r1", "text": "Tabletten", "local": "2026-04-05T15:23", "zone": "Europe/Berlin", "due_ms": due_ms,
        "lane": LANE, "language": "de", "made_ms": 1, "changed_ms": 1, **fields,
    }  # fmt: skip
    raw = dump(Reminder(**values))
    await house.redis.hset(keys.things(OWNER), "r1", raw)
    await house.redis.zadd(keys.due(), {f"{OWNER}|r1": values["due_ms"]})
    return RunReminder(OWNER, "r1", stamp_of(raw))


async def test_a_reminder_is_sent_now_and_once(house: House) -> None:
    act = await reminder(house)

    ends = await asyncio.gather(*(do(house, act) for _ in range(8)))
    fired = [await fire_due(house.services) for _ in range(3)]

    assert sorted(end or "done" for end in ends) == ["done"] + ["edited"] * 7
    assert fired == [1, 0, 0]
    (reply,) = await house.replies()
    assert "Tabletten" in reply.text
    house.later(hours=2)
    assert await fire_due(house.services) == 0


async def test_a_reminder_that_repeats_is_sent_now_and_at_its_time(house: House) -> None:
    act = await reminder(house, rrule="FREQ=DAILY", first="2026-04-04T15:23")

    assert await do(house, act) is None
    assert await fire_due(house.services) == 1

    assert await fire_due(house.services) == 0
    house.later(hours=1)
    assert await fire_due(house.services) == 1


async def test_a_reminder_that_is_gone_changed_over_or_due_is_left(house: House) -> None:
    act = await reminder(house)
    await house.redis.hdel(keys.things(OWNER), "r1")
    assert await do(house, act) == "gone"
    await reminder(house, text="Blumen")
    assert await do(house, act) == "edited"
    assert await do(house, await reminder(house, due_ms=0)) == "ended"
    assert await do(house, await reminder(house, due_ms=house.now_ms)) == "taken"


async def test_an_entry_is_forgotten_once(house: House) -> None:
    await house.say(BOILER)
    await house.sent()
    (raw,) = await house.redis.lrange(keys.ring(OWNER), 0, -1)
    act = Forget(OWNER, load(RingEntry, raw).id)

    assert [await do(house, act) for _ in range(2)] == [None, "gone"]
    assert await holds(house.redis, "Heizung") == []


async def test_a_bot_is_paused_and_resumed_once(house: House) -> None:
    assert [await do(house, Pause(EVERYTHING)) for _ in range(2)] == [None, "already"]
    since_ms = (await paused(house.redis)).since_ms[EVERYTHING]
    assert await do(house, Resume(EVERYTHING, since_ms + 1)) == "ended"
    assert [await do(house, Resume(EVERYTHING, since_ms)) for _ in range(2)] == [None, "ended"]


# ── many ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_of_many_some_are_done_and_the_others_say_why_not(house: House) -> None:
    acts = [await waits(house, f"Frage {n}", chat_id=str(n), user_id=str(n)) for n in range(100)]
    await house.redis.delete(keys.bodies(acts[3].job_id))
    stale = replace(acts[5], seen="0" * 16)

    report = await performer(house).all_of([*acts[:5], stale, *acts[6:]])

    assert len(report.done) == 98
    assert report.reasons == {"gone": 1, "edited": 1}


async def test_the_note_of_a_deleted_message_finds_a_lane_that_is_busy(house: House) -> None:
    note = Push(
        OUT, keys.outbox_queue("7"), "r0", dump(Reply(id="r0", bot_id="7", chat_id="42", text="x")), OWNER
    )
    assert len(push_words(note)) == 7
    act = await waits(house)
    await do(house, act)

    assert await house.redis.lrange(keys.items(OUT), 0, -1) == [f"0:{act.item_id}:deleted".encode()]


# ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────
WORDS = st.text("abc:|7 ", min_size=1)
LANES = st.builds(
    "{}:{}:0".format, st.sampled_from(("7", "local")), st.sampled_from(("42", "local:jo", "-100"))
)


@given(
    st.one_of(
        st.builds(RetryDead, WORDS, st.sampled_from(("7:1", "t:answer")), st.just("0" * 16)),
        st.builds(DeleteWaiting, LANES.map(keys.inbox_job), st.just("7:1"), st.just("0" * 16)),
        st.builds(RunLane, LANES.map(keys.fold_job), st.sampled_from(("", "worker-1:2"))),
        st.builds(Abort, LANES, st.just("worker-1:2")),
        st.builds(Pause, st.sampled_from(("7", EVERYTHING))),
        st.builds(Resume, st.just("7"), st.integers(0, 10**13)),
        st.builds(Forget, WORDS, st.just("worker-1:2")),
    )
)
def test_a_form_brings_back_the_act_that_its_field_was_made_of(act: Act) -> None:
    assert act_of(act.name, field_of(act)) == act


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("retry", ""), ("retry", "seen"), ("retry", "seen x"), ("retry", "seen |x"), ("delete", "s 7:42:0|7:1"),
        ("delete", "s in:7|7:1"), ("run", "t koi:people"), ("abort", "- 7:42:0"), ("abort", "t 7"), ("resume", "x 7"),
        ("pause", "-"), ("pause", "- a:b"), ("explode", "- x"),
    ],
)  # fmt: skip
def test_a_field_that_no_page_has_made_is_refused(name: str, field: str) -> None:
    with pytest.raises(BadField):
        act_of(name, field)


def test_every_act_has_a_name_of_its_own() -> None:
    assert len(KINDS) == 9
