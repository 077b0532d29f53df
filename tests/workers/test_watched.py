"""How periodic jobs say that they ran."""

import pytest

from infra import keys
from schemas.life import JobRun
from schemas.wire import load
from tests.workers.stage import House
from workers.watched import Watched


async def told(house: House, name: str = "sweep") -> JobRun | None:
    raw = await house.redis.get(keys.ran(name))
    return None if raw is None else load(JobRun, raw)


async def nothing() -> None:
    """A job that found nothing to do."""


async def test_the_first_run_is_told_with_what_it_did_and_how_long_it_took(house: House) -> None:
    began_ms = house.now_ms

    async def job() -> int:
        house.now_ms += 40
        return 3

    await Watched(house.services, "sweep", job)()

    assert await told(house) == JobRun(at_ms=began_ms, took_ms=40, did=3)
    assert 0 < await house.redis.pttl(keys.ran("sweep")) <= 7 * 24 * 3_600_000


async def test_a_run_that_did_nothing_is_told_once_a_minute(house: House) -> None:
    job, began_ms, stamps = Watched(house.services, "sweep", nothing), house.now_ms, list[int]()
    for _ in range(9):
        await job()
        run = await told(house)
        stamps.append(run.at_ms - began_ms if run else -1)
        house.later(minutes=0.25)

    assert stamps == [0, 0, 0, 0, 60_000, 60_000, 60_000, 60_000, 120_000]


async def test_a_run_that_did_something_is_told_at_once(house: House) -> None:
    found = iter([0, 0, 2])

    async def job() -> int:
        house.later(minutes=0.1)
        return next(found)

    watched = Watched(house.services, "sweep", job)
    for _ in range(3):
        await watched()

    run = await told(house)
    assert run is not None
    assert run.did == 2


async def test_a_failure_is_told_by_its_name_only_and_goes_on(house: House) -> None:
    async def job() -> None:
        raise ValueError("Quitten")

    with pytest.raises(ValueError, match="Quitten"):
        await Watched(house.services, "sweep", job)()

    assert await told(house) == JobRun(at_ms=house.now_ms, took_ms=0, error="ValueError")


async def test_after_a_clock_that_jumped_back_a_run_is_told(house: House) -> None:
    job = Watched(house.services, "sweep", nothing)
    await job()
    house.later(hours=-1)

    await job()

    run = await told(house)
    assert run is not None
    assert run.at_ms == house.now_ms
