"""A household that was used: talk, commands, a stranger, a fallback, a failure, a forget. What it leaves behind in
Redis and in the logs, and what people saw of it.
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import pytest

from infra import keys
from infra.redis_port import RedisPort
from schemas.dead import DeadLetter
from schemas.wire import load
from tests.contents import contents
from tests.fakes.model_script import Answer, Status
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault
from tests.system import koi
from tests.system.koi import Heard, Talk, until
from tests.system.stack import Process, Stack

pytestmark = pytest.mark.system

HOUSE, BUSY, SLOW = "7101", "7102", "7103"
CONFIG = """
[[bots]]
name = "house"
token_env = "HOUSE_TOKEN"

[[bots]]
name = "busy"
token_env = "BUSY_TOKEN"
models = ["overloaded", "steady"]

[[bots]]
name = "slow"
token_env = "SLOW_TOKEN"
models = ["hangs"]
"""
TOKENS = {"HOUSE_TOKEN": HOUSE, "BUSY_TOKEN": BUSY, "SLOW_TOKEN": SLOW}
OWNER, MAX, MIA, JAN, TOM, ULA, STRANGER = range(51, 58)
MEMBERS = (MAX, MIA, JAN, TOM, ULA)
WORDS = (
    "Quitten", "Hagebutte", "Stachelbeere", "Holunder", "Mirabelle", "Rhabarber", "Schlehe", "Sanddorn", "Rumpel",
)  # fmt: skip
"""What people and models say, and how the stranger is called; ASCII."""
COMMANDS = ("/start", "/help", "/whoami", "/why", "/memory", "/new", "/forget")
TEXT_MAY_STAND = (
    "koi:lane:*:bodies", "koi:lane:*:kept", "koi:ring:*", "koi:session:*", "koi:turns:*", "koi:fold:*", "koi:dead:*",
    "koi:things:*", "koi:facts:*", "koi:pending:*", "koi:parked:*",
)  # fmt: skip
IDS_ONLY = ("arq:", "koi:calls", "koi:count:", "koi:life", "koi:minutes:", "koi:q:", "koi:ran:")
EVENTS = ("update_ignored", "turn_answered", "turn_failed", "reply_sent")
"""Some of what must be in a log that leaves nothing out."""
RETRIED = 2
"""How often a turn may fail here (KOI_TURN__ATTEMPTS)."""


@dataclass(repr=False)
class Story:
    """What happened, for the tests to look at."""

    while_waiting: dict[str, str] = field(default_factory=dict[str, str])
    """All keys, while one message waits for its model and one reply for its chat."""
    lasting: set[str] = field(default_factory=set[str])
    """Keys without a TTL, at that time or in the end."""
    in_the_end: dict[str, str] = field(default_factory=dict[str, str])
    answers: dict[str, Heard] = field(default_factory=dict[str, Heard])
    sent: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Person → all that was sent to them."""
    letters: list[DeadLetter] = field(default_factory=list[DeadLetter])
    asked_to_hang: int = 0
    worker_environment: dict[str, str] = field(default_factory=dict[str, str])
    exit_codes: list[int] = field(default_factory=list[int])
    logs: str = ""


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack(koi.ENVIRONMENT) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    story = Story()
    stack.config.write_text(CONFIG)
    telegram, model = FakeTelegram(), ModelServer()
    model.always(Status(529, "overloaded_error", message="no room for: Schlehe"), model="overloaded")
    model.always(Answer(delay_s=3600), model="hangs")
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        talk = Talk(telegram, model)
        bot, worker = processes(stack, telegram, model)
        koi.start(bot, worker)
        await pairing(talk, bot)
        telegram.say(SLOW, JAN, "Mirabelle?")
        await a_reply_that_waits(story, redis, talk)
        await commands(story, talk)
        await fallback(talk)
        await forgetting(story, talk)
        await until(lambda: telegram.texts(JAN), what="an honest line")
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story.in_the_end, story.lasting = await contents(redis), story.lasting | await koi.everlasting(redis)
        raws = await redis.hgetall(keys.dead_of(f"home:u:{JAN}"))
        story.letters = [load(DeadLetter, raw) for raw in raws.values()]
        story.asked_to_hang = sum(request.model == "hangs" for request in model.requests)
        story.worker_environment = worker.environment
        story.exit_codes = await koi.end(bot, worker)
        story.sent = {person: telegram.texts(person) for person in (OWNER, *MEMBERS, STRANGER)}
    story.logs = koi.logs(stack)
    return story


def processes(stack: Stack, telegram: FakeTelegram, model: ModelServer) -> tuple[Process, Process]:
    """The worker gets the same koi.toml and none of the tokens that it names."""
    tokens = {name: koi.token(bot_id) for name, bot_id in TOKENS.items()}
    people = {"TELEGRAM_ALLOWED_USERS": ",".join(map(str, MEMBERS))}
    bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, **people, **tokens)
    worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="steady",
                       KOI_TURN__DEADLINE="3s", KOI_TURN__ATTEMPTS=str(RETRIED), **people)  # fmt: skip
    return bot, worker


async def pairing(talk: Talk, bot: Process) -> None:
    """A stranger knocks, twice; then the first owner sends the code that the bot process shows."""
    await talk.say(HOUSE, STRANGER, "Sanddorn", name="Rumpel")
    talk.telegram.say(HOUSE, STRANGER, "Sanddorn!", name="Rumpel")
    talk.telegram.feed(HOUSE, {"something_new": {"text": "Sanddorn"}})
    code = re.search(r"the code (\w{8})", bot.log.read_text("utf-8"))
    assert code is not None
    await talk.say(HOUSE, OWNER, code[1])


async def a_reply_that_waits(story: Story, redis: RedisPort, talk: Talk) -> None:
    """Telegram says "not now" for Max' chat; meanwhile the database is looked at."""
    talk.telegram.fault(Fault("flood", chat_id=str(MAX), retry_after=2))
    talk.telegram.say(HOUSE, MAX, "Stachelbeere")
    await until(lambda: [call for call in talk.telegram.calls if call.status == 429], what="the refusal")
    story.while_waiting, story.lasting = await contents(redis), await koi.everlasting(redis)
    await until(lambda: talk.telegram.texts(MAX), what="the reply after the pause")


async def commands(story: Story, talk: Talk) -> None:
    for text in (*COMMANDS[:3], "Quitten", *COMMANDS[3:], "/new Hagebutte"):
        story.answers[text] = await talk.say(HOUSE, OWNER, text)


async def fallback(talk: Talk) -> None:
    for person in (TOM, ULA):
        await talk.say(BUSY, person, "Rhabarber")


async def forgetting(story: Story, talk: Talk) -> None:
    await talk.say(HOUSE, MIA, "Holunder")
    story.answers["/forget all"] = await talk.say(HOUSE, MIA, "/forget all", language="de")
    story.answers["afterwards"] = await talk.say(HOUSE, MIA, "Was war das?", language="de")


def holding(held: dict[str, str], word: str) -> list[str]:
    """Keys with the word in them."""
    return [name for name, value in held.items() if word in value]


# ── what stays in Redis ──────────────────────────────────────────────────────────────────────────────────────────
def test_every_key_without_a_ttl_is_one_of_the_permanent_ones(story: Story) -> None:
    unasked = {name for name in story.lasting if not any(fnmatchcase(name, one) for one in keys.PERMANENT)}

    assert unasked == set()
    assert {keys.people(), keys.dead(), keys.expiry(), keys.fence()} <= story.lasting


def test_what_people_say_stands_only_where_it_can_be_forgotten_or_expires(story: Story) -> None:
    held = story.while_waiting, story.in_the_end
    names = {name for one in held for word in WORDS for name in holding(one, word)}

    assert {name for name in names if not any(fnmatchcase(name, one) for one in TEXT_MAY_STAND)} == set()
    assert not [name for one in held for name in one for word in WORDS if word in name]


def test_jobs_streams_and_counters_hold_ids_only(story: Story) -> None:
    waiting = {keys.job(keys.inbox_job(f"{SLOW}:{JAN}:0")), keys.job(keys.outbox_job(f"{HOUSE}:{MAX}:0"))}

    assert waiting <= story.while_waiting.keys()
    assert {keys.calls(), keys.life(), keys.ran("sweep")} <= story.in_the_end.keys()
    assert [name for name in story.in_the_end if name.startswith(keys.minutes(""))]
    for held in (story.while_waiting, story.in_the_end):
        ids = "".join(value for name, value in held.items() if name.startswith(IDS_ONLY))
        assert not [word for word in WORDS if word in ids]


def test_what_was_forgotten_or_said_by_a_stranger_is_nowhere(story: Story) -> None:
    assert holding(story.in_the_end, "Holunder") == []
    assert holding(story.in_the_end, "Sanddorn") == []
    assert story.answers["/forget all"].reply.startswith("Ich habe 1 Eintrag vergessen.")
    requests = [one.body["messages"] for one in story.answers["afterwards"].requests]
    asked = [
        messages for messages in requests if "Was war das?" in str(messages)
    ]  # others may be asked meanwhile
    assert asked
    assert all(messages == [{"role": "user", "content": "Was war das?"}] for messages in asked)


# ── what stays in the logs ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("word", [*WORDS, koi.SECRET, koi.API_KEY])
def test_no_debug_log_holds_what_people_said_or_a_secret(story: Story, word: str) -> None:
    assert all(event in story.logs for event in EVENTS)
    assert word not in story.logs


# ── what people saw ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_stranger_is_answered_once_with_the_number_that_lets_them_in(story: Story) -> None:
    (line,) = story.sent[STRANGER]

    assert str(STRANGER) in line


def test_commands_are_answered_without_a_model(story: Story) -> None:
    said = {text: heard.reply for text, heard in story.answers.items()}

    assert [text for text in COMMANDS if story.answers[text].requests] == []
    assert "Your role: owner" in said["/whoami"]
    assert "Model: steady" in said["/why"]
    assert "Quitten" in said["/memory"]
    assert said["/new Hagebutte"].startswith("echo: ")


def test_a_busy_model_is_replaced_unnoticed_and_the_owner_told_once(story: Story) -> None:  # C23
    alerts = [text for text in story.sent[OWNER] if text.startswith("⚠ overloaded: overloaded since")]

    assert [story.sent[person] for person in (TOM, ULA)] == [["echo: Rhabarber"], ["echo: Rhabarber"]]
    assert len(alerts) == 1
    assert alerts[0].endswith("steady answers now.")


def test_a_model_that_hangs_is_tried_again_and_then_told_of_honestly(story: Story) -> None:  # C47
    (line,), (letter,) = story.sent[JAN], story.letters

    assert story.asked_to_hang == RETRIED
    assert line.startswith("I could not answer your message “Mirabelle?”.")
    assert "Mirabelle?" in letter.body
    assert [text for text in story.sent[OWNER] if text.startswith("⚠ No model answers. hangs: ")]


def test_a_worker_runs_without_the_tokens_that_the_configuration_names(story: Story) -> None:
    assert [name for name in story.worker_environment if name in TOKENS] == []
    assert story.exit_codes == [0, 0]
