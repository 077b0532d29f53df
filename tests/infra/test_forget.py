"""Forgotten is gone (invariant 9): from every place that holds text of an owner, and from no other."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from redis.exceptions import OutOfMemoryError, ResponseError

from infra import keys
from infra.effect import Push
from infra.forget import ENTRY, EPOCH_TTL_MS, LOOKS, Sight, chosen, forget, forget_command, look, meant
from infra.forget_texts import folded
from infra.redis_port import RedisPort
from lanes.ingest import ingest
from schemas.dead import DeadLetter
from schemas.inbound import InboundMessage
from schemas.memory import RingEntry, ToolCall
from schemas.reply import Button, Reply
from schemas.things import Fact, Memo
from schemas.tools import KeptResult, KeptRound
from schemas.wire import WireModel, dump

OWNER, LANE = "home:u:7", "42:7:0"
IN, OUT = keys.inbox_job(LANE), keys.outbox_job(LANE)
GROUP, GROUP_LANE = "home:g:-5:0", "42:-5:0"


def entry(turn_id: str, text: str, reply: str = "ok") -> bytes:
    return dump(RingEntry(id=turn_id, at_ms=1, user_message=text, summary="-", reply=reply, bot="Parcel"))


def message(item_id: str, text: str, **more: Any) -> InboundMessage:
    chat: dict[str, Any] = {
        "bot_id": "42",
        "bot": "Parcel",
        "chat_id": "7",
        "user_id": "7",
        "user_name": "Parcel Jo",
    }
    return InboundMessage(id=item_id, sent_at_ms=1, text=text, **(chat | more))


def reply(item_id: str, text: str) -> Reply:
    return Reply(id=item_id, bot_id="42", chat_id="7", text=text, owner=OWNER)


async def wait_in(redis: RedisPort, job_id: str, item_id: str, value: WireModel, owner: str = OWNER) -> None:
    taken = await ingest(redis, [Push(job_id, keys.queue_of(job_id), item_id, dump(value), owner)])
    assert taken.taken == 1, taken.error


async def die(redis: RedisPort, item_id: str, value: WireModel, owner: str = OWNER) -> None:
    letter = DeadLetter(
        id=item_id, job_id=IN, at_ms=1, reason="failed", body=dump(value).decode(), owner=owner
    )
    await redis.hset(keys.dead_of(owner), item_id, dump(letter))
    await redis.zadd(keys.dead(), {f"{owner}|{item_id}": 1})


async def fill(redis: RedisPort, owner: str, lane: str, word: str) -> None:
    """One text with `word` in every place that an owner has."""
    inbox, outbox = keys.inbox_job(lane), keys.outbox_job(lane)
    await redis.rpush(keys.ring(owner), entry(f"{lane}-turn", f"where is the {word}"))
    await wait_in(redis, inbox, f"{lane}-m", message(f"{lane}-m", f"the {word}?"), owner)
    await wait_in(redis, outbox, f"{lane}-turn:answer", reply(f"{lane}-turn:answer", f"the {word}!"), owner)
    await redis.hset(keys.kept(inbox), "answer", f'{{"rounds": [{{"said": "the {word}"}}]}}')
    await redis.hset(keys.kept(outbox), f"parts:{lane}-turn:answer", f'["the {word}"]')
    await die(redis, f"{lane}-d", message(f"{lane}-d", f"dead {word}"), owner)
    await redis.set(keys.session(lane), f'{{"said": "{word}"}}')
    await redis.set(keys.answer(lane), f'{{"about": "{word}"}}')
    await redis.set(keys.fold(lane), f'{{"summary": "{word}"}}')
    await redis.rpush(keys.turns(owner), f'{{"parts": [{{"text": "{word}"}}]}}')
    await redis.hset(keys.kept(inbox), "round:1", dump(round_of(f"the {word}")))
    await redis.hset(keys.kept(inbox), "result:1:c1", dump(KeptResult(text=f"the {word}", outcome="done")))
    await redis.set(keys.pending(lane), f'{{"text": "{word}"}}')
    await redis.set(keys.parked(lane), f'{{"sessions": {{"": "{word}"}}}}')
    expiring = (keys.ring(owner), keys.turns(owner), *with_session(lane))
    await redis.zadd(keys.expiry(), dict.fromkeys(expiring, 5))


def with_session(lane: str) -> tuple[str, ...]:
    """Keys of a lane that hold text and expire by koi's clock."""
    return keys.session(lane), keys.fold(lane), keys.pending(lane), keys.parked(lane)


def round_of(said: str, arguments: str = "{}") -> KeptRound:
    calls = (ToolCall(id="c1", name="create_memo", arguments=arguments),)
    return KeptRound(text=said, calls=calls, model="m", asked="m")


async def learn(redis: RedisPort, *facts: Fact, owner: str = OWNER) -> None:
    await redis.hset(keys.facts(owner), mapping={fact.id: dump(fact) for fact in facts})


async def contents(redis: RedisPort) -> dict[bytes, bytes]:
    """Every key with its serialised value."""
    raw = cast("Any", redis)
    return {key: await raw.dump(key) async for key in redis.scan_iter()}


async def all_bytes(redis: RedisPort) -> bytes:
    """All strings anywhere in the database."""
    raw, out = cast("Any", redis), list[bytes]()
    async for key in redis.scan_iter():
        match await redis.type(key.decode()):
            case b"string":
                out.append(await redis.get(key.decode()) or b"")
            case b"hash":
                out += [part for pair in (await raw.hgetall(key)).items() for part in pair]
            case b"list":
                out += await raw.lrange(key, 0, -1)
            case b"zset":
                out += await raw.zrange(key, 0, -1)
            case _:
                out += await raw.smembers(key)
    return b"\n".join(out)


@pytest.mark.parametrize("what", ["all", "PARCELNUMBER"], ids=["all", "text"])
async def test_forgetting_leaves_the_text_nowhere(redis: RedisPort, what: str) -> None:
    await fill(redis, OWNER, LANE, "parcelnumber")
    await fill(redis, OWNER, "43:7:0", "parcelnumber")  # another bot of the store
    assert b"parcelnumber" in await all_bytes(redis)

    removed = await forget(redis, OWNER, what)

    assert removed == 2
    assert b"parcelnumber" not in await all_bytes(redis)


@pytest.mark.parametrize("what", ["all", "last", "parcel", f"#{LANE}-turn"])
async def test_other_owners_keep_everything(redis: RedisPort, what: str) -> None:
    # C30, C33: a group is not its members, a person is not the group, a store is not another
    others = {GROUP: GROUP_LANE, "home:u:8": "42:8:0", "work:u:7": "44:7:0", "home:u:77": "42:77:0"}
    for owner, lane in others.items():
        await fill(redis, owner, lane, "parcel")
    before = await contents(redis)
    await fill(redis, OWNER, LANE, "parcel")

    await forget(redis, OWNER, what)

    after = await contents(redis)
    shared = {
        b"koi:dead",
        b"koi:expiry",
        b"koi:q:in",
        b"koi:q:in:bell",
        b"koi:q:out:42",
        b"koi:q:out:42:bell",
    }
    changed = {key for key, value in before.items() if after.get(key) != value} - shared
    assert changed == set()
    assert {m.decode() for m in await redis.zrange(keys.dead(), 0, -1)} >= {
        f"{owner}|{lane}-d" for owner, lane in others.items()
    }


async def test_a_group_forgets_without_touching_its_members(redis: RedisPort) -> None:
    await fill(redis, OWNER, LANE, "parcel")
    before = await contents(redis)
    await fill(redis, GROUP, GROUP_LANE, "parcel")

    assert await forget(redis, GROUP, "all") == 1

    after = await contents(redis)
    own = [keys.ring(OWNER), keys.session(LANE), keys.bodies(IN), keys.bodies(OUT), keys.dead_of(OWNER)]
    assert {key: after.get(key.encode()) for key in own} == {key: before[key.encode()] for key in own}
    assert await redis.exists(keys.ring(GROUP), keys.session(GROUP_LANE)) == 0


async def test_all_leaves_only_the_job_for_the_worker_to_clean_up(redis: RedisPort) -> None:
    await fill(redis, OWNER, LANE, "parcel")

    await forget(redis, OWNER, "all")

    places = [keys.ring(OWNER), keys.session(LANE), keys.answer(LANE), keys.dead_of(OWNER), keys.dead()]
    places += [keys.fold(LANE), keys.turns(OWNER)]
    places += [of(job) for job in (IN, OUT) for of in (keys.items, keys.bodies, keys.kept)]
    assert await redis.exists(*places) == 0
    assert await redis.zcard(keys.expiry()) == 0
    assert await redis.exists(keys.job(IN), keys.job(OUT)) == 2


@pytest.mark.parametrize("what", ["all", "last", "xyz", "", f"#{'0' * 32}", f"#{LANE}-turn"])
async def test_every_form_raises_the_epoch_and_ends_the_sessions_with_all_that_quotes_them(
    redis: RedisPort, what: str
) -> None:
    await fill(redis, OWNER, LANE, "parcel")

    await forget(redis, OWNER, what)
    await forget(redis, OWNER, what)

    assert await redis.get(keys.epoch(OWNER)) == b"2"
    assert EPOCH_TTL_MS - 10_000 < await redis.pttl(keys.epoch(OWNER)) <= EPOCH_TTL_MS
    gone = (keys.turns(OWNER), *with_session(LANE))
    assert await redis.exists(keys.answer(LANE), *gone) == 0
    assert [await redis.zscore(keys.expiry(), key) for key in gone] == [None] * 5


async def test_the_side_that_folds_is_emptied_and_its_result_goes(redis: RedisPort) -> None:
    job = keys.fold_job(LANE)
    await wait_in(redis, job, "t1:fold", message("t1:fold", "x"))
    await redis.set(keys.fold(LANE), "a summary")

    await forget(redis, OWNER, "something else")
    assert await redis.exists(keys.fold(LANE)) == 0
    assert await redis.hkeys(keys.bodies(job)) == [b"t1:fold"]  # finds no conversation and ends

    await forget(redis, OWNER, "all")
    assert await redis.exists(keys.items(job), keys.bodies(job)) == 0


async def test_last_removes_the_newest_entry_and_what_is_left_of_its_reply(redis: RedisPort) -> None:
    await redis.rpush(keys.ring(OWNER), entry("t1", "old"), entry("t2", "new"))
    await wait_in(redis, OUT, "t1:answer", reply("t1:answer", "about old"))
    await wait_in(redis, OUT, "t2:answer", reply("t2:answer", "about new"))
    await wait_in(redis, IN, "m", message("m", "next"))
    await redis.hset(keys.kept(OUT), mapping={"t1:answer": "sent", "t2:answer:parts": "[]"})

    assert await forget(redis, OWNER, "last") == 1

    assert await redis.lrange(keys.ring(OWNER), 0, -1) == [entry("t1", "old")]
    assert await redis.hkeys(keys.bodies(OUT)) == [b"t1:answer"]
    assert await redis.hkeys(keys.kept(OUT)) == [b"t1:answer"]
    assert await redis.hkeys(keys.bodies(IN)) == [b"m"]


async def test_last_of_two_equal_entries_removes_the_newer_one_only(redis: RedisPort) -> None:
    await redis.rpush(keys.ring(OWNER), entry("t", "same"), entry("u", "between"), entry("t", "same"))

    assert await forget(redis, OWNER, "last") == 1

    assert await redis.lrange(keys.ring(OWNER), 0, -1) == [entry("t", "same"), entry("u", "between")]


async def test_last_of_nothing_removes_nothing(redis: RedisPort) -> None:
    await wait_in(redis, IN, "m", message("m", "next"))

    assert await forget(redis, OWNER, "last") == 0

    assert await redis.hkeys(keys.bodies(IN)) == [b"m"]


IDS = (
    "host-12-8f14e45fceea167a5a36dedd4bea2543:7",
    "8f14e45fceea167a5a36dedd4bea2543",
    "import-" + "0a" * 12,
)


@pytest.mark.parametrize("turn_id", IDS, ids=["turn", "library", "import"])
@pytest.mark.parametrize("form", ["id", "button"])
async def test_one_entry_goes_with_what_is_left_of_its_reply(
    redis: RedisPort, turn_id: str, form: str
) -> None:
    quoting = entry("t3", f"what is #{turn_id}, alias {forget_command(turn_id)}?")
    await redis.rpush(keys.ring(OWNER), entry("t1", "old"), entry(turn_id, "new"), quoting)
    await wait_in(redis, OUT, f"{turn_id}:answer", reply(f"{turn_id}:answer", "about new"))
    await wait_in(redis, OUT, f"{turn_id}0:answer", reply(f"{turn_id}0:answer", "of another turn"))
    await die(redis, f"{turn_id}:given_up", message("m", "new"))
    await wait_in(redis, IN, "m", message("m", f"/forget #{turn_id}"))
    await redis.hset(keys.kept(OUT), f"{turn_id}:answer:parts", "[]")
    command = f"/forget #{turn_id}" if form == "id" else forget_command(turn_id)

    assert await forget(redis, OWNER, meant(command.removeprefix("/forget "))) == 1

    assert await redis.lrange(keys.ring(OWNER), 0, -1) == [entry("t1", "old"), quoting]
    assert await redis.hkeys(keys.bodies(OUT)) == [f"{turn_id}0:answer".encode()]
    assert await redis.hkeys(keys.bodies(IN)) == [b"m"]
    assert await redis.exists(keys.kept(OUT), keys.dead_of(OWNER)) == 0


@pytest.mark.parametrize("turn_id", IDS, ids=["turn", "library", "import"])
async def test_an_entry_that_is_not_there_is_no_text_to_look_for(redis: RedisPort, turn_id: str) -> None:
    await wait_in(redis, IN, "m", message("m", forget_command(turn_id)))  # the first of two taps
    await redis.rpush(keys.ring(OWNER), entry("t1", f"#{turn_id}"))

    assert await forget(redis, OWNER, f"#{turn_id}") == 0
    assert await forget(redis, OWNER, forget_command(turn_id).removeprefix("/forget ")) == 0

    assert await redis.hkeys(keys.bodies(IN)) == [b"m"]


@pytest.mark.parametrize("what", ["#parcel", "#", "#abc", "# t1"])
async def test_a_hashtag_is_a_text(redis: RedisPort, what: str) -> None:
    await redis.rpush(keys.ring(OWNER), entry("parcelid", f"about {what}"), entry("", "no id"))

    assert await forget(redis, OWNER, what) == 1


def test_the_command_of_an_entry_fits_under_a_button() -> None:
    commands = {forget_command(entry_id) for entry_id in ("", "ü" * 200, *IDS)}

    assert {len(command.encode()) for command in commands} == {25}
    assert all(ENTRY.fullmatch(command.removeprefix("/forget ")) for command in commands)


async def test_a_long_text_after_a_hash_takes_no_time(redis: RedisPort) -> None:
    assert await asyncio.wait_for(forget(redis, OWNER, "#" + "a" * 100_000 + "!"), 1) == 0


async def test_a_text_goes_from_every_field_in_any_case_and_unicode_form(redis: RedisPort) -> None:
    # C33
    kept = entry("4", "nothing about her")
    await redis.rpush(
        keys.ring(OWNER),
        entry("1", "my sister is ZOE\u0308 Groß"),  # e + combining diaeresis
        entry("2", "who?", reply="your sister Zoë GROSS"),
        dump(RingEntry(id="3", at_ms=1, user_message="-", summary="sister: zoë groß")),
        kept,
    )

    assert await forget(redis, OWNER, " zoë gross ") == 3

    assert await redis.lrange(keys.ring(OWNER), 0, -1) == [kept]


async def test_a_text_is_not_looked_for_in_ids_and_names(redis: RedisPort) -> None:
    await redis.rpush(keys.ring(OWNER), entry("7-42", "hello"))
    await wait_in(redis, IN, "42:7", message("42:7", "hi"))
    await die(redis, "42:8", message("42:8", "ho"))

    for what in ("42", "Parcel", "home", "koi"):
        assert await forget(redis, OWNER, what) == 0

    assert await redis.hkeys(keys.bodies(IN)) == [b"42:7"]
    assert await redis.hlen(keys.dead_of(OWNER)) == 1


async def test_a_text_leaves_waiting_things_that_do_not_contain_it(redis: RedisPort) -> None:
    for item_id, text in (("1", "the parcel"), ("2", "the weather"), ("3", 'say "parcel"\n now')):
        await wait_in(redis, IN, item_id, message(item_id, text))
        await die(redis, f"d{item_id}", message(f"d{item_id}", text))

    await forget(redis, OWNER, '"parcel"\n')

    assert await redis.lrange(keys.items(IN), 0, -1) == [b"0:1", b"0:2"]
    assert sorted(await redis.hkeys(keys.bodies(IN))) == [b"1", b"2"]
    assert sorted(await redis.hkeys(keys.dead_of(OWNER))) == [b"d1", b"d2"]
    assert await redis.zrange(keys.dead(), 0, -1) == [b"home:u:7|d1", b"home:u:7|d2"]


async def test_what_was_kept_for_a_reply_goes_with_it(redis: RedisPort) -> None:
    await wait_in(redis, OUT, "t:1", reply("t:1", "the parcel"))
    await wait_in(redis, OUT, "t:12", reply("t:12", "the weather"))
    await redis.hset(keys.kept(OUT), mapping={"t:1": "the par", "t:1:a": "cel", "sent:t:1": "1"})
    await redis.hset(keys.kept(OUT), mapping={"t:12": "the weather", "t:12:a": "1", "sent:t:12": "1"})

    await forget(redis, OWNER, "parcel")

    assert sorted(await redis.hkeys(keys.kept(OUT))) == [b"sent:t:12", b"t:12", b"t:12:a"]


async def test_what_cannot_be_read_is_searched_as_it_stands(redis: RedisPort) -> None:
    await redis.rpush(keys.ring(OWNER), b"not json, parcel \xff", b"not json, weather \xff", b'["Parcel"]')
    await redis.rpush(keys.ring(OWNER), b'{"v": 9, "id": 3, "reply": "a parcel", "new": 1}', b"null")
    await wait_in(redis, IN, "m", message("m", "-"))
    await redis.hset(keys.bodies(IN), "m", b"\xfe parcel")

    assert await forget(redis, OWNER, "parcel") == 3

    assert await redis.lrange(keys.ring(OWNER), 0, -1) == [b"not json, weather \xff", b"null"]
    assert await redis.exists(keys.bodies(IN)) == 0


@pytest.mark.parametrize("what", ["all", "last", "parcel"])
async def test_an_update_that_was_taken_before_forgets_nothing_more(redis: RedisPort, what: str) -> None:
    await fill(redis, OWNER, LANE, "parcel")
    await redis.set(keys.claim_of("42:900"), "1")
    before = await contents(redis)

    assert await forget(redis, OWNER, what, claim="42:900") is None
    assert await contents(redis) == before

    assert await forget(redis, OWNER, what, claim="42:901") == 1
    assert await redis.exists(keys.claim_of("42:901")) == 0  # ingest takes it


async def test_a_process_that_died_before_the_update_was_taken_forgot_once(redis: RedisPort) -> None:
    await redis.rpush(keys.ring(OWNER), entry("t1", "one"), entry("t2", "two"))

    first, second = [await forget(redis, OWNER, "last", claim="42:900") for _ in range(2)]

    assert (first, second) == (1, 1)
    assert await redis.llen(keys.ring(OWNER)) == 1


@pytest.mark.parametrize("what", ["all", "parcel"])
@pytest.mark.parametrize(
    "broken", [keys.lanes_of(OWNER), keys.dead_of(OWNER), keys.dead(), keys.expiry(), keys.epoch(OWNER)]
)
async def test_a_key_of_the_wrong_type_stops_it_before_anything_changed(
    redis: RedisPort, what: str, broken: str
) -> None:
    await fill(redis, OWNER, LANE, "parcel")
    await redis.delete(broken)
    await redis.set(broken, "not a number, nor a set, zset or hash")
    before = await contents(redis)

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await forget(redis, OWNER, what)

    assert await contents(redis) == before


@pytest.mark.parametrize("of", [keys.items, keys.bodies, keys.kept], ids=["items", "bodies", "kept"])
async def test_a_broken_lane_stops_a_text_but_not_all(redis: RedisPort, of: Any) -> None:
    await fill(redis, OWNER, LANE, "parcel")
    await redis.set(of(IN), "parcel")
    before = await contents(redis)

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await forget(redis, OWNER, "parcel")
    assert await contents(redis) == before

    assert await forget(redis, OWNER, "all") == 1
    assert b"parcel" not in await all_bytes(redis)


async def test_a_full_redis_can_forget(redis: RedisPort) -> None:
    await fill(redis, OWNER, LANE, "parcel")
    await look(redis, OWNER)
    raw = cast("Any", redis)
    await raw.config_set("maxmemory", "1")
    try:
        assert await forget(redis, OWNER, "all") == 1
        with pytest.raises(OutOfMemoryError):
            await redis.set("x", "y")
    finally:
        await raw.config_set("maxmemory", "0")

    assert b"parcel" not in await all_bytes(redis)
    assert await redis.get(keys.epoch(OWNER)) == b"1"


class Meddling:
    """A client beside which, before each of the first `times` removals, something else is written."""

    def __init__(self, redis: RedisPort, times: int, meddle: Any) -> None:
        self._redis, self._times, self._meddle = redis, times, meddle
        self.removals = 0
        self._removal = ""

    def register_script(self, script: str) -> Any:
        registered = self._redis.register_script(script)
        if script.startswith("-- forget:"):
            self._removal = registered.sha
        return registered

    @property
    def connection_pool(self) -> Any:
        return self

    async def get_connection(self) -> Any:
        connection = await self._redis.connection_pool.get_connection()
        return Meddled(connection, self._before)

    async def release(self, connection: Any) -> None:
        await self._redis.connection_pool.release(connection.real)

    async def parse_response(self, connection: Any, command_name: str) -> Any:
        return await self._redis.parse_response(connection.real, command_name)

    async def _before(self, packed: bytes) -> None:
        if self._removal and self._removal.encode() in packed:
            self.removals += 1
            if self.removals <= self._times:
                await self._meddle(self.removals)


@dataclass
class Meddled:
    """A connection that says what it is about to send."""

    real: Any
    before: Callable[[bytes], Awaitable[None]]

    async def send_packed_command(self, packed: bytes) -> None:
        await self.before(packed)
        await self.real.send_packed_command(packed)


async def test_what_was_stored_between_look_and_removal_goes_too(redis: RedisPort) -> None:
    await redis.rpush(keys.ring(OWNER), entry("1", "parcel"))

    async def commit_of_a_turn(n: int) -> None:
        await redis.rpush(keys.ring(OWNER), entry(f"late-{n}", "the parcel again"))

    meddling = Meddling(redis, 2, commit_of_a_turn)

    assert await forget(cast("RedisPort", meddling), OWNER, "parcel") == 3

    assert meddling.removals == 3
    assert await redis.exists(keys.ring(OWNER)) == 0


async def test_a_message_that_dies_between_look_and_removal_goes_too(redis: RedisPort) -> None:
    await wait_in(redis, IN, "m", message("m", "parcel"))

    async def burial(_n: int) -> None:
        await redis.delete(keys.items(IN), keys.bodies(IN))
        await die(redis, "m", message("m", "parcel"))

    await forget(cast("RedisPort", Meddling(redis, 1, burial)), OWNER, "parcel")

    assert await redis.exists(keys.dead_of(OWNER), keys.dead()) == 0


async def test_a_lane_that_never_rests_loses_what_was_seen_in_the_end(redis: RedisPort) -> None:
    await redis.rpush(keys.ring(OWNER), entry("1", "parcel"), entry("2", "weather"))

    async def chatter(n: int) -> None:
        await redis.rpush(keys.ring(OWNER), entry(f"busy-{n}", "chatter"))

    removed = await asyncio.wait_for(
        forget(cast("RedisPort", Meddling(redis, 1_000, chatter)), OWNER, "parcel"), 10
    )

    assert removed == 1
    assert entry("1", "parcel") not in await redis.lrange(keys.ring(OWNER), 0, -1)
    assert entry("2", "weather") in await redis.lrange(keys.ring(OWNER), 0, -1)


async def test_the_look_shows_every_lane_of_the_owner(redis: RedisPort) -> None:
    await fill(redis, OWNER, LANE, "parcel")

    seen = await look(redis, OWNER)

    assert [lane.job_id.decode() for lane in seen.lanes] == [IN, OUT]
    assert (await look(redis, OWNER)).stamp == seen.stamp


SISTER = Fact(id="f2", subject="sister's name", text="Her name is Zoë", at_ms=2, before="Zoe")
DIET = Fact(id="f3", subject="diet", text="eats meat", at_ms=3, before="vegetarian")


@pytest.mark.parametrize(
    ("what", "left"),
    [
        pytest.param("sister's name", [b"f3"], id="by its subject"),
        pytest.param("her name is zoë", [b"f3"], id="by its text"),
        pytest.param("VEGETARIAN", [b"f2"], id="by what was true before"),
        pytest.param("f2", [b"f2", b"f3"], id="not by its id"),
        pytest.param("last", [b"f2", b"f3"], id="not with the newest entry"),
        pytest.param(f"#{LANE}-turn", [b"f2", b"f3"], id="not with an entry that is not there"),
        pytest.param("all", [], id="with everything"),
    ],
)
async def test_a_fact_is_forgotten(redis: RedisPort, what: str, left: list[bytes]) -> None:
    # C33: "/forget sister's name", new session, ask: session, facts, parked conversations hold nothing of it
    await learn(redis, SISTER, DIET)

    removed = await forget(redis, OWNER, what)

    assert sorted(await redis.hkeys(keys.facts(OWNER))) == left
    assert removed == 2 - len(left)


async def test_entries_and_facts_are_counted_together(redis: RedisPort) -> None:  # C33
    await redis.rpush(keys.ring(OWNER), entry("t1", "my sister's name is Zoë"), entry("t2", "the weather"))
    await learn(redis, SISTER, DIET)
    await learn(redis, SISTER, owner="home:u:8")

    first, again = [await forget(redis, OWNER, "zoë", claim="42:900") for _ in range(2)]

    assert (first, again) == (2, 2)
    assert await redis.hkeys(keys.facts(OWNER)) == [b"f3"]
    assert await redis.hkeys(keys.facts("home:u:8")) == [b"f2"]


@pytest.mark.parametrize("what", ["all", "last", "bread"])
async def test_what_a_person_had_kept_stays(redis: RedisPort, what: str) -> None:
    memo = dump(Memo(id="m1", text="bread", made_ms=1, changed_ms=1))
    kept = {keys.things(OWNER): memo, keys.facts(GROUP): memo}
    for key, value in kept.items():
        await redis.hset(key, "m1", value)
    await redis.zadd(keys.due(), {f"{OWNER}|r4": 5})
    await redis.set(keys.project(LANE), "bread")
    await fill(redis, OWNER, LANE, "bread")

    await forget(redis, OWNER, what)

    assert [await redis.hget(key, "m1") for key in kept] == [memo] * 2
    assert await redis.zcard(keys.due()) == 1
    assert await redis.get(keys.project(LANE)) == b"bread"


async def test_a_fact_that_is_learned_between_look_and_removal_goes_too(redis: RedisPort) -> None:
    await learn(redis, DIET)

    async def learned(_n: int) -> None:
        await learn(redis, SISTER)

    meddling = cast("RedisPort", Meddling(redis, 1, learned))

    assert await forget(meddling, OWNER, "zoë") == 1

    assert await redis.hkeys(keys.facts(OWNER)) == [b"f3"]


async def test_a_fact_that_changes_all_the_time_is_removed_only_as_it_was_seen(redis: RedisPort) -> None:
    await learn(redis, SISTER, DIET)

    async def changes_its_mind(n: int) -> None:
        text = f"Zoë, {n}" if n < LOOKS else "not your business"
        await learn(redis, SISTER.model_copy(update={"text": text, "before": ""}))

    meddling = cast("RedisPort", Meddling(redis, LOOKS, changes_its_mind))

    assert await forget(meddling, OWNER, "zoë") == 0
    assert sorted(await redis.hkeys(keys.facts(OWNER))) == [b"f2", b"f3"]


@pytest.mark.parametrize(
    "value", [b"the sister \xff", b'{"v": 9, "text": "a sister", "new": 1}', b'["sister"]']
)
async def test_a_fact_that_cannot_be_read_is_searched_as_it_stands(redis: RedisPort, value: bytes) -> None:
    await redis.hset(keys.facts(OWNER), "f1", value)

    assert await forget(redis, OWNER, "sister") == 1


async def test_facts_of_the_wrong_type_stop_a_text_but_not_all(redis: RedisPort) -> None:
    await redis.set(keys.facts(OWNER), "no hash")
    await redis.rpush(keys.ring(OWNER), entry("t1", "parcel"))

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await forget(redis, OWNER, "parcel")
    assert await redis.llen(keys.ring(OWNER)) == 1

    assert await forget(redis, OWNER, "all") == 1
    assert await redis.exists(keys.facts(OWNER)) == 0


async def run_a_turn(redis: RedisPort, kept: dict[str, WireModel]) -> None:
    """A lane with a message, and what its turn has kept."""
    await wait_in(redis, IN, "m", message("m", "who is she?"))
    await redis.hset(keys.kept(IN), mapping={name: dump(value) for name, value in kept.items()})
    await redis.pexpire(keys.kept(IN), 60_000)


def result(text: str) -> KeptResult:
    return KeptResult(text=text, outcome="done")


@pytest.mark.parametrize(
    ("what", "left"),
    [
        pytest.param("first words", [], id="without the first round nothing is left"),
        pytest.param("second words", [b"result:1:c1", b"round:1"], id="a round goes with its results"),
        pytest.param('say "hi"', [b"result:1:c1", b"round:1"], id="arguments are JSON within JSON"),
        pytest.param("zoë", [b"result:1:c1", b"round:1", b"round:2"], id="a result goes alone"),
    ],
)
async def test_rounds_of_a_running_turn_are_forgotten_and_the_turn_still_holds_together(
    redis: RedisPort, what: str, left: list[bytes]
) -> None:
    second = round_of("second words", arguments='{"text": "say \\"hi\\""}')
    await run_a_turn(
        redis,
        {
            "round:1": round_of("first words"), "result:1:c1": result("ok"),
            "round:2": second, "result:2:c1": result('{"sister": "Zo\\u00eb"}'),
        },
    )  # fmt: skip

    await forget(redis, OWNER, what)

    assert sorted(await redis.hkeys(keys.kept(IN))) == sorted([b"forgotten", *left])
    assert 0 < await redis.pttl(keys.kept(IN)) <= 60_000


async def test_what_says_nothing_of_it_stays_as_it_was_kept(redis: RedisPort) -> None:
    await run_a_turn(redis, {"round:1": round_of("first"), "result:1:c1": result("ok")})

    await forget(redis, OWNER, "parcel")

    assert sorted(await redis.hkeys(keys.kept(IN))) == [b"result:1:c1", b"round:1"]


async def test_a_full_redis_forgets_a_round(redis: RedisPort) -> None:
    await run_a_turn(redis, {"round:1": round_of("parcel")})
    await look(redis, OWNER)
    raw = cast("Any", redis)
    await raw.config_set("maxmemory", "1")
    try:
        await forget(redis, OWNER, "parcel")
    finally:
        await raw.config_set("maxmemory", "0")

    assert await redis.hkeys(keys.kept(IN)) == [b"forgotten"]
    assert 0 < await redis.pttl(keys.kept(IN)) <= 60_000


async def test_a_reply_goes_if_its_buttons_say_it(redis: RedisPort) -> None:
    buttons = (
        (Button(text="Zoë", command="/pick 0a1b2c3d 1"), Button(text="Ben", command="/pick 0a1b2c3d 2")),
    )
    await wait_in(redis, OUT, "t1:answer", reply("t1:answer", "Who?").model_copy(update={"buttons": buttons}))
    await wait_in(redis, OUT, "t2:answer", reply("t2:answer", "Who?"))

    await forget(redis, OWNER, "0a1b2c3d")
    assert await redis.hlen(keys.bodies(OUT)) == 2

    await forget(redis, OWNER, "zoë")
    assert await redis.hkeys(keys.bodies(OUT)) == [b"t2:answer"]


async def test_a_forwarded_message_goes_with_the_name_it_came_from(redis: RedisPort) -> None:  # C39
    await wait_in(redis, IN, "m", message("m", "hello", forwarded_from="Zoë Groß", v=2))

    await forget(redis, OWNER, "zoë gross")

    assert await redis.exists(keys.bodies(IN)) == 0


@pytest.mark.parametrize("what", ["", "  ", "\n"])
def test_a_text_without_letters_matches_nothing(what: str) -> None:
    fact = dump(Fact(id="f1", subject="anything", text="anything", at_ms=1))
    sight = Sight("", (entry("1", "anything"),), (), ((b"f1", fact),), ())

    assert chosen(sight, what) == ()


def test_comparison_ignores_case_and_composition() -> None:
    assert folded("STRASSE Zoe\u0308") == folded("straße ZOË")


def test_the_scripts_know_no_key_by_themselves() -> None:
    for script in Path(__file__).parents[2].glob("infra/forget*.lua"):
        assert "koi:" not in script.read_text()
