"""Logging in: who gets a cookie, how long it is good, and how often somebody may be wrong."""

import pytest

from dashboard.login import (
    ALL_TRIES,
    SESSION_COOKIE,
    TRIES,
    WINDOW_MS,
    Signer,
    network_of,
    role_for,
)
from infra import keys
from infra.redis_port import RedisPort
from tests.dashboard.house import OWN, PASSWORDS, Hands, browser, settings_of, shared_by

WEEK_MS = 7 * 24 * 3_600_000


# ── C49 ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("path", ["/jobs", "/", "/system", "/live/system", "/metrics", "/message/1"])
async def test_without_a_login_nothing_is_shown(redis: RedisPort, path: str) -> None:  # C49
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        answer = await client.get(path)

    assert answer.status_code == 401
    assert "rail" not in answer.text


async def test_the_login_page_brings_back_to_what_was_asked_for(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        asked = await client.get("/messages?q=chat:anna")
        answer = await client.post(
            "/login", data={"password": "carp", "back": "/messages?q=chat:anna"}, headers=OWN
        )

    assert 'name="back" value="/messages?q=chat:anna"' in asked.text
    assert (answer.status_code, answer.headers["location"]) == (303, "/messages?q=chat:anna")


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a\nb"]
)
async def test_a_login_leads_nowhere_else(redis: RedisPort, back: str) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        answer = await client.post("/login", data={"password": "carp", "back": back}, headers=OWN)

    assert answer.headers["location"] == "/"


# ── the cookie ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("password", "may_post"), [("carp", True), ("roach", False)], ids=["admin", "reader"]
)
async def test_each_password_has_its_role(redis: RedisPort, password: str, may_post: bool) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        await client.post("/login", data={"password": password}, headers=OWN)
        looked = await client.get("/system")
        posted = await client.post("/nothing-there", headers=OWN)

    assert looked.status_code == 200
    assert posted.status_code == (404 if may_post else 403)


async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        plain = await client.post("/login", data={"password": "carp"}, headers=OWN)
        behind = await client.post(
            "/login", data={"password": "carp"}, headers=OWN | {"X-Forwarded-Proto": "https"}
        )

    cookie = plain.headers["set-cookie"].lower()
    assert cookie.startswith(f"{SESSION_COOKIE}=")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert f"max-age={WEEK_MS // 1000}" in cookie
    assert "secure" not in cookie
    assert "secure" in behind.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    ("later_ms", "status"), [(WEEK_MS - 1000, 200), (WEEK_MS + 2000, 401)], ids=["in time", "too late"]
)
async def test_a_login_lasts_as_long_as_it_is_set_to(redis: RedisPort, later_ms: int, status: int) -> None:
    clock = Hands()
    async with browser(await shared_by(redis, PASSWORDS, clock)) as client:
        await client.post("/login", data={"password": "carp"}, headers=OWN)
        clock.now_ms += later_ms
        answer = await client.get("/system")

    assert answer.status_code == status


@pytest.mark.parametrize("changed", sorted(PASSWORDS))
async def test_a_changed_password_logs_everybody_out(redis: RedisPort, changed: str) -> None:
    before, after = await shared_by(redis, PASSWORDS), await shared_by(redis, PASSWORDS | {changed: "tench"})
    async with browser(after) as client:
        client.cookies.set(SESSION_COOKIE, Signer(before).sign("admin").decode())
        answer = await client.get("/system")

    assert answer.status_code == 401


@pytest.mark.parametrize("forged", ["admin", "admin.aaaa.bbbb", "", "reader"])
async def test_a_cookie_that_was_not_signed_here_is_none(redis: RedisPort, forged: str) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        client.cookies.set(SESSION_COOKIE, forged)
        answer = await client.get("/system")

    assert answer.status_code == 401


async def test_a_role_cannot_be_changed_in_the_cookie(redis: RedisPort) -> None:
    shared = await shared_by(redis, PASSWORDS)
    reader = Signer(shared).sign("reader").decode()
    async with browser(shared) as client:
        client.cookies.set(SESSION_COOKIE, reader.replace("reader", "admin"))
        answer = await client.get("/system")

    assert answer.status_code == 401


async def test_who_logs_out_is_out(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        await client.post("/login", data={"password": "roach"}, headers=OWN)
        await client.post("/logout", headers=OWN)
        answer = await client.get("/system")

    assert answer.status_code == 401


async def test_the_secret_behind_the_cookies_outlives_the_process_but_not_for_ever(redis: RedisPort) -> None:
    one, other = await shared_by(redis, PASSWORDS), await shared_by(redis, PASSWORDS)

    assert one.signing_key == other.signing_key
    assert await redis.pttl(keys.dashboard_secret()) > 0


# ── wrong passwords ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("password", "role"),
    [("carp", "admin"), ("roach", "reader"), ("", None), ("Carp", None), ("carp ", None), ("\ud800", None)],
)
def test_a_password_is_right_or_it_is_not(password: str, role: str | None) -> None:
    assert role_for(password, settings_of(PASSWORDS)) == role


def test_no_password_is_nobodys() -> None:
    assert role_for("", settings_of({})) is None


async def test_after_some_wrong_passwords_an_address_waits_even_with_the_right_one(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        wrong = [
            await client.post("/login", data={"password": "pike"}, headers=OWN) for _ in range(TRIES + 1)
        ]
        right = await client.post("/login", data={"password": "carp"}, headers=OWN)

    assert [answer.status_code for answer in wrong] == [401] * TRIES + [429]
    assert right.status_code == 429
    assert 0 < int(right.headers["retry-after"]) <= WINDOW_MS // 1000 + 1
    assert "Try again in" in right.text
    assert 0 < await redis.pttl(keys.login_tries("10.0.0.7")) <= WINDOW_MS
    assert 0 < await redis.pttl(keys.login_tries("*")) <= WINDOW_MS


async def test_another_address_does_not_wait_for_it(redis: RedisPort) -> None:
    shared = await shared_by(redis, PASSWORDS)
    async with browser(shared) as client:
        for _ in range(TRIES + 1):
            await client.post("/login", data={"password": "pike"}, headers=OWN)
    async with browser(shared, address="10.0.0.8") as client:
        answer = await client.post("/login", data={"password": "carp"}, headers=OWN)

    assert answer.status_code == 303


async def test_a_right_password_forgives_the_wrong_ones(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS)) as client:
        for password in ["pike", "pike", "pike", "carp", "pike", "pike", "pike", "carp"]:
            answer = await client.post("/login", data={"password": password}, headers=OWN)

    assert answer.status_code == 303
    assert int(await redis.get(keys.login_tries("*")) or 0) == 6


async def test_many_addresses_together_wait_too(redis: RedisPort) -> None:
    shared = await shared_by(redis, PASSWORDS)
    await redis.set(keys.login_tries("*"), ALL_TRIES, px=WINDOW_MS)
    async with browser(shared, address="10.9.9.9") as client:
        answer = await client.post("/login", data={"password": "carp"}, headers=OWN)

    assert answer.status_code == 429


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("", "?"),
    ],
)
def test_a_household_counts_as_one(address: str, network: str) -> None:
    assert network_of(address) == network


# ── language and look ────────────────────────────────────────────────────────────────────────────────────────────
async def test_language_and_look_are_kept_in_cookies(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS), role="reader") as client:
        form = {"language": "de", "theme": "dark", "back": "/system"}
        answer = await client.post("/look", data=form, headers=OWN)
        page = await client.get("/system")

    assert answer.headers["location"] == "/system"
    assert '<html lang="de" data-theme="dark">' in page.text


async def test_a_language_or_look_that_is_not_there_is_not_kept(redis: RedisPort) -> None:
    async with browser(await shared_by(redis, PASSWORDS), role="reader") as client:
        answer = await client.post("/look", data={"language": "xx", "theme": "x"}, headers=OWN)

    assert "set-cookie" not in answer.headers
