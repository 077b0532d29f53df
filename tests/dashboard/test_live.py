"""Live regions: rendered once for all who see the same, only what changed is sent, nothing is missed."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from jinja2 import ChoiceLoader, DictLoader, FileSystemLoader
from starlette.datastructures import QueryParams

from dashboard import live as live_module
from dashboard.asked import Asked, Role
from dashboard.live import Live, event_of, known_of, region_of
from dashboard.page import Page, Values
from dashboard.pages import ORDER, pages
from dashboard.pulse import pulse_of
from dashboard.render import TEMPLATES, environment
from dashboard.shared import Shared
from dashboard.show import LastValues
from infra import keys
from infra.redis_port import RedisPort
from infra.texts import later
from tests.dashboard.house import NOW_MS, browser, shared_by


@dataclass(slots=True)
class Reads:
    """Values of a page of the tests: what is in a key; counts how often it was read."""

    redis: RedisPort
    n: int = 0
    asked: list[str] = field(default_factory=list[str])

    async def __call__(self, asked: Asked) -> Values:
        self.n += 1
        self.asked.append(asked.language)
        kinds = await self.redis.lrange("kinds", 0, -1)
        return {"kinds": [kind.decode() for kind in kinds]}


@pytest.fixture
async def shared(redis: RedisPort) -> Shared:
    return await shared_by(redis, {})


@pytest.fixture
def reads(redis: RedisPort) -> Reads:
    return Reads(redis)


@pytest.fixture
def page(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> Page:
    template = (
        "{% block kinds %}<ul>{% for kind in kinds %}\n<li>{{ kind }}</li>{% endfor %}</ul>{% endblock %}"
    )
    loader = ChoiceLoader(
        [DictLoader({"shown.html": template, "bad.html": template}), FileSystemLoader(TEMPLATES)]
    )
    monkeypatch.setattr(environment(), "loader", loader)
    return Page("shown", "/shown", later("System"), reads, live=("kinds",))


@asynccontextmanager
async def running(shared: Shared) -> AsyncGenerator[Live]:
    """The streams with the task that looks what changed."""
    live = Live(shared, LastValues())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(live.serve())
        yield live
        task.cancel()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "PULSE_S", 0.01)


def asked_of(shared: Shared, *, language: str = "en", role: Role = "admin", query: str = "") -> Asked:
    return Asked(shared, role, language, NOW_MS, QueryParams(query), path="/system")


async def next_event(events: AsyncGenerator[str]) -> str:
    """The next that holds a region."""
    async with asyncio.timeout(5):
        async for event in events:
            if not event.startswith(":"):
                return event
    raise AssertionError("the stream ended")


async def test_the_first_event_holds_all_regions(shared: Shared, page: Page, redis: RedisPort) -> None:
    await redis.rpush("kinds", "bot")
    async with running(shared) as live:
        events = live.events(page, asked_of(shared), {})
        event = await next_event(events)
        await events.aclose()

    assert event.startswith("id: kinds.")
    assert '<hx-partial hx-target="#kinds" hx-swap="innerMorph">' in event
    assert '<hx-partial hx-target="#rail"' in event
    assert event.endswith("\n\n")
    assert all(line.startswith(("id: ", "data: ")) for line in event.strip().split("\n"))


async def test_then_only_what_changed_is_sent(shared: Shared, page: Page, redis: RedisPort) -> None:
    async with running(shared) as live:
        events = live.events(page, asked_of(shared), {})
        await next_event(events)
        await redis.rpush("kinds", "bot")
        await redis.incr(keys.fence())
        event = await next_event(events)
        await events.aclose()

    assert event.count("<hx-partial") == 1
    assert "#kinds" in event
    assert "bot" in event


async def test_who_comes_again_gets_only_what_changed_meanwhile(
    shared: Shared, page: Page, redis: RedisPort
) -> None:
    async with running(shared) as live:
        first = live.events(page, asked_of(shared), {})
        seen = known_of((await next_event(first)).split("\n")[0].removeprefix("id: "))
        await first.aclose()
        again = live.events(page, asked_of(shared), seen)
        async with asyncio.timeout(5):
            nothing_new = await anext(again)
        await again.aclose()
        await redis.rpush("kinds", "worker")
        later_on = live.events(page, asked_of(shared), seen)
        event = await next_event(later_on)
        await later_on.aclose()

    assert nothing_new.startswith(":")
    assert event.count("<hx-partial") == 1


async def test_twenty_viewers_of_the_same_cost_one_rendering(
    shared: Shared, page: Page, reads: Reads, redis: RedisPort
) -> None:
    async with running(shared) as live:
        streams = [live.events(page, asked_of(shared), {}) for _ in range(20)]
        for events in streams:
            await next_event(events)
        before = reads.n
        assert live.viewers == 20
        await redis.rpush("kinds", "bot")
        await redis.incr(keys.fence())
        got = await asyncio.gather(*map(next_event, streams))
        for events in streams:
            await events.aclose()
        assert live.viewers == 0

    assert len(set(got)) == 1
    assert reads.n - before <= 2


async def test_each_language_role_and_query_is_a_view_of_its_own(
    shared: Shared, page: Page, reads: Reads
) -> None:
    async with running(shared) as live:
        streams = [
            live.events(page, asked_of(shared, language="de"), {}),
            live.events(page, asked_of(shared, role="reader"), {}),
            live.events(page, asked_of(shared, query="q=bot"), {}),
        ]
        german, *_ = [await next_event(events) for events in streams]
        for events in streams:
            await events.aclose()

    assert reads.n >= 3
    assert ">System</a>" in german
    assert reads.asked[0] == "de"


async def test_nobody_looks_nothing_is_read(
    shared: Shared, page: Page, reads: Reads, redis: RedisPort
) -> None:
    async with running(shared) as live:
        events = live.events(page, asked_of(shared), {})
        await next_event(events)
        await events.aclose()
        before = reads.n
        await redis.incr(keys.fence())
        await asyncio.sleep(0.03)
        pulses = await _pulses(redis)
        await asyncio.sleep(0.05)
        assert await _pulses(redis) == pulses

    assert reads.n == before


async def _pulses(redis: RedisPort) -> int:
    """How often this server was asked for the newest of a stream."""
    return int((await redis.info("commandstats"))["cmdstat_xrevrange"]["calls"])


async def test_a_quiet_house_renders_nothing(shared: Shared, page: Page, reads: Reads) -> None:
    async with running(shared) as live:
        events = live.events(page, asked_of(shared), {})
        await next_event(events)
        await asyncio.sleep(0.05)
        before = reads.n
        await asyncio.sleep(0.05)
        await events.aclose()

    assert reads.n == before


async def test_when_the_server_stops_the_streams_end(shared: Shared, page: Page) -> None:
    async with running(shared) as live:
        events = live.events(page, asked_of(shared), {})
        await next_event(events)
        live.close()
        async with asyncio.timeout(5):
            assert [event async for event in events] == []


async def test_a_page_that_fails_leaves_the_others_live(
    shared: Shared, page: Page, reads: Reads, redis: RedisPort
) -> None:
    async def broken(_asked: Asked) -> Values:
        raise ZeroDivisionError

    async with running(shared) as live:
        bad = live.events(Page("bad", "/bad", "Bad", broken, live=("kinds",)), asked_of(shared), {})
        async with asyncio.timeout(5):
            await anext(bad)
        good = live.events(page, asked_of(shared), {})
        await next_event(good)
        await redis.rpush("kinds", "bot")
        await redis.incr(keys.fence())
        assert "bot" in await next_event(good)
        await bad.aclose()
        await good.aclose()


@pytest.mark.parametrize("name", ORDER)
async def test_every_page_has_the_regions_it_names_also_in_an_empty_house(shared: Shared, name: str) -> None:
    (page,) = (page for page in pages() if page.name == name)
    live = Live(shared, LastValues())
    events = live.events(page, asked_of(shared), {})
    event = await next_event(events)
    await events.aclose()

    for region in page.live:
        assert f'hx-target="#{region.replace("_", "-")}"' in event


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("XADD", keys.life(), "*", "turn", "{}"), id="a turn ended"),
        pytest.param(("XADD", keys.audit(), "*", "action", "{}"), id="an action"),
        pytest.param(("ZADD", keys.inbox_queue(), 1, "in:7:42:0"), id="a message waits"),
        pytest.param(("INCR", keys.fence()), id="a turn began"),
        pytest.param(("ZADD", keys.dead(), 1, "home:u:1|x"), id="a dead letter"),
        pytest.param(("HSET", keys.paused(), "*", 1), id="a pause"),
        pytest.param(("ZADD", keys.alive("worker"), 1, "a-1"), id="a worker came"),
    ],
)
async def test_the_pulse_feels(shared: Shared, change: tuple[str | int, ...]) -> None:
    before = await pulse_of(shared)

    async with shared.redis.pipeline() as pipe:
        pipe.execute_command(*change)
        await pipe.execute()

    assert await pulse_of(shared) != before
    assert await pulse_of(shared) == await pulse_of(shared)


def test_an_event_is_lines_that_begin_with_data() -> None:
    event = event_of({"tiles": region_of("<p>a</p>\n<p>b\r\nid: x</p>")}, {"tiles": "1"})

    assert event == (
        'id: tiles.1\ndata: <hx-partial hx-target="#tiles" hx-swap="innerMorph"><p>a</p>\n'
        "data: <p>b\ndata: id: x</p></hx-partial>\n\n"
    )


@pytest.mark.parametrize(
    ("event_id", "known"),
    [("tiles.1,rail.2", {"tiles": "1", "rail": "2"}), ("", {}), ("x", {}), (",.,a.,.b", {})],
)
def test_an_id_is_read_back(event_id: str, known: dict[str, str]) -> None:
    assert known_of(event_id) == known


async def test_a_page_that_is_not_there_has_no_stream(shared: Shared) -> None:
    async with browser(shared) as client:
        answer = await client.get("/live/nowhere")

    assert answer.status_code == 404
