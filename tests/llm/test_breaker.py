"""The breaker in Redis, on a clock of its own."""

from dataclasses import dataclass

import pytest
import structlog
from redis.exceptions import ConnectionError as RedisConnectionError

from infra import keys
from infra.redis_port import RedisPort
from llm.breaker import REMEMBERED_MS, Breaker
from llm.candidates import OFFLINE, Candidate, Service
from llm.standing import (
    CLOSED,
    OPEN_LONGEST_MS,
    OPEN_MS,
    SAYS_NOTHING,
    THRESHOLD,
    WINDOW_MS,
    Closed,
    Fails,
    Open,
    Probe,
    State,
    Works,
)

START_MS = 1_764_500_000_000
SERVICE = Service("compatible", "http://127.0.0.1:1")
A, B, C = (Candidate(SERVICE, model) for model in ("a", "b:8b", "c/d"))
OVERLOADED = Fails("overloaded")


@dataclass
class Time:
    ms: int = START_MS

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def breaker(redis: RedisPort, time: Time) -> Breaker:
    return Breaker(redis, clock=time)


async def stands(breaker: Breaker, candidate: Candidate = A) -> State:
    return (await breaker.read([candidate]))[candidate]


async def enters(breaker: Breaker, candidate: Candidate = A, *, lease_ms: int = 120_000) -> State:
    return (await breaker.admit([candidate], lease_ms=lease_ms))[candidate]


async def trip(breaker: Breaker, candidate: Candidate = A, fails: Fails = OVERLOADED) -> State:
    state: State = CLOSED
    for _ in range(fails.threshold):
        state = await breaker.tell(candidate, state, fails)
    return state


async def test_a_model_that_never_failed_is_closed(breaker: Breaker) -> None:
    assert await breaker.read([A, B]) == {A: CLOSED, B: CLOSED}


async def test_failures_are_counted_until_they_open_it(breaker: Breaker, time: Time) -> None:
    states = [await breaker.tell(A, CLOSED, OVERLOADED) for _ in range(THRESHOLD)]

    assert states == [Closed(1), Closed(2), Open(START_MS, "overloaded", START_MS + OPEN_MS, OPEN_MS)]
    time.ms += 10_000
    assert await stands(breaker) == Open(START_MS, "overloaded", START_MS + OPEN_MS, OPEN_MS - 10_000)
    assert await stands(breaker, B) == CLOSED


async def test_another_process_sees_the_same(redis: RedisPort, breaker: Breaker, time: Time) -> None:
    await trip(breaker)

    assert isinstance(await stands(Breaker(redis, clock=time)), Open)


async def test_a_success_between_failures_begins_the_count_anew(breaker: Breaker) -> None:
    known: State = CLOSED
    for _ in range(THRESHOLD - 1):
        known = await breaker.tell(A, known, OVERLOADED)
    await breaker.tell(A, known, Works())

    assert await breaker.tell(A, CLOSED, OVERLOADED) == Closed(1)


async def test_a_success_of_a_model_without_failures_writes_nothing(
    breaker: Breaker, redis: RedisPort
) -> None:
    before = await redis.info("commandstats")

    await breaker.tell(A, CLOSED, Works())
    await breaker.tell(A, CLOSED, SAYS_NOTHING)

    after = await redis.info("commandstats")
    assert set(after) - set(before) <= {"cmdstat_info"}


async def test_one_wrong_key_opens_it_at_once(breaker: Breaker) -> None:
    state = await breaker.tell(A, CLOSED, Fails("unauthorized", threshold=1, open_ms=300_000))

    assert state == Open(START_MS, "unauthorized", START_MS + 300_000, 300_000)


async def test_it_is_open_for_exactly_as_long_as_the_service_asked(breaker: Breaker, time: Time) -> None:
    await breaker.tell(A, CLOSED, Fails("rate_limited", threshold=1, asked_ms=90_000))

    time.ms += 89_999
    assert isinstance(await enters(breaker), Open)
    time.ms += 1
    assert isinstance(await enters(breaker), Probe)


async def test_of_many_turns_one_probes(breaker: Breaker, redis: RedisPort, time: Time) -> None:
    await trip(breaker)
    time.ms += OPEN_MS

    first = await enters(breaker)
    others = [await enters(Breaker(redis, clock=time)) for _ in range(5)]

    assert first == Probe(START_MS, "overloaded", time.ms + 120_000)
    assert all(isinstance(each, Open) and each.wait_ms == 0 for each in others)


async def test_looking_takes_no_probe_away(breaker: Breaker, time: Time) -> None:
    await trip(breaker)
    time.ms += OPEN_MS

    assert isinstance(await stands(breaker), Open)
    assert isinstance(await enters(breaker), Probe)


async def test_a_probe_that_works_closes_it(breaker: Breaker, time: Time) -> None:
    await trip(breaker)
    time.ms += OPEN_MS

    await breaker.tell(A, await enters(breaker), Works())

    assert await stands(breaker) == CLOSED


async def test_each_failed_probe_doubles_the_wait_up_to_the_longest(breaker: Breaker, time: Time) -> None:
    state = await trip(breaker)
    waits: list[int] = []
    for _ in range(6):
        assert isinstance(state, Open)
        waits.append(state.wait_ms)
        time.ms += state.wait_ms
        probe = await enters(breaker, lease_ms=1_000_000)
        assert isinstance(probe, Probe)
        state = await breaker.tell(A, probe, Fails("timeout"))

    assert waits == [30_000, 60_000, 120_000, 240_000, OPEN_LONGEST_MS, OPEN_LONGEST_MS]
    assert isinstance(state, Open)
    assert (state.since_ms, state.why) == (START_MS, "timeout")


async def test_a_killed_prober_blocks_only_until_its_lease_ends(breaker: Breaker, time: Time) -> None:
    await trip(breaker)
    time.ms += OPEN_MS
    await enters(breaker, lease_ms=5_000)

    time.ms += 4_999
    assert isinstance(await enters(breaker), Open)
    time.ms += 1
    assert isinstance(await enters(breaker), Probe)


async def test_a_probe_that_said_nothing_lets_the_next_turn_try_at_once(breaker: Breaker, time: Time) -> None:
    await trip(breaker)
    time.ms += OPEN_MS

    await breaker.tell(A, await enters(breaker), SAYS_NOTHING)

    assert isinstance(await enters(breaker), Probe)


async def test_a_prober_that_is_late_takes_nothing_from_the_next_one(breaker: Breaker, time: Time) -> None:
    await trip(breaker)
    time.ms += OPEN_MS
    late = await enters(breaker, lease_ms=5_000)
    time.ms += 5_000
    await enters(breaker)

    await breaker.tell(A, late, SAYS_NOTHING)

    assert isinstance(await enters(breaker), Open)


async def test_calls_that_were_under_way_change_nothing_about_an_open_breaker(
    breaker: Breaker, time: Time
) -> None:
    await trip(breaker)
    time.ms += 10_000

    await breaker.tell(A, Closed(1), Works())
    await breaker.tell(A, Closed(1), Fails("timeout"))

    assert await stands(breaker) == Open(START_MS, "timeout", START_MS + OPEN_MS, OPEN_MS - 10_000)


async def test_a_last_resort_that_works_closes_it(breaker: Breaker) -> None:
    state = await trip(breaker)

    await breaker.tell(A, state, Works())

    assert await stands(breaker) == CLOSED


async def test_a_wait_that_is_asked_for_while_it_is_open_is_kept(breaker: Breaker) -> None:
    await trip(breaker)

    await breaker.tell(A, CLOSED, Fails("rate_limited", threshold=1, asked_ms=90_000))
    await breaker.tell(A, CLOSED, Fails("rate_limited", threshold=1, asked_ms=10_000))

    assert await stands(breaker) == Open(START_MS, "rate_limited", START_MS + 90_000, 90_000, asked=True)


async def test_one_turn_probes_one_model_and_only_if_nobody_before_it_works(
    breaker: Breaker, time: Time
) -> None:
    await trip(breaker, A)
    await trip(breaker, B)
    time.ms += OPEN_MS

    behind = await breaker.admit([C, A], lease_ms=1_000)
    both = await breaker.admit([A, B, C], lease_ms=1_000)
    meanwhile = await breaker.admit([A, B, C], lease_ms=1_000)

    assert [type(state) for state in behind.values()] == [Closed, Open]
    assert [type(state) for state in both.values()] == [Probe, Open, Closed]
    assert [type(state) for state in meanwhile.values()] == [Open, Probe, Closed]


async def test_the_offline_model_costs_no_round_trip(time: Time) -> None:
    class Away:
        """Nothing of Redis is there."""

    offline = Candidate(OFFLINE, "offline")
    breaker = Breaker(Away(), clock=time)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert await breaker.admit([offline], lease_ms=1) == {offline: CLOSED}
    assert await breaker.tell(offline, CLOSED, OVERLOADED) == CLOSED


async def test_with_redis_away_every_model_is_asked_and_a_warning_written() -> None:
    from arq.connections import ArqRedis  # noqa: PLC0415

    away = ArqRedis.from_url("unix:///nonexistent/koi.sock")
    with pytest.raises(RedisConnectionError):
        await away.ping()
    breaker = Breaker(away)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    with structlog.testing.capture_logs() as logs:
        states = await breaker.admit([A, B], lease_ms=1)
        told = await breaker.tell(A, CLOSED, OVERLOADED)

    assert states == {A: CLOSED, B: CLOSED}
    assert told == CLOSED
    assert [entry["event"] for entry in logs] == ["breaker_unreachable"] * 2
    await away.aclose()


async def test_a_key_of_another_type_is_a_warning_too(breaker: Breaker, redis: RedisPort) -> None:
    await redis.rpush(keys.breaker_failures("compatible", "a"), "?")

    assert await stands(breaker) == CLOSED
    assert await breaker.tell(A, CLOSED, OVERLOADED) == CLOSED


async def test_redis_own_clock_is_used_without_another(redis: RedisPort) -> None:
    breaker = Breaker(redis)

    state = await trip(breaker)

    seconds, _ = await redis.time()
    assert isinstance(state, Open)
    assert state.since_ms == pytest.approx(seconds * 1000, abs=5_000)
    assert 0 < (await redis.pttl(keys.breaker_open("compatible", "a"))) <= OPEN_MS + REMEMBERED_MS


async def test_both_keys_expire(breaker: Breaker, redis: RedisPort) -> None:
    await breaker.tell(A, CLOSED, OVERLOADED)
    await trip(breaker, B)

    assert 0 < await redis.pttl(keys.breaker_failures("compatible", "a")) <= WINDOW_MS
    assert 0 < await redis.pttl(keys.breaker_open("compatible", "b:8b")) <= OPEN_MS + REMEMBERED_MS
    assert await redis.exists(keys.breaker_failures("compatible", "b:8b")) == 0
