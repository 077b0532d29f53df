"""Records of turns: kept under their owner, found again by id, handle or beginning, gone with their time."""

import pytest

from infra import keys
from infra.forget import forget, handle_of
from infra.redis_port import RedisPort
from infra.turns import KEPT, find_turn, turn_effects
from memory.store import apply
from schemas.turn import Part, TurnRecord

DAY_MS = 86_400_000
NOW_MS = 1_775_391_780_000
ANN, BEN = "home:u:42", "home:u:43"


def record(number: int, owner: str = ANN, *, at_ms: int = NOW_MS, oldest_ms: int = 0) -> TurnRecord:
    return TurnRecord(
        id=f"host-7-{number}", lane="7:42:0", owner=owner, bot="koi", user_id="42", at_ms=at_ms,
        oldest_ms=oldest_ms or at_ms, took_ms=900, message_ids=(f"7:{number}",), asked="sonnet", model="sonnet",
        tier="strong", why="only_model", budget_tokens=6000, estimated_tokens=90, correction=1.1, ending="complete",
        parts=(Part(kind="message", tokens=9, text="Where is the parcel?"),),
    )  # fmt: skip


async def write(redis: RedisPort, *records: TurnRecord) -> None:
    for one in records:
        await apply(redis, turn_effects(one, DAY_MS))


async def find(redis: RedisPort, name: str, now_ms: int = NOW_MS) -> TurnRecord | None:
    return await find_turn(redis, name, now_ms, DAY_MS)


@pytest.mark.parametrize("name", ["host-7-2", handle_of("host-7-2"), handle_of("host-7-2")[:8]])
async def test_a_turn_is_found_by_its_id_its_handle_and_how_that_begins(redis: RedisPort, name: str) -> None:
    await write(redis, record(1), record(2, BEN), record(3))

    assert await find(redis, name) == record(2, BEN)


async def test_without_a_name_it_is_the_newest_of_all_owners(redis: RedisPort) -> None:
    await write(redis, record(1), record(2, BEN, at_ms=NOW_MS + 5), record(3, at_ms=NOW_MS + 4))

    assert await find(redis, "") == record(2, BEN, at_ms=NOW_MS + 5)


async def test_what_is_not_there_or_cannot_be_read_is_not_found(redis: RedisPort) -> None:
    await redis.rpush(keys.turns(ANN), "not json", '{"v": 99}')

    assert await find(redis, "") is None
    assert await find(redis, "host") is None


async def test_a_record_is_gone_with_the_oldest_text_it_quotes(redis: RedisPort) -> None:
    await write(redis, record(1, oldest_ms=NOW_MS - DAY_MS + 10))

    assert await find(redis, "", NOW_MS + 9)
    assert await find(redis, "", NOW_MS + 10) is None


async def test_an_owner_has_at_most_so_many_and_they_have_a_ttl(redis: RedisPort) -> None:
    await write(redis, *(record(number) for number in range(KEPT + 2)))

    assert await redis.llen(keys.turns(ANN)) == KEPT
    assert await find(redis, "host-7-1") is not None  # 10 … 19 and the rest
    assert await find(redis, handle_of("host-7-1")) is None
    assert 0 < await redis.pttl(keys.turns(ANN)) <= DAY_MS


@pytest.mark.parametrize("what", ["all", "last", "parcel"])
async def test_forgetting_removes_the_records_of_the_owner_only(redis: RedisPort, what: str) -> None:
    await write(redis, record(1), record(2, BEN))

    await forget(redis, ANN, what)

    assert await redis.exists(keys.turns(ANN)) == 0
    assert await redis.exists(keys.turns(BEN)) == 1
