"""Tools of servers that others wrote, used from a chat; and loops that never end. By real processes: mcp-server-time by
command, mcp-server-git by URL, and a URL that nobody listens on.
"""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from infra import keys
from schemas.turn import TurnRecord
from schemas.wire import load
from tests.fakes.mcp_git import GitServer, repository
from tests.fakes.model_script import Answer, Use
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.acting import Acting, Body, offered, results, uses
from tests.system.koi import Heard, Talk, until
from tests.system.stack import Stack, free_port

pytestmark = pytest.mark.system

KITCHEN, DEAR = "7603", "7604"
ANNA, BEN = PEOPLE = (121, 122)
ROUNDS, MOST_USD = 4, 0.4
SESAME = "sesame-5f1c2e"
CONFIG = """
[turn]
max_tool_rounds = {rounds}
max_usd = {usd}

[prices."dear"]
input = 2
output = 20

[[bots]]
name = "kitchen"
token_env = "KITCHEN_TOKEN"

[[bots]]
name = "dear"
token_env = "DEAR_TOKEN"
models = ["dear"]

[[mcp]]
name = "time"
command = ["{time}"]
people = ["{anna}"]

[[mcp]]
name = "pond"
url = "{pond}"
token_env = "POND_TOKEN"
tools = ["git_log"]
bots = ["kitchen"]

[[mcp]]
name = "gone"
url = "http://127.0.0.1:{gone}/mcp"
"""
NOON, HISTORY, BOTH = (
    "Wie spaet ist es mittags in Tokio?",
    "Was wurde am Teich zuletzt getan?",
    "Beides, bitte.",
)
FOR_EVER, DEARLY = "Mach immer weiter.", "Koste es, was es wolle."
CONVERT = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
THE_TOOLS = ["pond__git_log", "time__convert_time", "time__get_current_time"]


@dataclass(repr=False)
class Story:
    """What happened, for the tests to look at."""

    heard: dict[str, Heard] = field(default_factory=dict[str, Heard])
    """What ANNA said to `kitchen` → what came of it."""
    ben: Heard = field(init=False)
    at_dear: Heard = field(init=False)
    """What came of DEARLY."""
    records: dict[str, TurnRecord] = field(default_factory=dict[str, TurnRecord])
    """Of FOR_EVER and DEARLY, as `koi explain --json` has them."""
    made: list[str] = field(default_factory=list[str])
    """Titles of the tasks of ANNA, made in FOR_EVER and DEARLY."""
    worker_log: str = ""
    exit_codes: list[int] = field(default_factory=list[int])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    pond = repository(tmp_path_factory.mktemp("pond"))
    with GitServer(pond) as git, Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "50ms"}) as stack:
        git.wait()
        yield asyncio.run(played(stack, git.url, str(pond)))


def acting(pond: str) -> Acting:
    """A model that tells what the servers said, and one that never stops."""
    history = Use("pond__git_log", {"repo_path": pond})
    return Acting({
        NOON: (uses("time__convert_time", **CONVERT), told),
        HISTORY: (uses("pond__git_log", repo_path=pond), told),
        BOTH: (Answer(uses=(history, Use("time__convert_time", CONVERT))), told),
        DEARLY: (another_for_all_the_money,),
        FOR_EVER: (another,),
        })  # fmt: skip


def told(body: Body) -> Answer:
    return Answer("\n".join(results(body)))


def another(body: Body) -> Answer:
    return uses("create_task", title=f"n{len(results(body))}")


def another_for_all_the_money(body: Body) -> Answer:
    return Answer(uses=another(body).uses, to_the_last=True)


async def played(stack: Stack, url: str, pond: str) -> Story:
    time_server = Path(sys.executable).with_name("mcp-server-time")
    stack.config.write_text(
        CONFIG.format(rounds=ROUNDS, usd=MOST_USD, anna=ANNA, time=time_server, pond=url, gone=free_port())
    )
    story, telegram, model = Story(), FakeTelegram(), ModelServer()
    model.always(acting(pond))
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        people = {"TELEGRAM_ALLOWED_USERS": ",".join(map(str, PEOPLE))}
        tokens = {"KITCHEN_TOKEN": koi.token(KITCHEN), "DEAR_TOKEN": koi.token(DEAR)}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **people, **tokens)
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m", POND_TOKEN=SESAME)
        koi.start(bot, worker)
        await until(lambda: worker.log.read_text("utf-8").count("mcp_connected") == 2, what="two servers")
        talk = Talk(telegram, model)
        story.ben = await talk.say(KITCHEN, BEN, NOON, language="de")
        for text in (NOON, HISTORY, BOTH):
            story.heard[text] = await talk.say(KITCHEN, ANNA, text, language="de")
        story.at_dear = await talk.say(DEAR, ANNA, DEARLY, language="de")
        story.heard[FOR_EVER] = await talk.say(KITCHEN, ANNA, FOR_EVER, language="de")
        stored = [load(TurnRecord, raw) for raw in await redis.lrange(keys.turns(f"home:u:{ANNA}"), -2, -1)]
        for text, record in zip((DEARLY, FOR_EVER), stored, strict=True):
            story.records[text] = await koi.explained(stack, record.id)
        story.made = [getattr(thing, "title", "") for thing in await koi.things_of(redis, ANNA)]
        story.exit_codes = await koi.end(bot, worker)
        story.worker_log = worker.log.read_text("utf-8")
    return story


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_answer_holds_what_a_server_by_command_said(story: Story) -> None:
    assert "21:00" in story.heard[NOON].reply


def test_the_answer_holds_what_a_server_by_url_said(story: Story) -> None:
    assert "Feed the koi" in story.heard[HISTORY].reply


def test_both_servers_are_asked_in_one_round(story: Story) -> None:
    first, second = story.heard[BOTH].requests

    assert len(results(second.body)) - len(results(first.body)) == 2
    assert "Feed the koi" in results(second.body)[-2]
    assert "21:00" in results(second.body)[-1]


def test_what_a_server_says_is_marked_as_its_words(story: Story) -> None:
    said = results(story.heard[HISTORY].requests[-1].body)[-1]

    assert said.startswith('<tool_output server="pond"')
    assert said.rstrip().endswith("</tool_output>")


def test_each_is_offered_the_tools_that_are_for_them_at_that_bot_and_none_of_a_dead_server(
    story: Story,
) -> None:
    def foreign(heard: Heard) -> list[str]:
        return [name for name in offered(heard.requests[0].body) if "__" in name]

    assert sorted(foreign(story.heard[NOON])) == THE_TOOLS
    assert foreign(story.ben) == ["pond__git_log"]
    assert foreign(story.at_dear) == ["time__convert_time", "time__get_current_time"]


def test_whoever_may_not_use_a_server_cannot_although_the_model_tries(story: Story) -> None:
    assert "There is no tool of that name now." in story.ben.reply
    assert "21:00" not in story.ben.reply


# ── loops ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_loop_that_never_ends_stops_after_so_many_rounds_with_an_honest_line(story: Story) -> None:
    heard, record = story.heard[FOR_EVER], story.records[FOR_EVER]

    assert len(heard.requests) == ROUNDS
    assert f"Nach {ROUNDS} Schritten mit meinen Werkzeugen habe ich aufgehört" in heard.reply
    assert [(tool.round, tool.outcome) for tool in record.tools] == [
        (nth, "done") for nth in range(1, ROUNDS + 1)
    ]


def test_a_loop_that_never_ends_costs_less_than_its_cap(story: Story) -> None:  # C54
    record = story.records[DEARLY]

    assert "Weiterzumachen könnte mehr als 0,40\xa0$ kosten" in story.at_dear.reply
    assert 1 < len(story.at_dear.requests) < ROUNDS
    assert len(record.calls) == len(story.at_dear.requests)
    assert record.cost_microusd is not None
    assert 0 < record.cost_microusd <= MOST_USD * 1_000_000


def test_what_was_done_until_then_stands(story: Story) -> None:
    assert len(story.made) == ROUNDS + len(story.at_dear.requests)


# ── always ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_log_names_the_lost_server_and_holds_no_output_and_no_secret(story: Story) -> None:
    assert "mcp_lost" in story.worker_log
    assert "gone" in story.worker_log
    held = ("21:00", "Feed the koi", "Tokio", "Asia/Tokyo", SESAME, koi.SECRET, koi.API_KEY)
    assert [word for word in held if word in story.worker_log] == []


def test_whoever_is_told_to_stop_ends_cleanly(story: Story) -> None:
    assert story.exit_codes == [0, 0]
