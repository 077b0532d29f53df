"""System: who lives, how Redis is kept, what is paused, which settings are in force, what was done."""

import pytest

from dashboard import audit
from dashboard.in_force import in_force, kept_by, span_written
from dashboard.machine import KINDS_OF_KEYS, read_system, redis_of
from dashboard.pages.system import COUNT_WORDS, RETENTION
from dashboard.shared import Shared
from infra import health, keys, lives
from infra.pause import EVERYTHING, pause, paused
from infra.redis_port import RedisPort
from schemas.life import Action
from tests.dashboard.furnish import Caller, entry, life, live, remember
from tests.dashboard.house import NOW_MS, OWN, PASSWORDS, browser, settings_of, shared_by
from workers import life as worker_life
from workers import periods, records

HTMX = {**OWN, "HX-Request": "true"}
SECRETS = {
    "TELEGRAM_BOT_TOKEN": "123456789:AAhiddenhiddenhidden", "ANTHROPIC_API_KEY": "sk-ant-hiddenhidden",
    "REDIS_URL": "redis://koi:veryhidden@db:6379/0", "SMTP_URL": "smtp://me:hush@mail.example",
}  # fmt: skip


@pytest.fixture
async def shared(redis: RedisPort) -> Shared:
    return await shared_by(redis, PASSWORDS)


# ── processes and Redis ──────────────────────────────────────────────────────────────────────────────────────────
async def test_processes_are_told_with_their_slots(redis: RedisPort, shared: Shared) -> None:
    await health.beat(redis, "worker", "elsewhere-12", 50)
    await health.beat(redis, "bot", "elsewhere-13")
    seconds, _ = await redis.time()
    await redis.zadd(keys.alive("bot"), {"gone-1": seconds * 1000 - health.ALIVE_MS - 5_000})

    found = (await read_system(shared)).processes

    assert [(one.kind, one.id, one.slots) for one in found] == [
        ("bot", "elsewhere-13", None),
        ("worker", "elsewhere-12", 50),
    ]
    assert all(0 <= one.seen_ms < 5_000 for one in found)


async def test_redis_is_described_by_what_it_says(redis: RedisPort, shared: Shared) -> None:
    await redis.set("koi:x", 1)

    found = (await read_system(shared)).redis

    assert found is not None
    assert (found.policy, found.is_policy_safe, found.has_aof, found.keys) == ("noeviction", True, False, 2)
    assert found.version
    assert found.limit_bytes is None
    assert (found.memory_bytes or 0) > 100_000


def test_an_odd_redis_is_described_as_far_as_it_goes() -> None:
    assert redis_of({}).has_aof is None
    risky = redis_of(
        {
            "maxmemory_policy": "allkeys-lru",
            "maxmemory": "1024",
            "aof_enabled": 1,
            "aof_last_write_status": "err",
            "rdb_last_bgsave_status": "err",
        }
    )
    assert (risky.is_policy_safe, risky.limit_bytes, risky.has_aof, risky.aof_ok, risky.save_ok) == (
        False,
        1024,
        True,
        False,
        False,
    )


async def test_an_account_that_may_not_ask_still_sees_the_page(redis: RedisPort, shared: Shared) -> None:
    async with redis.pipeline() as pipe:
        pipe.execute_command("ACL", "SETUSER", "default", "-info")
        await pipe.execute()
    try:
        async with browser(shared, role="reader") as client:
            answer = await client.get("/system")
    finally:
        async with redis.pipeline() as pipe:
            pipe.execute_command("ACL", "SETUSER", "default", "+@all")
            await pipe.execute()

    assert answer.status_code == 200
    assert "Redis does not let this account ask (INFO)." in answer.text


async def test_what_is_kept_is_counted(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life(), life()])
    await Caller(redis).calls(times=3)
    await remember(redis, [entry()])

    counts = (await read_system(shared)).counts

    assert {what: n for what, n in counts.items() if n} == {"lives": 2, "calls": 3, "texts": 1}
    assert KINDS_OF_KEYS.keys() == COUNT_WORDS.keys()


# ── pauses ───────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_pause_is_shown_and_ended_from_the_page(redis: RedisPort, shared: Shared) -> None:
    await live(redis, [life()])
    await pause(redis, "7", NOW_MS - 1000)
    await pause(redis, EVERYTHING, NOW_MS - 2000)

    async with browser(shared, role="admin") as client:
        page = (await client.get("/system")).text
        done = await client.post("/do/resume", data={"target": f"{NOW_MS - 2000} {EVERYTHING}"}, headers=HTMX)

    assert f'value="{NOW_MS - 1000} 7"' in page
    assert f'value="{NOW_MS - 2000} *"' in page
    assert done.status_code == 200
    assert (await paused(redis)).since_ms == {"7": NOW_MS - 1000}
    assert f'value="{NOW_MS - 1000} 7"' in page


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_secret_is_among_the_settings() -> None:
    settings = settings_of({**SECRETS, **PASSWORDS, "KOI_MEMORY__ENTRIES": "30", "KOI_SESSION__IDLE": "45m"})

    found = {one.name: one for one in in_force(settings)}

    text = " ".join(f"{one.name} {one.value}" for one in found.values())
    assert not any(word in text for word in ("hidden", "hush", "carp", "roach"))
    assert found["redis_url"].value == "redis://…@db:6379/0"
    assert (found["anthropic_api_key"].value, found["openrouter_api_key"].value) == ("•••", "")
    assert found["telegram_bot_tokens"].is_secret
    assert (found["memory.entries"].value, found["memory.entries"].is_default) == ("30", False)
    assert (found["session.idle"].value, found["memory.max_age"].is_default) == ("45m", True)


def test_arguments_of_a_command_and_queries_of_an_address_are_not_shown(tmp_path: object) -> None:
    settings = settings_of({})
    mcp = settings.model_validate(
        {
            "mcp": [
                {"name": "files", "command": ["/bin/serve", "--key=hidden"]},
                {"name": "web", "url": "https://x.example/mcp?key=hidden"},
            ]
        }
    )

    found = {one.name: one.value for one in in_force(mcp)}

    assert (found["mcp[0].command"], found["mcp[1].url"]) == ("/bin/serve, …", "https://x.example/mcp")
    assert not any("hidden" in value for value in found.values())


@pytest.mark.parametrize(
    ("ms", "text"), [(86_400_000, "24h"), (90_000, "90s"), (1_800_000, "30m"), (700, "700ms"), (0, "0ms")]
)
def test_durations_are_written_as_the_file_takes_them(ms: int, text: str) -> None:
    assert span_written(ms) == text


def test_what_is_said_of_keeping_is_what_is_kept() -> None:
    kept = {one.what: (one.ms, one.most) for one in kept_by(settings_of({"KOI_MEMORY__ENTRIES": "7"}))}

    assert kept["entries"] == (86_400_000, 7)
    assert kept["lives"] == (lives.TTL_MS, lives.KEPT)
    assert kept["calls"] == (records.STREAM_TTL_MS, records.KEPT)
    assert kept["minutes"] == (worker_life.MINUTES_TTL_MS, None)
    assert kept["spent"] == (periods.DAY_TTL_MS, None)
    assert kept["audit"] == (audit.KEPT_MS, audit.KEPT)
    assert kept.keys() == RETENTION.keys()


# ── what was done ────────────────────────────────────────────────────────────────────────────────────────────────
async def test_what_was_done_is_listed_newest_first(redis: RedisPort, shared: Shared) -> None:
    await audit.note(
        redis,
        [Action(at_ms=NOW_MS, who="admin 10.0.0.7", action=name, target="a|b") for name in ("drop", "retry")],
    )

    async with browser(shared, role="reader") as client:
        page = (await client.get("/system")).text

    assert [one.action for one in (await read_system(shared)).actions] == ["retry", "drop"]
    assert page.index("<td>retry</td>") < page.index("<td>drop</td>")
