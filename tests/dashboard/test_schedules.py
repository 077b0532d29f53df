"""Schedules: reminders in their zone, and koi's own jobs with what really came of them."""

import pytest

from dashboard import audit
from dashboard.recurrence import rule_words
from dashboard.schedules import JOBS, LATE_MS, Job, delete_reminder, jobs_of, read_schedules
from dashboard.shared import Shared
from infra import keys
from infra.redis_port import RedisPort
from schemas.life import JobRun
from schemas.things import Reminder
from schemas.wire import dump
from tests.dashboard.furnish import HOUR_MS, MINUTE_MS
from tests.dashboard.house import NOW_MS, OWN, PASSWORDS, browser, settings_of, shared_by

OWNER = "home:u:42"
HTMX = {**OWN, "HX-Request": "true"}


@pytest.fixture
async def shared(redis: RedisPort) -> Shared:
    return await shared_by(redis, PASSWORDS)


def reminder(**changes: object) -> Reminder:
    values = {
        "id": "r4", "text": "Heizung prüfen", "local": "2026-11-30T13:00", "zone": "Europe/Berlin", "lane": "7:42:0",
        "due_ms": NOW_MS + HOUR_MS, "made_ms": 1, "changed_ms": 1,
    }  # fmt: skip
    return Reminder.model_validate({**values, **changes})


async def plan(redis: RedisPort, one: Reminder, at_ms: int | None = None) -> None:
    await redis.hset(keys.things(OWNER), one.id, dump(one))
    await redis.hset(keys.things(OWNER), "version", 4)
    await redis.zadd(keys.due(), {f"{OWNER}|{one.id}": one.due_ms or at_ms or NOW_MS})


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("rule", "english", "german"),
    [
        ("", "", ""),
        ("FREQ=DAILY", "every day", "jeden Tag"),
        ("FREQ=DAILY;INTERVAL=3", "every 3 days", "alle 3 Tage"),
        ("FREQ=WEEKLY;BYDAY=MO,TH", "every week on Mon, Thu", "jede Woche am Mo, Do"),
        ("FREQ=YEARLY;COUNT=2", "every year (2 times)", "jedes Jahr (2-mal)"),
        ("FREQ=HOURLY;UNTIL=20261224T080000", "every hour until 24 Dec 2026", "jede Stunde bis 24 Dez. 2026"),
        ("FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=1MO"),
        ("FREQ=MONTHLY;BYMONTHDAY=5", "FREQ=MONTHLY;BYMONTHDAY=5", "FREQ=MONTHLY;BYMONTHDAY=5"),
        ("FREQ=DAILY;INTERVAL=x", "FREQ=DAILY;INTERVAL=x", "FREQ=DAILY;INTERVAL=x"),
        ("FREQ=DAILY;UNTIL=20261399", "every day", "jeden Tag"),
        ("odd", "odd", "odd"),
    ],
)
def test_a_simple_rule_is_said_in_words(rule: str, english: str, german: str) -> None:
    assert rule_words(rule, "en") == english
    assert rule_words(rule, "de").replace("24. Dez.", "24 Dez.") == german


# ── reminders ────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_reminder_is_told_in_the_zone_it_was_meant_in(redis: RedisPort, shared: Shared) -> None:
    await plan(redis, reminder(rrule="FREQ=DAILY"))

    (one,) = (await read_schedules(shared, "en")).planned

    assert one.when == "30 Nov 2026, 14:00:00 Europe/Berlin"
    assert (one.name, one.recurs) == ("42", "every day")
    assert one.run_field == one.delete_field
    assert one.run_field.endswith(f" {OWNER}|r4")


async def test_of_a_zone_that_is_not_known_the_house_tells_the_time(redis: RedisPort, shared: Shared) -> None:
    await plan(redis, reminder(zone="Nowhere/Else"))

    (one,) = (await read_schedules(shared, "en")).planned

    assert one.when == "30 Nov 2026, 13:00:00 Nowhere/Else"


async def test_what_is_over_gone_or_newer_is_not_planned(redis: RedisPort, shared: Shared) -> None:
    await plan(redis, reminder(id="r1", due_ms=0))
    await redis.zadd(keys.due(), {f"{OWNER}|r2": NOW_MS, f"{OWNER}|r3": NOW_MS})
    await redis.hset(keys.things(OWNER), "r3", b'{"v": 99}')

    found = await read_schedules(shared, "en")

    assert (found.planned, found.unreadable) == ([], 1)


async def test_a_reminder_is_deleted_once_and_only_as_it_was_seen(redis: RedisPort, shared: Shared) -> None:
    await plan(redis, reminder())
    (one,) = (await read_schedules(shared, "en")).planned
    seen = one.delete_field.partition(" ")[0]

    assert not await delete_reminder(redis, OWNER, "r4", "0" * 16)
    assert await redis.hget(keys.things(OWNER), "r4") is not None
    assert await delete_reminder(redis, OWNER, "r4", seen)
    assert not await delete_reminder(redis, OWNER, "r4", seen)
    assert await redis.hgetall(keys.things(OWNER)) == {b"version": b"5"}
    assert await redis.zcard(keys.due()) == 0


async def test_the_page_asks_then_deletes_and_writes_it_down(redis: RedisPort, shared: Shared) -> None:
    await plan(redis, reminder())
    (one,) = (await read_schedules(shared, "en")).planned

    async with browser(shared, role="admin") as client:
        page = await client.get("/schedules")
        asked = await client.post("/schedules/delete", data={"target": one.delete_field}, headers=HTMX)
        done = await client.post(
            "/schedules/delete", data={"target": one.delete_field, "sure": "1"}, headers=HTMX
        )
        again = await client.post(
            "/schedules/delete", data={"target": one.delete_field, "sure": "1"}, headers=HTMX
        )
        odd = await client.post("/schedules/delete", data={"target": "x", "sure": "1"}, headers=HTMX)

    assert "Heizung prüfen" in page.text
    assert page.text.count(one.run_field) == 2
    assert "Delete this reminder?" in asked.text
    assert [asked.status_code, done.status_code, again.status_code, odd.status_code] == [200, 200, 409, 400]
    assert [(action.action, action.target, action.outcome) for action in await audit.newest(redis, 5)] == [
        ("delete_reminder", f"{OWNER}|r4", "changed"), ("delete_reminder", f"{OWNER}|r4", "done"),
    ]  # fmt: skip


async def test_a_reminder_runs_now_by_the_act_of_all_pages(redis: RedisPort, shared: Shared) -> None:
    await plan(redis, reminder())
    (one,) = (await read_schedules(shared, "en")).planned

    async with browser(shared, role="admin") as client:
        done = await client.post("/do/remind", data={"target": one.run_field}, headers=HTMX)

    assert done.status_code == 200
    assert await redis.zscore(keys.due(), f"{OWNER}|r4") == NOW_MS


async def test_hidden_texts_of_reminders_are_not_shown(redis: RedisPort) -> None:
    await plan(redis, reminder())
    shared = await shared_by(redis, {**PASSWORDS, "KOI_DASHBOARD__SHOW_TEXTS": "false"})

    async with browser(shared, role="reader") as client:
        page = await client.get("/schedules")

    assert "Heizung" not in page.text
    assert "text hidden" in page.text


# ── koi's own jobs ───────────────────────────────────────────────────────────────────────────────────────────────
def test_the_jobs_are_those_of_the_worker() -> None:
    from workers import upkeep  # noqa: PLC0415 — only what is compared

    known = {
        "dead": upkeep.DEAD_S,
        "expire": upkeep.EXPIRE_S,
        "mail": upkeep.MAIL_S,
        "reminders": upkeep.REMINDERS_S,
        "sweep": upkeep.SWEEP_S,
    }
    assert {name: every_s for name, every_s in JOBS.items() if name != "beat"} == known


def test_mail_is_off_until_somebody_is_to_be_mailed() -> None:
    off, on = settings_of({}), settings_of({"KOI_ALERT_EMAIL": "a@b.example", "SMTP_HOST": "b.example"})

    assert [job.is_on for job in jobs_of({}, off) if job.name == "mail"] == [False]
    assert all(job.is_on for job in jobs_of({}, on))


def test_a_job_is_late_only_after_the_quiet_minutes() -> None:
    job = Job("sweep", 30_000, JobRun(at_ms=NOW_MS - 30_000 - LATE_MS, took_ms=1))

    assert not job.is_late(NOW_MS)
    assert job.is_late(NOW_MS + 1)
    assert not Job("sweep", 30_000, None).is_late(NOW_MS)


async def test_the_last_result_of_each_job_is_told_or_that_there_is_none(
    redis: RedisPort, shared: Shared
) -> None:
    await redis.set(keys.ran("sweep"), dump(JobRun(at_ms=NOW_MS - MINUTE_MS, took_ms=12, did=3)))
    await redis.set(keys.ran("expire"), dump(JobRun(at_ms=NOW_MS, took_ms=5, error="ResponseError")))
    await redis.set(keys.ran("dead"), b"{")
    await redis.set(keys.ran("reminders"), dump(JobRun(at_ms=NOW_MS - HOUR_MS, took_ms=5)))

    async with browser(shared, role="reader") as client:
        page = (await client.get("/schedules")).text

    rows = {row.partition("</b>")[0]: row for row in page.split('<tr><td class="wide"><b>')[1:]}
    assert "did 3 things" in rows["sweep"]
    assert "1 min ago" in rows["sweep"] or "60 s ago" in rows["sweep"]
    assert "ResponseError" in rows["expire"]
    assert "never run yet" in rows["dead"]
    assert "has not run since" in rows["reminders"]
    assert "switched off" in rows["mail"]
