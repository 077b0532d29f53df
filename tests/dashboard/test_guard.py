"""What stands before every request: no action by GET, without login, from elsewhere, or as a reader."""

from dataclasses import replace
from pathlib import Path

import pytest
from starlette.routing import Route

from dashboard import pages
from dashboard.door import door_of
from dashboard.guard import (
    HEADERS,
    NO_SUCH_METHOD,
    NOT_FROM_HERE,
    NOT_LOGGED_IN,
    ONLY_LOOKS,
    OTHER_ORIGIN,
    Asking,
    Refusal,
    refusal_of,
)
from infra.redis_port import RedisPort
from infra.settings_sources import BadSetting
from tests.dashboard.house import HOST, OWN, PASSWORDS, browser, settings_of, shared_by

POST = Asking("POST", "/do/retry", host="koi.home", origin="https://koi.home", role="admin")
GET = Asking("GET", "/", host="koi.home", role="admin")
LOCAL = Asking("GET", "/", host="localhost:8420", role="admin")


@pytest.mark.parametrize(
    ("asking", "refusal"),
    [
        pytest.param(POST, None, id="admin, own page"),
        pytest.param(replace(POST, role=None), NOT_LOGGED_IN, id="nobody"),
        pytest.param(replace(POST, role="reader"), ONLY_LOOKS, id="reader"),
        pytest.param(replace(POST, role="reader", path="/look"), None, id="reader changes the look"),
        pytest.param(replace(POST, role="reader", path="/logout"), None, id="reader logs out"),
        pytest.param(replace(POST, origin="https://evil.example"), OTHER_ORIGIN, id="other origin"),
        pytest.param(replace(POST, origin="null"), OTHER_ORIGIN, id="hidden origin"),
        pytest.param(replace(POST, origin=""), OTHER_ORIGIN, id="no origin"),
        pytest.param(replace(POST, origin="", host=""), OTHER_ORIGIN, id="neither origin nor host"),
        pytest.param(replace(POST, origin="https://koi.home.evil.example"), OTHER_ORIGIN, id="longer origin"),
        pytest.param(replace(POST, origin="https://koi.home:8443"), OTHER_ORIGIN, id="other port"),
        pytest.param(replace(POST, origin="https://KOI.home"), None, id="names have no case"),
        pytest.param(
            replace(POST, origin="https://evil.example", fetch_site="cross-site"),
            OTHER_ORIGIN,
            id="cross-site",
        ),
        pytest.param(replace(POST, fetch_site="same-site"), OTHER_ORIGIN, id="a neighbour's subdomain"),
        pytest.param(replace(POST, fetch_site="none"), OTHER_ORIGIN, id="from nowhere"),
        pytest.param(
            replace(POST, host="127.0.0.1:8420", fetch_site="same-origin"),
            None,
            id="proxy with a Host of its own",
        ),
        pytest.param(
            replace(POST, path="/login", role=None, origin=""), OTHER_ORIGIN, id="login from elsewhere"
        ),
        pytest.param(replace(POST, path="/login", role=None), None, id="login"),
        pytest.param(replace(POST, method="PUT"), NO_SUCH_METHOD, id="PUT"),
        pytest.param(replace(POST, method="OPTIONS", role=None), NO_SUCH_METHOD, id="OPTIONS"),
        pytest.param(GET, None, id="admin looks"),
        pytest.param(replace(GET, role="reader"), None, id="reader looks"),
        pytest.param(replace(GET, role=None), NOT_LOGGED_IN, id="nobody looks"),
        pytest.param(replace(GET, role=None, path="/healthz"), None, id="probe"),
        pytest.param(replace(GET, role=None, path="/static/koi.css"), None, id="style"),
        pytest.param(replace(GET, role=None, path="/staticky"), NOT_LOGGED_IN, id="almost static"),
        pytest.param(replace(GET, role=None, path="/healthz/x"), NOT_LOGGED_IN, id="almost a probe"),
        pytest.param(replace(POST, path="/healthz"), NO_SUCH_METHOD, id="POST to a probe"),
    ],
)
def test_with_a_password_who_may_do_what(asking: Asking, refusal: Refusal | None) -> None:
    assert refusal_of(asking, is_open=False) == refusal


@pytest.mark.parametrize(
    ("asking", "refusal"),
    [
        pytest.param(LOCAL, None, id="localhost"),
        pytest.param(replace(LOCAL, host="127.0.0.1:8420"), None, id="127.0.0.1"),
        pytest.param(replace(LOCAL, host="127.8.0.1"), None, id="any loopback"),
        pytest.param(replace(LOCAL, host="[::1]:8420"), None, id="IPv6"),
        pytest.param(replace(LOCAL, host="LOCALHOST."), None, id="another writing"),
        pytest.param(replace(LOCAL, host="evil.example:8420"), NOT_FROM_HERE, id="a name that leads here"),
        pytest.param(replace(LOCAL, host="localhost.evil.example"), NOT_FROM_HERE, id="a name that begins so"),
        pytest.param(replace(LOCAL, host="127.0.0.1.evil.example"), NOT_FROM_HERE, id="a number that begins so"),
        pytest.param(replace(LOCAL, host="192.168.1.5:8420"), NOT_FROM_HERE, id="the house's network"),
        pytest.param(replace(LOCAL, host=""), NOT_FROM_HERE, id="no host"),
        pytest.param(replace(LOCAL, is_forwarded=True), NOT_FROM_HERE, id="through a proxy"),
        pytest.param(
            replace(POST, host="evil.example", origin="http://evil.example", fetch_site="same-origin"),
            NOT_FROM_HERE, id="rebinding",
        ),
        pytest.param(replace(LOCAL, host="10.0.0.9", path="/healthz"), None, id="probe"),
        pytest.param(
            replace(LOCAL, method="POST", origin="https://evil.example"), OTHER_ORIGIN, id="a page elsewhere"
        ),
    ],
)  # fmt: skip
def test_without_a_password_only_this_machine_may(asking: Asking, refusal: Refusal | None) -> None:
    assert refusal_of(asking, is_open=True) == refusal


# ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────
def actions() -> list[Route]:
    """Every route that is no GET."""
    return [route for route in pages.routes() if "POST" in (route.methods or ())]


def plain(path: str) -> str:
    """A path without parameters."""
    return path.replace("{", "").replace("}", "")


async def test_no_action_by_get(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS), role="admin") as client:
        statuses = {
            route.path: (await client.get(plain(route.path))).status_code
            for route in actions()
            if "GET" not in (route.methods or ())
        }
        statuses["/logout"] = (await client.get("/logout")).status_code
        statuses["/look"] = (await client.get("/look")).status_code

    assert set(statuses.values()) == {405}


@pytest.mark.parametrize(
    ("role", "headers", "status"),
    [
        pytest.param("", OWN, 401, id="without login"),
        pytest.param("reader", OWN, 403, id="as reader"),
        pytest.param("admin", {"Origin": "https://evil.example"}, 403, id="from another origin"),
        pytest.param("admin", {}, 403, id="from nowhere"),
    ],
)
async def test_no_action_for_who_may_not(
    redis: RedisPort, role: str, headers: dict[str, str], status: int
) -> None:
    paths = ["/do/anything", *(plain(route.path) for route in actions())]
    async with browser(await shared_by(redis, PASSWORDS), role=role) as client:
        statuses = {path: (await client.post(path, headers=headers)).status_code for path in paths}

    assert set(statuses.values()) == {status}, statuses


async def test_every_answer_carries_the_headers(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        answers = [
            await client.get(path) for path in ("/", "/login", "/healthz", "/static/koi.css", "/static/no")
        ]

    for answer in answers:
        assert HEADERS.items() <= {name.title(): value for name, value in answer.headers.items()}.items()
    assert answers[0].headers["cache-control"] == "no-store"
    assert "immutable" in answers[3].headers["cache-control"]
    assert answers[4].headers["cache-control"] == "no-store"


async def test_styles_and_scripts_are_sent_compressed_and_pages_as_they_are(redis: RedisPort) -> None:
    """Pages are not, since they hold what people wrote beside what an address asks for (BREACH)."""
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        style, page = [await client.get(path) for path in ("/static/koi.css", "/login")]

    assert style.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in page.headers


def test_the_policy_lets_no_script_but_our_files_run() -> None:
    policy = HEADERS["Content-Security-Policy"]

    assert policy.startswith("default-src 'self';")
    assert "script-src" not in policy
    assert "unsafe-eval" not in policy
    assert policy.count("unsafe-inline") == 1
    assert "style-src-attr 'unsafe-inline'" in policy


async def test_under_htmx_who_is_out_is_asked_to_log_in_and_who_may_not_is_told(redis: RedisPort) -> None:
    shared = await shared_by(redis, PASSWORDS)
    async with browser(shared) as client:
        out = await client.get("/system", headers={"HX-Request": "true"})
    async with browser(shared, role="reader") as client:
        told = await client.post("/do/retry", headers=OWN | {"HX-Request": "true"})

    assert out.headers["hx-refresh"] == "true"
    assert told.headers["hx-reswap"] == "none"
    assert '<hx-partial hx-target="#notice"' in told.text


async def test_without_a_password_a_rebound_name_sees_nothing(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, {})) as client:
        here = await client.get("/system")
        there = await client.get("/system", headers={"Host": "evil.example:8420"})

    assert here.status_code == 200
    assert there.status_code == 403
    assert "KOI_DASHBOARD_PASSWORD" in there.text


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/vendor/../../app.py", "/static//etc/passwd"],
)
async def test_static_files_are_those_of_the_folder(redis: RedisPort, path: str) -> None:
    async with browser(await shared_by(redis, {})) as client:
        answer = await client.get(path)

    assert answer.status_code == 404


async def test_a_form_is_bounded_before_it_is_read(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        large = await client.post("/login", data={"password": "x" * 1_100_000}, headers=OWN)
        parts = await client.post("/login", files={"password": b"carp"}, headers=OWN)
        fields = await client.post("/login", data={f"f{n}": "x" for n in range(6001)}, headers=OWN)

    assert [large.status_code, parts.status_code, fields.status_code] == [413, 415, 400]


async def test_errors_are_in_words_and_in_the_language_of_the_house(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, {"KOI_LANGUAGE": "de"})) as client:
        answer = await client.get("/nowhere")

    assert answer.status_code == 404
    assert "Diese Seite gibt es nicht." in answer.text
    assert f"http://{HOST}" not in answer.text


# ── the door ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("bind", ["0.0.0.0:8420", "192.168.1.5:8420", "[::]:8420", "koi.home:80"])
def test_a_wider_bind_without_a_password_is_refused(bind: str) -> None:
    with pytest.raises(BadSetting, match="KOI_DASHBOARD_PASSWORD is not set"):
        door_of(settings_of({"KOI_DASHBOARD_BIND": bind}))
    assert not door_of(settings_of({"KOI_DASHBOARD_BIND": bind} | PASSWORDS)).is_open


@pytest.mark.parametrize("bind", ["127.0.0.1:0", "localhost:8420", "[::1]:8420"])
def test_on_this_machine_no_password_is_needed(bind: str) -> None:
    assert door_of(settings_of({"KOI_DASHBOARD_BIND": bind})).is_open


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"KOI_DASHBOARD_READER_PASSWORD": "roach"}, "KOI_DASHBOARD_PASSWORD is not set"),
        (
            {"KOI_DASHBOARD_PASSWORD": "carp", "KOI_DASHBOARD_READER_PASSWORD": "carp"},
            "must not be the same",
        ),
        ({"KOI_DASHBOARD_BIND": "127.0.0.1:70000"}, "its port must be at most 65535"),
    ],
)
def test_what_makes_no_sense_is_refused(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadSetting, match=sentence):
        door_of(settings_of(environ))


def test_passwords_may_stand_in_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("carp\n")

    settings = settings_of({"KOI_DASHBOARD_PASSWORD_FILE": str(tmp_path / "secret")})

    assert settings.dashboard_password.get_secret_value() == "carp"
