"""A real koi answers, falls back, fails and tries again; every number of every page is what the run counted itself. The same with
5,000 messages: bench.dashboard.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
import pytest_asyncio

from bench.dashboard import SETTLE_S, started
from bench.dashboard_check import Compared, compare
from bench.dashboard_run import BOTS, FIRST_PERSON, Truth, run
from bench.dashboard_seen import agrees, numbers, region, rows, tiles
from bench.house import House
from dashboard.actions import Pause, Resume, field_of
from infra.pause import EVERYTHING, paused
from tests.system.koi import all_done, until

pytestmark = [pytest.mark.system, pytest.mark.asyncio(loop_scope="module")]

MESSAGES, PEOPLE, WAITING = 60, 10, 4


@dataclass(frozen=True, slots=True)
class Story:
    truth: Truth
    compared: Compared
    paused: dict[str, str]
    """Pages while nothing was begun and some messages waited."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def story() -> AsyncIterator[Story]:
    async with started(PEOPLE) as house:
        truth = await run(house, messages=MESSAGES, people=PEOPLE)
        await asyncio.sleep(SETTLE_S)
        async with house.browsing() as client:
            compared = await compare(client, truth)
            yield Story(truth, compared, await while_paused(house, client))


async def while_paused(house: House, client: httpx.AsyncClient) -> dict[str, str]:
    """Pages with messages of WAITING people, and one more of the first, that nobody begins."""
    await client.post("/do/pause", data={"target": field_of(Pause(EVERYTHING))})
    for nth in (*range(WAITING), 0):
        house.telegram.say(BOTS["home"], FIRST_PERSON + nth, "/help")
    await until(lambda: _waiting(client, WAITING + 1), what="messages that wait")
    pages = {
        path: (await client.get(path)).text for path in ("/", "/messages", "/chats", "/system", "/metrics")
    }
    since_ms = (await paused(house.redis)).since_ms[EVERYTHING]
    await client.post("/do/resume", data={"target": field_of(Resume(EVERYTHING, since_ms))})
    await until(lambda: all_done(house.redis), what="the answers")
    return pages


async def _waiting(client: httpx.AsyncClient, count: int) -> bool:
    return tiles((await client.get("/")).text)["Waiting"].value == str(count)


async def test_every_number_of_every_page_is_what_the_run_counted(story: Story) -> None:
    assert story.compared.differing == []
    assert story.compared.count > 200


async def test_the_run_had_every_kind_of_message(story: Story) -> None:
    truth = story.truth

    assert truth.written >= MESSAGES
    assert truth.failed
    assert truth.failed_attempts
    assert truth.commands.total()
    assert len(truth.answered_by("first")) > len(truth.failed)
    assert truth.answered_by("second")
    assert truth.answered_by("free")


async def test_what_waits_is_counted_alike_on_every_page(story: Story) -> None:
    pages, waits = story.paused, WAITING + 1

    assert numbers(tiles(pages["/"])["Waiting"].value) == [waits]
    assert f"{waits} messages wait and are kept." in region(pages["/"], "strip")
    assert f"{waits} wait or run" in region(pages["/messages"], "found")
    assert f"Waiting {waits}" in region(pages["/system"], "queues")
    assert f'koi_lanes{{state="parked"}} {WAITING}.0' in pages["/metrics"]
    heading = f"{PEOPLE} chats"
    here = [row["Now"] for row in rows(pages["/chats"], heading) if row["Now"] != "–"]
    assert sorted(here) == ["paused 1"] * (WAITING - 1) + ["paused 2"]


@pytest.mark.parametrize(
    ("said", "expected", "is_so"),
    [
        ("$0.0041", [0.00412], True),
        ("$0.0041", [0.00416], False),
        ("1,234 · p90 7", [1234, 7], True),
        ("–", [None], True),
        ("–", [0], False),
        ("0", [None], False),
        ("10%", [9.6], True),
        ("3 of 4", [3], False),
    ],
)
async def test_a_number_agrees_to_the_last_digit_that_is_shown(
    said: str, expected: list[float | None], is_so: bool
) -> None:
    assert agrees(said, expected) is is_so
