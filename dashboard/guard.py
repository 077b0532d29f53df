"""Stands before every request: who it is from, what they may do, and the headers that every answer carries."""

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.asked import Role
from dashboard.door import host_of, is_loopback
from dashboard.login import login_page, role_of
from dashboard.render import refused
from dashboard.shared import shared_of
from infra.texts import later

PROBES = ("/healthz", "/readyz")
"""Open to everybody: they say only whether koi is well."""
OWN_DOOR = ("/login", "/metrics")
"""They ask for the password themselves."""
FOR_READERS = ("/logout", "/look")
"""All that a reader may POST: it changes only what this reader sees."""
STATIC = "/static/"
READS = ("GET", "HEAD")

POLICY = "; ".join((
    "default-src 'self'",
    "style-src-attr 'unsafe-inline'",  # widths of bars and blocks
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
))  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # not no-referrer: then forms are sent with `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Asking:
    """What the decision needs of a request."""

    method: str
    path: str
    host: str = ""
    """Header Host."""
    origin: str = ""
    fetch_site: str = ""
    """Header Sec-Fetch-Site: a browser says it, a page cannot forge it."""
    is_forwarded: bool = False
    """It came through a proxy."""
    role: Role | None = None
    """Of the session cookie."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request goes no further; sentence and advice are msgids."""

    status: HTTPStatus
    sentence: str
    advice: str = ""


NOT_FROM_HERE = Refusal(
    HTTPStatus.FORBIDDEN,
    later("Without a password the dashboard is only for this machine."),
    later(
        "Open it as http://localhost or http://127.0.0.1, or set KOI_DASHBOARD_PASSWORD where koi runs and start it again."
    ),
)
OTHER_ORIGIN = Refusal(
    HTTPStatus.FORBIDDEN,
    later("This was not sent from a page of the dashboard."),
    later("Nothing was changed. A proxy in front of koi must pass on the Host header."),
)
NO_SUCH_METHOD = Refusal(
    HTTPStatus.METHOD_NOT_ALLOWED, later("This cannot be done that way."), later("Nothing was changed.")
)
NOT_LOGGED_IN = Refusal(HTTPStatus.UNAUTHORIZED, later("Log in first."))
ONLY_LOOKS = Refusal(
    HTTPStatus.FORBIDDEN,
    later("With the reader's password you may look at everything and change nothing."),
    later("Nothing was changed."),
)


def refusal_of(asking: Asking, *, is_open: bool) -> Refusal | None:
    """None: it may go on. is_open: there is no password.

    The Host is looked at where no password stands before the pages: a name of somebody else's that leads to this machine
    (DNS rebinding) would make any web page the admin. A proxy makes others look like this machine.
    """
    posts, has_own_door = asking.method == "POST", asking.path in OWN_DOOR or asking.path.startswith(STATIC)
    if asking.path in PROBES:
        return None if asking.method in READS else NO_SUCH_METHOD
    checks = (
        (is_open and (asking.is_forwarded or not is_loopback(host_of(asking.host))), NOT_FROM_HERE),
        (not posts and asking.method not in READS, NO_SUCH_METHOD),
        (posts and not is_same_origin(asking), OTHER_ORIGIN),
        (not has_own_door and asking.role is None, NOT_LOGGED_IN),
        (
            posts and not has_own_door and asking.role != "admin" and asking.path not in FOR_READERS,
            ONLY_LOOKS,
        ),
    )
    return next((refusal for is_wrong, refusal in checks if is_wrong), None)


def is_same_origin(asking: Asking) -> bool:
    """Was it sent by a page of ours? Who says nothing about where it comes from is refused."""
    if asking.fetch_site:
        return asking.fetch_site == "same-origin"
    return bool(asking.host) and urlsplit(asking.origin).netloc.lower() == asking.host.lower()


class Guard:
    """The outermost layer of the app. Puts the role into `scope["koi.role"]`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        shared = shared_of(request)
        role = role_of(request)
        refusal = refusal_of(asking_of(request, role), is_open=shared.door.is_open)
        scope["koi.role"] = role or "reader"
        app = self._app if refusal is None else await _answer_of(refusal, request)
        await app(scope, receive, _with_headers(send))


def asking_of(request: Request, role: Role | None) -> Asking:
    """What the decision needs."""
    headers = request.headers
    return Asking(
        request.method,
        request.url.path,
        host=headers.get("host", ""),
        origin=headers.get("origin", ""),
        fetch_site=headers.get("sec-fetch-site", ""),
        is_forwarded="x-forwarded-for" in headers or "forwarded" in headers,
        role=role,
    )


async def _answer_of(refusal: Refusal, request: Request) -> ASGIApp:
    if refusal is not NOT_LOGGED_IN:
        return await refused(request, refusal.status, refusal.sentence, refusal.advice)
    back = "" if request.method == "GET" else "/"
    response = await login_page(request, status=refusal.status, back=back)
    response.headers["HX-Refresh"] = "true"
    return response


def _with_headers(send: Send) -> Send:
    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_on
