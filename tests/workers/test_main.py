"""A whole worker: the real lanes, the offline model, and a clean end."""

import asyncio
import subprocess
import sys

import pytest
from pydantic import SecretStr

from infra import health, keys
from infra.clock import Clock
from infra.redis_port import RedisPort
from infra.settings import BotSettings, McpSettings, Settings, TurnSettings
from llm.errors import NotConfigured
from llm.routing import Models
from schemas.reply import Reply
from tests.fakes.model_script import OVERLOADED, Answer
from tests.fakes.model_server import ModelServer
from tests.tools.mcp_stage import PATIENCE_S, script
from tests.workers.stage import APRIL_5_14_23, House
from workers.main import build_brains, serve
from workers.mcp_fault import fault_line


def now() -> int:
    return APRIL_5_14_23


async def replies_of(house: House, lane: str, n: int) -> list[Reply]:
    async with asyncio.timeout(30):
        while len(found := await house.replies(lane)) < n:
            await asyncio.sleep(0.005)
    return found


async def test_a_worker_answers_with_the_offline_model_remembers_and_leaves_cleanly(house: House) -> None:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(Settings(models=("offline",)), house.redis, clock=now, stop=stop))
        await house.push(house.message("Check wo das Chemitek-Paket bleibt"))
        await replies_of(house, "7:42:0", 1)
        await house.push(house.message("Soll Mittwoch kommen", bot_id="8"))
        (reply,) = await replies_of(house, "8:42:0", 1)
        assert await health.alive(house.redis, "worker") == 1
        stop.set()

    assert "User: Check wo das Chemitek-Paket bleibt" in reply.text
    assert "Soll Mittwoch kommen" in reply.text
    assert await health.alive(house.redis, "worker") == 0
    assert len(await house.redis.xrange(keys.calls())) == 2
    assert await house.redis.zcard(keys.inbox_queue()) == 0


async def test_a_message_whose_every_attempt_fails_is_given_up_honestly_and_others_go_on(
    house: House,
) -> None:
    stop = asyncio.Event()
    settings = Settings(models=("offline",), turn=TurnSettings(attempts=1))
    poison, healthy = house.message("Gift"), house.message("gesund", chat_id="43", user_id="43")
    await house.redis.set(keys.ring(poison.owner), "no list at all")
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(settings, house.redis, clock=now, stop=stop))
        await house.push(poison)
        await house.push(healthy)
        (notice,) = await replies_of(house, "7:42:0", 1)
        await replies_of(house, "7:43:0", 1)
        stop.set()

    assert notice.failed
    assert "Traceback" not in notice.text
    assert await house.redis.hlen(keys.dead_of(poison.owner)) == 1


async def test_the_parcel_over_http_with_a_first_choice_that_is_always_overloaded(
    house: House,
) -> None:  # C23
    stop = asyncio.Event()
    async with ModelServer() as models:
        models.always(OVERLOADED, model="first")
        models.script(Answer("UPS sagt Mittwoch"), model="second")
        settings = Settings(
            models=("first", "second"),
            anthropic_base_url=models.url,
            telegram_owner="1",
            timezone="Europe/Berlin",
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(serve(settings, house.redis, clock=lambda: house.now_ms, stop=stop))
            await house.push(house.message("Check wo das Chemitek-Paket bleibt"))
            await replies_of(house, "7:42:0", 1)
            house.later(minutes=50)
            await house.push(house.message("Soll Mittwoch kommen"))
            first, second = await replies_of(house, "7:42:0", 2)
            stop.set()

    asked = models.requests[-1].body["messages"]
    assert (models.requests[-1].model, len(asked)) == ("second", 1)
    assert (
        "[05.04. 14:23]\nUser: Check wo das Chemitek-Paket bleibt\nBot: UPS sagt Mittwoch\n"
        in asked[0]["content"]
    )
    assert (first.text, second.text) == (
        "UPS sagt Mittwoch",
        "echo: Aktuelle Nachricht: Soll Mittwoch kommen",
    )
    (alert,) = await house.replies("7:1:0")
    assert alert.text == "⚠ first: overloaded since 5 Apr, 14:23. second answers now."


def tools_asked_with(models: ModelServer) -> list[str]:
    return [tool["name"] for tool in models.requests[-1].body.get("tools", ())]


async def test_the_first_turn_waits_for_mcp_servers_if_it_may_and_a_wrong_one_is_said_once(
    house: House,
) -> None:
    stop, said = asyncio.Event(), list[str]()
    async with ModelServer() as models:
        models.always(Answer("Hi"))
        settings = Settings(
            models=("m",),
            anthropic_base_url=models.url,
            mcp=(script("a", tools=("hello",)), McpSettings(name="b", command=("no-such-program",))),
        )
        await house.push(house.message("Hello"))
        async with asyncio.TaskGroup() as group:
            group.create_task(
                serve(settings, house.redis, clock=now, stop=stop, say=said.append, tools_wait_s=PATIENCE_S)
            )
            await replies_of(house, "7:42:0", 1)
            stop.set()

    assert "a__hello" in tools_asked_with(models)
    assert said == [
        "[[mcp]] b: there is no program 'no-such-program', so its tools are missing. Install it, or set command in koi.toml "
        "to one that is there."
    ]


async def test_a_worker_that_waits_for_an_mcp_server_can_be_stopped(house: House) -> None:
    stop = asyncio.Event()
    settings = Settings(models=("offline",), mcp=(script("a", "--mute"),))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(serve(settings, house.redis, clock=now, stop=stop, tools_wait_s=3_600))
        while await health.alive(house.redis, "worker") == 0:
            await asyncio.sleep(0.005)
        stop.set()


@pytest.mark.parametrize(
    ("server", "error", "expected"),
    [
        (McpSettings(name="a", command=("x", "y")), "PermissionError", "'x' may not be run"),
        (McpSettings(name="a", command=("x", "y")), "MCPError -32000", "'x' starts, but does not answer"),
        (
            McpSettings(name="a", url="https://u:pw@h/mcp"),
            "TimeoutError",
            "'https://…@h/mcp' does not answer",
        ),
    ],
    ids=["may not", "speaks no MCP", "an address"],
)
def test_what_is_wrong_with_an_mcp_server_is_said_with_its_setting(
    server: McpSettings, error: str, expected: str
) -> None:
    line = fault_line(server, error, "en")

    assert line.startswith("[[mcp]] a: ")
    assert expected in line
    assert ("url" if server.url else "command") in line


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_bot_has_a_chain_of_its_own_only_if_it_names_models() -> None:
    settings = Settings(
        models=("offline",),
        openrouter_api_key=SecretStr("key"),
        bots=(
            BotSettings(name="a", models=("some/model",)),
            BotSettings(name="b", persona="You are a pirate."),
            BotSettings(name="c", persona="Be brief."),
        ),
    )

    brains = build_brains(settings)

    assert len(brains.chains) == 2
    assert brains.by_bot["a"].chain is brains.chains[1]
    assert brains.by_bot["b"].chain is brains.chains[0]
    assert [brains.by_bot[name].persona for name in "abc"] == ["", "You are a pirate.", "Be brief."]
    assert brains.house.configured


def test_a_bot_with_models_of_its_own_asks_no_other_not_even_the_light_one() -> None:
    settings = Settings(
        models=("big", "spare"),
        light_model="small",
        openrouter_api_key=SecretStr("key"),
        bots=(
            BotSettings(name="house"),
            BotSettings(name="private", models=("at/home",)),
            BotSettings(name="both", models=("at/home", "small")),
        ),
    )

    by_bot = build_brains(settings).by_bot

    assert by_bot["house"].models == Models(("big", "spare"), "small")
    assert by_bot["private"].models == Models(("at/home",))
    assert by_bot["private"].light is None
    assert by_bot["both"].models == Models(("at/home", "small"), "small")


def test_without_models_nothing_is_configured() -> None:
    brains = build_brains(Settings(bots=(BotSettings(name="a", models=("offline",)), BotSettings(name="b"))))

    assert not brains.house.configured
    assert brains.by_bot["a"].configured
    assert not brains.by_bot["b"].configured


async def test_a_worker_does_not_start_with_a_model_without_a_key(redis: RedisPort) -> None:
    clock: Clock = now
    with pytest.raises(NotConfigured):
        await serve(Settings(models=("claude-sonnet-5-5",)), redis, clock=clock, stop=asyncio.Event())


def test_importing_a_worker_loads_neither_aiogram_nor_anthropic() -> None:
    code = "import sys, workers.main; print(sorted({'aiogram', 'anthropic', 'httpx2'} & set(sys.modules)))"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
