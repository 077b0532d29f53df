"""Which message of Telegram's is whose answer."""

from typing import Any, cast

from infra import keys
from infra.effect import Effect
from infra.redis_port import RedisPort
from infra.sent_answers import KNOWN_MS, NEWEST, sent_effects, turn_answered

LANE = "7:42:0"


async def apply(redis: RedisPort, effects: tuple[Effect, ...]) -> None:
    for effect in effects:
        await cast("Any", redis).execute_command(effect.command, effect.key, *effect.args)


async def test_every_part_of_an_answer_is_known_for_a_day(redis: RedisPort) -> None:
    await apply(redis, sent_effects(LANE, "a:b:answer", [5, 6]))

    assert [await turn_answered(redis, LANE, number) for number in (5, 6, 56)] == ["a:b", "a:b", ""]
    assert await turn_answered(redis, "7:43:0", 5) == ""
    assert 0 < await redis.pttl(keys.sent_answers(LANE)) <= KNOWN_MS


async def test_only_the_newest_are_known(redis: RedisPort) -> None:
    await apply(redis, sent_effects(LANE, "old:answer", [1]))
    await apply(redis, sent_effects(LANE, "new:answer", range(2, 2 + NEWEST)))

    assert await turn_answered(redis, LANE, 1) == ""
    assert await turn_answered(redis, LANE, 2) == "new"


def test_what_is_no_answer_of_a_turn_is_not_known() -> None:
    assert sent_effects(LANE, "x:notice", [5]) == ()
    assert sent_effects(LANE, "x:answer", []) == ()
