"""What a plan allows is never passed: by many messages at once, by several workers, by calls that were killed."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from arq.connections import ArqRedis

from infra import keys
from infra.redis_port import RedisPort
from infra.settings import PriceSettings
from llm.request import UNKNOWN, Allowed, CallEnded, CallPlanned, Denied, Message, ModelRequest, Usage
from workers.plans import Plan
from workers.purse import INPUT_MARGIN, Purse, UsedUp, Wallet
from workers.records import Recorder

BERLIN = ZoneInfo("Europe/Berlin")
APRIL_30_23_00 = 1_777_582_800_000
"""In Berlin."""
MAY_1_00_00 = APRIL_30_23_00 + 3_600_000
APRIL, MAY = keys.spent("42", "2026-04"), keys.spent("42", "2026-05")
PRICES = {
    "sonnet": PriceSettings(input=2, output=10, cache_write=2),
    "free": PriceSettings(input=0, output=0),
}
TOKENS, INPUT = 1_000, 800
RESERVED = 2 * round(INPUT * INPUT_MARGIN) + 10 * TOKENS
"""The most one call can cost: 12,000."""
DOLLAR = Plan("small", microusd_per_month=1_000_000)


def planned(call_id: str = "c1", model: str = "sonnet", max_tokens: int = TOKENS) -> CallPlanned:
    return CallPlanned(call_id, "compatible", model, ModelRequest("", (Message("user", "Hi"),), max_tokens))


class House:
    """One worker, whose clock the test moves."""

    def __init__(self, redis: RedisPort) -> None:
        self.now_ms = APRIL_30_23_00
        self.redis = redis
        self.purse = Purse(redis, self.clock, BERLIN, PRICES)
        self.recorder = Recorder(redis, self.clock, zone=BERLIN, prices=PRICES)

    def clock(self) -> int:
        return self.now_ms

    async def ask(self, plan: Plan | None = DOLLAR, call: CallPlanned | None = None) -> object:
        return await self.purse.before_call(plan, "42", call or planned(), INPUT)

    async def end(self, call_id: str = "c1", usage: Usage = UNKNOWN) -> None:
        call = CallEnded(call_id, "compatible", "sonnet", "answered", 1, usage)
        self.recorder.ended(call, turn_id="t", lane="l", user_id="42")
        await self.recorder.flush()

    async def spent(self, key: str = APRIL) -> int:
        return int(await self.redis.hget(key, "microusd") or 0)


@pytest.fixture
def house(redis: RedisPort) -> House:
    return House(redis)


@pytest.fixture
async def other(redis: RedisPort, valkey_socket: Path) -> AsyncIterator[House]:
    """Another worker, with a connection of its own. Needs `redis` for the empty database."""
    assert redis
    client = cast("RedisPort", ArqRedis.from_url(f"unix://{valkey_socket}?db=0"))
    yield House(client)
    await client.aclose(close_connection_pool=True)


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_messages_of_a_day_are_counted_to_the_last_and_renew_at_midnight(house: House) -> None:
    plan = Plan("free", messages_per_day=3)

    admitted = [await house.purse.admit(plan, "42", ids) for ids in (["1", "2"], ["3", "4"], ["5"], ["6"])]

    assert admitted == [
        None,
        UsedUp("messages", MAY_1_00_00, limit=3, left=1),
        None,
        UsedUp("messages", MAY_1_00_00, limit=3, left=0),
    ]
    house.now_ms = MAY_1_00_00
    assert await house.purse.admit(plan, "42", ["7", "8", "9"]) is None


async def test_a_retry_is_the_same_turn(house: House) -> None:
    plan = Plan("free", messages_per_day=1)

    assert [await house.purse.admit(plan, "42", ["1"]) for _ in range(3)] == [None] * 3
    assert await house.redis.hget(keys.spent("42", "2026-04-30"), "messages") == b"1"


async def test_a_batch_that_failed_and_is_tried_one_by_one_is_not_counted_again(house: House) -> None:
    plan = Plan("free", messages_per_day=3)

    together = await house.purse.admit(plan, "42", ["1", "2", "3"])
    apart = [await house.purse.admit(plan, "42", [message]) for message in ("1", "2", "3")]

    assert [together, *apart] == [None] * 4
    assert await house.redis.hget(keys.spent("42", "2026-04-30"), "messages") == b"3"


async def test_ten_messages_at_once_over_two_workers_do_not_pass_the_day(house: House, other: House) -> None:
    plan = Plan("free", messages_per_day=4)

    admitted = await asyncio.gather(
        *(one.purse.admit(plan, "42", [str(n)]) for n, one in enumerate([house, other] * 5))
    )

    assert admitted.count(None) == 4


# ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_most_a_call_can_cost_is_reserved_and_the_difference_given_back(house: House) -> None:
    assert await house.ask() == Allowed(TOKENS)
    assert await house.spent() == RESERVED

    await house.end(usage=Usage(800, 0, 0, 100))

    assert await house.spent() == 2 * 800 + 10 * 100
    assert await house.redis.exists(keys.reserved("c1")) == 0


async def test_what_the_service_may_search_and_read_in_the_web_is_reserved_too(house: House) -> None:
    await house.ask(call=replace(planned(), searches=3, web_tokens=48_000))

    assert await house.spent() == RESERVED + 3 * 10_000 + 2 * 48_000


async def test_a_call_that_never_ended_stays_counted_as_reserved(house: House) -> None:
    await house.ask(call=planned("killed"))
    await house.ask(call=planned("c2"))
    await house.end("c2", Usage(800, 0, 0, 100))

    assert await house.spent() == RESERVED + 2_600
    assert await house.redis.pttl(keys.reserved("killed")) > 0


async def test_a_call_of_unknown_cost_stays_counted_as_reserved(house: House) -> None:
    await house.ask()
    await house.end(usage=UNKNOWN)

    assert await house.spent() == RESERVED
    assert await house.redis.exists(keys.reserved("c1")) == 0


async def test_a_call_is_settled_in_the_month_in_which_it_was_reserved(house: House) -> None:
    await house.ask()
    house.now_ms = MAY_1_00_00
    await house.end(usage=Usage(800, 0, 0, 100))

    assert (await house.spent(APRIL), await house.spent(MAY)) == (2_600, 0)


async def test_a_call_is_settled_once(house: House) -> None:
    await house.ask()
    for _ in range(3):
        await house.end(usage=Usage(800, 0, 0, 100))

    assert await house.spent() == 2_600


async def test_a_call_that_cost_more_than_reserved_is_counted_as_it_is(house: House) -> None:
    await house.ask()
    await house.end(usage=Usage(10_000, 0, 0, 100))

    assert await house.spent() == 21_000


async def test_with_little_left_the_answer_may_only_be_short(house: House) -> None:
    left = 2 * INPUT * INPUT_MARGIN + 10 * 300 + 9
    await house.redis.hset(APRIL, "microusd", round(1_000_000 - left))

    assert await house.ask() == Allowed(300)
    assert await house.spent() == 1_000_000 - 9


async def test_an_answer_that_could_hardly_be_one_is_not_asked_for(house: House) -> None:
    left = 2 * INPUT * INPUT_MARGIN + 10 * 255
    await house.redis.hset(APRIL, "microusd", round(1_000_000 - left))

    assert await house.ask() == UsedUp("money", MAY_1_00_00)
    assert await house.ask(call=planned(max_tokens=100)) == Allowed(100)


@pytest.mark.parametrize("kills", [False, True], ids=["all end", "every third worker dies in mid-call"])
async def test_ten_messages_at_once_at_99_percent_never_pass_the_plan(  # C54
    house: House, other: House, *, kills: bool
) -> None:
    await house.redis.hset(APRIL, "microusd", 990_000)
    seen: list[int] = []

    async def message(worker: House, number: int) -> object:
        permit = await worker.ask(call=planned(f"c{number}"))
        seen.append(await worker.spent())
        if isinstance(permit, Allowed) and not (kills and number % 3 == 0):
            await worker.end(f"c{number}", Usage(INPUT, 0, 0, permit.max_tokens))
            seen.append(await worker.spent())
        return permit

    permits = await asyncio.gather(*(message(one, n) for n, one in enumerate([house, other] * 5)))

    allowed = [permit for permit in permits if isinstance(permit, Allowed)]
    assert 1 <= len(allowed) < 10
    assert max(seen) <= 1_000_000


async def test_a_plan_is_used_up_to_the_last_that_fits(house: House, other: House) -> None:
    for number in range(200):
        worker = (house, other)[number % 2]
        permit = await worker.ask(call=planned(f"c{number}"))
        if isinstance(permit, UsedUp):
            break
        await worker.end(f"c{number}", Usage(1_000, 0, 0, 1_000))

    spent = await house.spent()
    assert 1_000_000 - RESERVED < spent <= 1_000_000


# ── which models ─────────────────────────────────────────────────────────────────────────────────────────────────
async def test_without_a_plan_or_a_limit_in_money_redis_is_not_asked(house: House) -> None:
    for plan in (None, Plan("free"), Plan("free", messages_per_day=5)):
        assert await house.ask(plan) == Allowed(TOKENS)
    for plan in (None, Plan("free"), DOLLAR):
        assert await house.purse.admit(plan, "42", ["1"]) is None

    assert [key async for key in house.redis.scan_iter()] == []


async def test_a_model_outside_the_plan_is_denied(house: House) -> None:
    permit = await house.ask(Plan("free", models=frozenset({"light"})))

    assert permit == Denied("plan free does not allow sonnet")


async def test_a_model_of_unknown_price_is_denied_under_a_limit_in_money(house: House) -> None:
    permit = await house.ask(call=planned(model="mystery"))

    assert permit == Denied(
        'the price of mystery is unknown, and plan small has a limit in money; set [prices."mystery"]'
    )


async def test_a_free_model_answers_also_when_the_money_is_used_up(house: House) -> None:
    nothing = replace(DOLLAR, microusd_per_month=0)

    assert await house.ask(nothing, planned(model="free")) == Allowed(TOKENS)
    assert isinstance(await house.ask(nothing), UsedUp)


# ── one turn ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_wallet_remembers_why_no_model_might_be_asked(house: House) -> None:
    await house.redis.hset(APRIL, "microusd", 1_000_000)
    wallet = Wallet(house.purse, DOLLAR, "42", lambda _: INPUT)
    assert wallet.used_up == UsedUp("models")

    permits = [await wallet.before_call(planned(model=model)) for model in ("sonnet", "mystery")]

    assert permits[0] == Denied("plan small is used up for this month")
    assert isinstance(permits[1], Denied)
    assert wallet.used_up == UsedUp("money", MAY_1_00_00)


async def test_a_wallet_without_a_plan_does_not_estimate(house: House) -> None:
    def estimate(_: CallPlanned) -> int:
        raise AssertionError

    assert await Wallet(house.purse, None, "42", estimate).before_call(planned()) == Allowed(TOKENS)
