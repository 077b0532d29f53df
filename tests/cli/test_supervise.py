"""Parts of one process that fail and are started again."""

import asyncio
from dataclasses import dataclass, field

import pytest

from cli.supervise import LAST_PAUSE_S, Part, pause_after, supervise
from infra.settings import BadSetting


@dataclass
class Told:
    """What was said about failures."""

    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def __call__(self, part: str, fault: Exception | None, _pause_s: float) -> None:
        self.lines.append((part, str(fault) if fault else "ended"))


async def test_a_part_that_fails_is_started_again_alone() -> None:
    stop, told, starts = asyncio.Event(), Told(), {"shaky": 0, "calm": 0}

    async def shaky() -> None:
        starts["shaky"] += 1
        if starts["shaky"] == 3:
            stop.set()
            return
        raise RuntimeError("gone")

    async def calm() -> None:
        starts["calm"] += 1
        await stop.wait()

    await supervise([Part("shaky", shaky), Part("calm", calm)], stop, told, pause_s=lambda _: 0)

    assert starts == {"shaky": 3, "calm": 1}
    assert told.lines == [("shaky", "gone"), ("shaky", "gone")]


async def test_a_part_that_ends_by_itself_is_started_again_too() -> None:
    stop, told, starts = asyncio.Event(), Told(), 0

    async def ends() -> None:
        nonlocal starts
        starts += 1
        if starts == 2:
            stop.set()

    await supervise([Part("ends", ends)], stop, told, pause_s=lambda _: 0)

    assert told.lines == [("ends", "ended")]


async def test_a_bad_setting_ends_everything() -> None:
    stop, told = asyncio.Event(), Told()

    async def wrong() -> None:
        raise BadSetting("KOI_MODEL is wrong")

    with pytest.raises(ExceptionGroup) as raised:
        await supervise([Part("wrong", wrong), Part("calm", lambda: asyncio.sleep(60))], stop, told)

    assert raised.group_contains(BadSetting)
    assert told.lines == []


async def test_stop_ends_the_pause_before_the_next_start() -> None:
    stop = asyncio.Event()

    async def fails() -> None:
        raise RuntimeError

    def stops(_part: str, _fault: Exception | None, _pause_s: float) -> None:
        stop.set()

    async with asyncio.timeout(5):
        await supervise([Part("fails", fails)], stop, stops, pause_s=lambda _: 3600)


def test_the_pause_doubles_up_to_a_minute() -> None:
    assert [pause_after(n) for n in (1, 2, 3, 4)] == [1, 2, 4, 8]
    assert pause_after(100) == LAST_PAUSE_S
