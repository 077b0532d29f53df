"""The settings in force, and how their users hear that they changed."""

import asyncio

from infra.current import Current
from infra.settings import Settings

OLD, NEW, NEWEST = Settings(language="en"), Settings(language="de"), Settings(language="fr")


async def test_whoever_saw_old_settings_gets_the_new_ones_at_once() -> None:
    current = Current(OLD)
    current.replace(NEW)

    assert await current.other_than(OLD) is NEW
    assert current.settings is NEW


async def test_everybody_who_waits_hears_of_a_change() -> None:
    current = Current(OLD)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(current.other_than(OLD)) for _ in range(2)]
        await asyncio.sleep(0)
        current.replace(NEW)

    assert [task.result() for task in waiting] == [NEW, NEW]


async def test_changes_in_between_may_be_passed_over() -> None:
    current = Current(OLD)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(current.other_than(OLD))
        await asyncio.sleep(0)
        current.replace(NEW)
        current.replace(NEWEST)

    assert waiting.result() is NEWEST
