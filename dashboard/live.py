"""Live regions by server-sent events: what changed is rendered once for all who see the same, and only that is sent.

The id of an event says which content of each region the browser has then ("rail.1f2e3d4c,tiles.5b6a7988"); it comes back as
Last-Event-ID after a lost connection, so only what changed meanwhile is sent again.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dashboard.asked import Asked, asked_by
from dashboard.outage import Away, patient
from dashboard.page import Page
from dashboard.pulse import Pulse, pulse_of
from dashboard.rail import rail_of
from dashboard.render import blocks_of, frame, partial, render
from dashboard.shared import Shared
from dashboard.show import Handler, LastValues, values_now, view_of

PULSE_S = 1.0
"""How often is looked whether anything changed."""
STILL_S = 10.0
"""How often all is rendered though nothing changed: times in words grow."""
HEARTBEAT_S = 15.0
STREAM_S = 30 * 60.0
"""Then a stream ends and the browser comes again, so that a login that ran out ends it too."""
HEADERS = {"X-Accel-Buffering": "no", "Vary": "Cookie"}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Region:
    """What an element shows."""

    html: str
    digest: str


@dataclass(slots=True)
class Feed:
    """Everybody who sees the same."""

    page: Page
    asked: Asked
    viewers: int = 0
    regions: Mapping[str, Region] = field(default_factory=dict[str, Region])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, when a region changed."""


class Live:
    """All streams of this process, and the one task that looks what changed."""

    def __init__(self, shared: Shared, last: LastValues) -> None:
        self._shared, self._last = shared, last
        self._feeds: dict[object, Feed] = {}
        self._wanted = asyncio.Event()
        self._is_closed = False

    @property
    def viewers(self) -> int:
        """Streams that are open."""
        return sum(feed.viewers for feed in self._feeds.values())

    async def serve(self) -> None:
        """Look what changed, as long as somebody looks; until cancelled."""
        now, before, rendered_at = asyncio.get_running_loop().time, None, 0.0
        while True:
            await self._wanted.wait()
            pulse = await self._pulse()
            if pulse != before or pulse is None or now() - rendered_at >= STILL_S:
                before, rendered_at = pulse, now()
                for feed in list(self._feeds.values()):
                    await self._refresh(feed)
            await asyncio.sleep(PULSE_S)

    def close(self) -> None:
        """End all streams: the server stops."""
        self._is_closed = True
        for feed in self._feeds.values():
            feed.changed.set()

    def handler_of(self, page: Page) -> Handler:
        """GET /live/… of a page."""

        async def stream(request: Request) -> Response:
            known = known_of(request.headers.get("last-event-id", ""))
            events = self.events(page, asked_by(request), known)
            return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)

        return stream

    async def events(self, page: Page, asked: Asked, known: Mapping[str, str]) -> AsyncGenerator[str]:
        """What one browser gets. known: region → digest of what it has."""
        now = asyncio.get_running_loop().time
        ends_at, has = now() + STREAM_S, dict(known)
        with self._joined(page, asked) as feed:
            if not feed.regions:
                await self._refresh(feed)
            while not self._is_closed and now() < ends_at:
                changed = feed.changed
                new = {name: one for name, one in feed.regions.items() if has.get(name) != one.digest}
                has |= {name: one.digest for name, one in new.items()}
                yield event_of(new, has) if new else ": here\n\n"
                await _set_or(changed, HEARTBEAT_S)

    @contextmanager
    def _joined(self, page: Page, asked: Asked) -> Generator[Feed]:
        key = view_of(page, asked)
        feed = self._feeds.setdefault(key, Feed(page, asked))
        feed.viewers += 1
        self._wanted.set()
        try:
            yield feed
        finally:
            feed.viewers -= 1
            if not feed.viewers:
                self._feeds.pop(key, None)
            if not self._feeds:
                self._wanted.clear()

    async def _pulse(self) -> Pulse | None:
        """None: Redis is away."""
        try:
            async with patient():
                return await pulse_of(self._shared)
        except Away:
            return None

    async def _refresh(self, feed: Feed) -> None:
        """Render its regions; who waits for a change is woken if there is one."""
        asked = replace(feed.asked, now_ms=self._shared.clock())
        try:
            regions = await self._regions(feed.page, asked)
        except Exception:  # one page that fails leaves the others live
            log.exception("live_region_failed", page=feed.page.name)
            return
        if regions != feed.regions:
            feed.regions, waiting, feed.changed = regions, feed.changed, asyncio.Event()
            waiting.set()

    async def _regions(self, page: Page, asked: Asked) -> dict[str, Region]:
        context = frame(asked)
        try:
            context |= await values_now(page, asked, self._last)
        except Away:
            return {"outage": region_of(render("outage.html", context | {"stale": "?"}))}
        rail = await rail_of(asked)
        found = blocks_of(page, page.live, context | {"current": page.name})
        found["rail"] = render("rail.html", context | {"rail": rail, "current": page.name})
        found["outage"] = render("outage.html", context)
        return {name.replace("_", "-"): region_of(html) for name, html in found.items()}


def region_of(html: str) -> Region:
    """With its digest."""
    return Region(html, blake2b(html.encode(), digest_size=4).hexdigest())


def event_of(new: Mapping[str, Region], has: Mapping[str, str]) -> str:
    """One event: the changed regions, and as id what the browser has with them."""
    html = "".join(partial(name, region.html) for name, region in new.items())
    data = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"id: {','.join(f'{name}.{digest}' for name, digest in has.items())}\n{data}\n"


def known_of(event_id: str) -> dict[str, str]:
    """The id of an event, back: region → digest. Anything else is no region."""
    pairs = (part.partition(".") for part in event_id.split(","))
    return {name: digest for name, _, digest in pairs if name and digest}


async def _set_or(event: asyncio.Event, seconds: float) -> None:
    """Wait until it is set, or so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
