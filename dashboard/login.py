"""Logging in: passwords, the session cookie, and how often somebody may be wrong."""

import hmac
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from pathlib import Path

from itsdangerous import BadSignature, TimestampSigner
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from dashboard.asked import LANGUAGE_COOKIE, THEME_COOKIE, THEMES, Role, language_of
from dashboard.figures import span_text
from dashboard.forms import form_of
from dashboard.render import alone, own_path
from dashboard.shared import Shared, shared_of
from dashboard.texts import languages, say
from infra import keys
from infra.clock import ms
from infra.redis_port import RedisPort
from infra.scripts import Script
from infra.settings import Settings

SESSION_COOKIE = "koi_session"
ROLES: tuple[Role, ...] = ("admin", "reader")
TRIES, ALL_TRIES, WINDOW_MS = 5, 60, 5 * 60_000
"""Wrong passwords of one address, and of all together, in five minutes: at most 17,000 a day."""
SECRET_BYTES = 32
SECRET_MS = 400 * 24 * 3_600_000
LOOK_S = 400 * 24 * 3600
"""How long a browser may keep the language and the look (the most that browsers allow)."""

_TRY = Script(Path(__file__).with_name("login_try.lua"))
_FORGIVE = Script(Path(__file__).with_name("login_forgive.lua"))


# ── the cookie ───────────────────────────────────────────────────────────────────────────────────────────────────
async def load_secret(redis: RedisPort, random_bytes: Callable[[int], bytes]) -> bytes:
    """The secret that all dashboards of this Redis share; made by the first one.

    It keeps whoever has a cookie from trying passwords against its signature. Raises what redis-py raises.
    """
    key = keys.dashboard_secret()
    await redis.set(key, random_bytes(SECRET_BYTES), px=SECRET_MS, nx=True)
    await redis.pexpire(key, SECRET_MS)
    return await redis.get(key) or b""


def signing_key(secret: bytes, settings: Settings) -> bytes:
    """Depends on both passwords: who changes one logs everybody out."""
    passwords = (settings.dashboard_password, settings.dashboard_reader_password)
    said = "".join(f"{len(one.get_secret_value())}:{one.get_secret_value()}" for one in passwords)
    return hmac.digest(secret, said.encode(), "sha256")


class Signer(TimestampSigner):
    """Signs a role with the time of koi's clock."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared.signing_key, salt="koi.session", digest_method=sha256)
        self._clock = shared.clock

    def get_timestamp(self) -> int:
        return self._clock() // 1000


def role_of(request: HTTPConnection) -> Role | None:
    """Who the cookie says it is; None: nobody, or not any more. Without a password everybody is the admin."""
    shared = shared_of(request)
    if shared.door.is_open:
        return "admin"
    try:
        age_s = ms(shared.settings.dashboard.login) // 1000
        value = Signer(shared).unsign(request.cookies.get(SESSION_COOKIE, ""), max_age=age_s).decode()
    except BadSignature:  # also: expired, from the future, none
        return None
    return next((role for role in ROLES if role == value), None)


# ── the password ─────────────────────────────────────────────────────────────────────────────────────────────────
def role_for(password: str, settings: Settings) -> Role | None:
    """Whose password it is. Takes as long for a wrong one as for a right one."""
    given = sha256(password.encode("utf-8", "surrogatepass")).digest()
    role: Role | None = None
    passwords = (settings.dashboard_password, settings.dashboard_reader_password)
    for one, meant in zip(ROLES, passwords, strict=True):
        known = meant.get_secret_value()
        if hmac.compare_digest(given, sha256(known.encode()).digest()) and known:
            role = role or one
    return role


async def let_in(shared: Shared, address: str, password: str) -> Role | int | None:
    """The role; None: wrong; a number: how many ms to wait, since too many were wrong. The password is not looked at then.

    Raises what redis-py raises: without the counters nobody gets in.
    """
    counters = [keys.login_tries(network_of(address)), keys.login_tries("*")]
    wait_ms = int(await _TRY(shared.redis, counters, [TRIES, ALL_TRIES, WINDOW_MS]))
    if wait_ms:
        return wait_ms
    role = role_for(password, shared.settings)
    if role:
        await _FORGIVE(shared.redis, counters, [])
    return role


def network_of(address: str) -> str:
    """An IPv4 address; of an IPv6 address its /64, which one household has whole; "?" for none."""
    try:
        found = ip_address(address)
    except ValueError:
        return "?"
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or ip_network(f"{found}/64", strict=False).network_address)


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────
async def login_page(request: Request, *, status: int = 200, trouble: str = "", back: str = "") -> Response:
    """The form. back: where to go then; default: the page that was asked for."""
    where = back or (request.url.path + (f"?{request.url.query}" if request.url.query else ""))
    return alone(request, "login.html", status, back=own_path(where), trouble=trouble)


async def show_login(request: Request) -> Response:
    """GET /login."""
    if role_of(request):
        return RedirectResponse("/", 303)
    return await login_page(request, back="/")


async def log_in(request: Request) -> Response:
    """POST /login: password, back."""
    shared, form = shared_of(request), await form_of(request)
    language = language_of(request, shared.settings.language)
    back = own_path(form.one("back"))
    address = request.client.host if request.client else ""
    match await let_in(shared, address, form.one("password")):
        case None:
            trouble = say(language, "That is not the password.")
            return await login_page(request, status=HTTPStatus.UNAUTHORIZED, trouble=trouble, back=back)
        case int(wait_ms):
            trouble = say(
                language, "Too many wrong passwords. Try again in {span}.", span=span_text(wait_ms, language)
            )
            page = await login_page(request, status=HTTPStatus.TOO_MANY_REQUESTS, trouble=trouble, back=back)
            page.headers["Retry-After"] = str(wait_ms // 1000 + 1)
            return page
        case role:
            response = RedirectResponse(back, 303)
            _keep(request, response, SESSION_COOKIE, Signer(shared).sign(role).decode(), _age_s(shared))
            return response


async def log_out(_request: Request) -> Response:
    """POST /logout."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(SESSION_COOKIE)
    return response


async def change_look(request: Request) -> Response:
    """POST /look: language, theme, back."""
    form = await form_of(request)
    response = RedirectResponse(own_path(form.one("back")), 303)
    if (language := form.one("language")) in languages():
        _keep(request, response, LANGUAGE_COOKIE, language, LOOK_S)
    if (theme := form.one("theme")) in THEMES:
        _keep(request, response, THEME_COOKIE, theme, LOOK_S)
    return response


def _keep(request: Request, response: Response, name: str, value: str, age_s: int) -> None:
    """Set a cookie that only our own pages send, and no script reads. Secure where TLS is, also before a proxy."""
    is_tls = "https" in {request.url.scheme, request.headers.get("x-forwarded-proto", "")}
    response.set_cookie(name, value, max_age=age_s, httponly=True, samesite="strict", secure=is_tls)


def _age_s(shared: Shared) -> int:
    return ms(shared.settings.dashboard.login) // 1000
