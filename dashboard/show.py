"""Show a page: read its values, render it, and keep the last values for when Redis is away."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dashboard.asked import LIVE, Asked, asked_by
from dashboard.figures import clock_text
from dashboard.outage import Away, patient
from dashboard.page import Page, Values
from dashboard.render import page as render_page
from dashboard.render import partial, render, wanted_region

KEPT = 32
KEPT_MS = 15 * 60_000
"""How many pages, and how long, their last values are kept."""

type Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a page showed last."""

    at_ms: int
    values: Values


@dataclass(frozen=True, slots=True)
class LastValues:
    """The newest values of the pages that were looked at. Their texts are not shown again: they may be forgotten since."""

    _seen: OrderedDict[object, Seen] = field(default_factory=OrderedDict[object, Seen])

    def put(self, key: object, seen: Seen) -> None:
        """Keep it, and drop what is too much."""
        self._seen[key] = seen
        self._seen.move_to_end(key)
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)

    def get(self, key: object, now_ms: int) -> Seen | None:
        """Of a page; None: it was not looked at lately."""
        found = self._seen.get(key)
        return found if found and now_ms - found.at_ms <= KEPT_MS else None


async def values_now(page: Page, asked: Asked, last: LastValues) -> dict[str, Any]:
    """The values of a page; with Redis away the last ones, with `stale` saying of when ("12:03") and no texts.

    Raises: Away: there are none.
    """
    key = view_of(page, asked)
    try:
        async with patient():
            values = await page.values(asked)
    except Away:
        seen = last.get(key, asked.now_ms)
        if seen is None:
            raise
        return {
            **seen.values,
            "stale": clock_text(seen.at_ms, asked.shared.zone),
            "shows_texts": False,
        }
    last.put(key, Seen(asked.now_ms, values))
    return dict(values)


def view_of(page: Page, asked: Asked) -> tuple[object, ...]:
    """Who sees the same: one page, one question, one language, one role."""
    return (page.name, tuple(asked.parts.items()), str(asked.query), asked.language, asked.role)


def handler_of(page: Page, last: LastValues) -> Handler:
    """GET of a page."""

    async def show(request: Request) -> Response:
        asked = asked_by(request)
        values = await values_now(page, asked, last)
        live_url = LIVE + asked.here if page.live else ""
        response = await render_page(request, page.template, **values, current=page.name, live_url=live_url)
        if live_url and wanted_region(request.headers) in page.live:
            more = partial("live", render("live.html", {"live_url": live_url}), "outerHTML")
            response.body = bytes(response.body) + more.encode()
            response.headers["Content-Length"] = str(len(response.body))
        return response

    return show
