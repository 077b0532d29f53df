"""The web application: pages, their live regions, login, probes, and errors in people's words."""

from http import HTTPStatus

import structlog
from redis.exceptions import RedisError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from dashboard import login, pages, probes
from dashboard.asked import LIVE
from dashboard.assets import Assets
from dashboard.guard import Guard
from dashboard.live import Live
from dashboard.metrics import Metrics
from dashboard.outage import Away
from dashboard.render import refused
from dashboard.shared import Shared
from dashboard.show import LastValues, handler_of
from infra.outage import is_outage
from infra.texts import later

NOTHING_CHANGED = later("Nothing was changed.")
SENTENCES = {
    HTTPStatus.BAD_REQUEST: (later("This cannot be read."), NOTHING_CHANGED),
    HTTPStatus.FORBIDDEN: (later("You may not do this."), NOTHING_CHANGED),
    HTTPStatus.NOT_FOUND: (
        later("There is no such page."),
        later("It may have been about something that has expired or was forgotten."),
    ),
    HTTPStatus.METHOD_NOT_ALLOWED: (later("This cannot be done that way."), NOTHING_CHANGED),
    HTTPStatus.CONFLICT: (
        later("It has changed meanwhile."),
        later("Nothing was changed. Look at it again, then decide."),
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (later("That is too much at once."), NOTHING_CHANGED),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: (later("This cannot be read."), NOTHING_CHANGED),
}
"""What an error means: headline and advice, msgids."""
AWAY = (
    later("Redis cannot be reached."),
    later(
        "Nothing that was confirmed is lost; messages are answered when it is back. See whether it runs: "
        "docker compose ps. This page can be opened again in a moment."
    ),
)
BROKEN = (
    later("This page could not be made."),
    later(
        "That is a fault in koi; the log of the dashboard says where. The other pages are not touched by it."
    ),
)

log = structlog.get_logger()


def make_app(shared: Shared, *, live: Live | None = None, last: LastValues | None = None) -> Starlette:
    """The application. live: its streams, whose task somebody else runs; None: they show what was when they began."""
    last = last or LastValues()
    app = Starlette(
        routes=routes(live or Live(shared, last), last),
        middleware=[Middleware(Guard)],
        exception_handlers={
            HTTPException: _refuse,
            Away: _away,
            RedisError: _redis_failed,
            Exception: _broken,
        },
    )
    app.state.shared = shared
    return app


def routes(live: Live, last: LastValues) -> list[BaseRoute]:
    """All there are."""
    found: list[BaseRoute] = [
        Route("/healthz", probes.alive, methods=["GET"]),
        Route("/readyz", probes.ready, methods=["GET"]),
        Route("/metrics", Metrics().show, methods=["GET"]),
        Route("/login", login.show_login, methods=["GET"]),
        Route("/login", login.log_in, methods=["POST"]),
        Route("/logout", login.log_out, methods=["POST"]),
        Route("/look", login.change_look, methods=["POST"]),
        Mount("/static", GZipMiddleware(Assets(), minimum_size=1_000)),
    ]
    for page in pages.pages():
        found.append(Route(page.path, handler_of(page, last), methods=["GET"], name=page.name))
        if page.live:
            found.append(Route(LIVE + page.path, live.handler_of(page), methods=["GET"]))
    return [*found, *pages.routes()]


async def _refuse(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.BAD_REQUEST
    sentence, advice = SENTENCES.get(HTTPStatus(status), SENTENCES[HTTPStatus.BAD_REQUEST])
    response = await refused(request, status, sentence, advice)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


async def _away(request: Request, _error: Exception) -> Response:
    return await refused(request, HTTPStatus.SERVICE_UNAVAILABLE, *AWAY)


async def _redis_failed(request: Request, error: Exception) -> Response:
    if isinstance(error, RedisError) and is_outage(error):
        return await _away(request, error)
    return await _broken(request, error)


async def _broken(request: Request, error: Exception) -> Response:
    log.error("page_failed", path=request.url.path, exc_info=error)
    return await refused(request, HTTPStatus.INTERNAL_SERVER_ERROR, *BROKEN)
