"""The index of recorded lives, over a real stream."""

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from dashboard.lives import Lives
from infra import keys
from infra.redis_port import RedisPort
from tests.dashboard.house import NOW_MS
from tests.dashboard.records import dead, fallback, sent, turn, write


async def test_turns_are_known_newest_first_with_all_that_was_recorded(redis: RedisPort) -> None:
    await write(redis, turn(1), fallback(2))
    lives = Lives()

    await lives.read_on(redis)

    newest, oldest = lives.newest_first()
    assert (newest.id, oldest.id) == ("host-1-ab:2", "host-1-ab:1")
    assert newest.life() == fallback(2)
    assert newest.fell_back
    assert newest.models == ("haiku", "sonnet")
    assert lives.read_at_ms > 0


async def test_only_what_is_new_is_read(redis: RedisPort) -> None:
    lives = Lives()
    await write(redis, turn(1))
    await lives.read_on(redis)
    await lives.read_on(redis)
    await write(redis, turn(2))

    await lives.read_on(redis)

    assert [row.id for row in lives.newest_first()] == ["host-1-ab:2", "host-1-ab:1"]


async def test_a_sent_reply_joins_its_turn(redis: RedisPort) -> None:
    await write(redis, turn(1), turn(2), sent(1, left=1), sent(9))
    lives = Lives()

    await lives.read_on(redis)

    row = lives.turn("host-1-ab:1")
    assert row is not None
    assert [one.left for one in row.sents] == [1]
    other = lives.turn("host-1-ab:2")
    assert other is not None
    assert other.sents == ()


async def test_parts_that_were_given_up_are_counted_from_a_moment_on_also_of_notices(
    redis: RedisPort,
) -> None:
    await write(redis, turn(1), sent(1, left=1), sent(7, left=2, at_ms=NOW_MS - 10_000))
    lives = Lives()
    await lives.read_on(redis)

    assert lives.lost_since(NOW_MS) == 1
    assert lives.lost_since(NOW_MS - 10_000) == 3


async def test_the_oldest_turns_make_room(redis: RedisPort) -> None:
    await write(redis, *(turn(nth) for nth in range(1, 6)))
    lives = Lives(kept=3)

    await lives.read_on(redis)

    assert [row.id[-1] for row in lives.newest_first()] == ["5", "4", "3"]
    assert lives.turn("host-1-ab:1") is None


async def test_a_stream_that_is_gone_takes_nothing_away_and_its_heir_is_read(redis: RedisPort) -> None:
    await write(redis, turn(1))
    lives = Lives()
    await lives.read_on(redis)
    await redis.delete(keys.life())
    await lives.read_on(redis)
    assert len(lives) == 1

    await write(redis, turn(2))
    await lives.read_on(redis)

    assert len(lives) == 2


async def test_a_stream_from_a_backup_is_read_from_its_beginning_without_doubles(redis: RedisPort) -> None:
    async def put(entry_id: str, nth: int) -> None:
        async with redis.pipeline(transaction=False) as pipe:
            pipe.xadd(keys.life(), {"turn": turn(nth).model_dump_json()}, id=entry_id)
            await pipe.execute()

    await put("5-1", 1)
    await put("9-1", 2)
    lives = Lives()
    await lives.read_on(redis)
    await redis.delete(keys.life())
    await put("5-1", 1)
    await put("6-1", 3)

    await lives.read_on(redis)

    assert sorted(row.id[-1] for row in lives.newest_first()) == ["1", "2", "3"]


async def test_what_cannot_be_read_is_passed_over(redis: RedisPort) -> None:
    await redis.xadd(keys.life(), {"turn": "no JSON"})
    await redis.xadd(keys.life(), {"turn": '{"v": 99}'})
    await redis.xadd(keys.life(), {"other": "1"})
    await write(redis, turn(1))
    lives = Lives()

    await lives.read_on(redis)

    assert len(lives) == 1
    assert lives.unreadable == 2


async def test_an_outage_keeps_what_was_read_and_its_time(redis: RedisPort) -> None:
    await write(redis, turn(1))
    lives = Lives()
    await lives.read_on(redis)
    read_at_ms = lives.read_at_ms

    class Away:
        def pipeline(self, transaction: bool = True) -> object:
            raise RedisConnectionError("away")

    with pytest.raises(RedisConnectionError):
        await lives.read_on(Away())  # pyright: ignore[reportArgumentType]

    assert len(lives) == 1
    assert lives.read_at_ms == read_at_ms


async def test_turns_since_a_moment_are_found_though_stamps_are_a_little_out_of_order(
    redis: RedisPort,
) -> None:
    await write(redis, turn(1, at_ms=NOW_MS), turn(2, at_ms=NOW_MS - 5_000), dead(3, at_ms=NOW_MS + 1))
    lives = Lives()
    await lives.read_on(redis)

    assert [row.id[-1] for row in lives.since(NOW_MS)] == ["3", "1"]


async def test_a_message_leads_to_its_newest_turn(redis: RedisPort) -> None:
    await write(redis, dead(1), turn(2, message_ids=("7:1",)))
    lives = Lives()
    await lives.read_on(redis)

    row = lives.of_message("7:1")

    assert row is not None
    assert row.id == "host-1-ab:2"
