"""What a German household can see of its answers and change about them: /why, `koi explain`, buttons, /usage, /model; and
that nothing of all this outlives its day, or a /forget.
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from infra import keys
from infra.forget import handle_of
from infra.redis_port import RedisPort
from schemas.call import CallRecord
from schemas.turn import TurnRecord
from tests.contents import contents
from tests.fakes.model_script import Answer
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.system import koi
from tests.system.koi import Heard, Talk, until
from tests.system.stack import Process, Stack

pytestmark = pytest.mark.system

BOT = "7501"
ANNA, BEN, CLARA = 101, 102, 103
CONFIG = """
[[bots]]
name = "haus"
token_env = "HAUS_TOKEN"

[money]
currency = "EUR"
rate = 0.8

[memory]
budget_tokens = 150

[session]
budget_tokens = 800
summarise = true

[turn]
max_usd = 100

[prices."strong"]
input = 100
output = 1000

[prices."light"]
input = 10
output = 100
"""
ENVIRONMENT = {**koi.ENVIRONMENT, "KOI_LANGUAGE": "de", "KOI_TURN__DEBOUNCE": "50ms"}
GERMAN: dict[str, Any] = {"language": "de"}
QUESTION = "Wo liegt der Schluessel?"
DEMANDING = "Ordne meine Wochenaufgaben nach Dringlichkeit und Verantwortlichkeit!"
FILLER = "Dazu kommen Zucker, Zitronen und Zimt in ein grosses Glas. " * 6
SECRETS = {ANNA: "Quitte", BEN: "Stachelbeere", CLARA: "Holunder"}
"""ASCII words that each of them says, and the model too."""
HOLDS_TEXT = {"ring": keys.ring, "session": keys.session, "fold": keys.fold, "turns": keys.turns}
NEXT_DAY_S = 90_000
"""25 hours."""


@dataclass(repr=False)
class Story:
    """What happened, for the tests to look at."""

    heard: dict[str, Heard] = field(default_factory=dict[str, Heard])
    page: str = ""
    """`koi explain HANDLE`."""
    record: TurnRecord = field(init=False)
    """The same with --json."""
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    """Anna's."""
    afterwards: str = ""
    """What `koi explain HANDLE` says when its entry was forgotten."""
    held: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """The database: before Anna forgot, afterwards, …"""


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack(ENVIRONMENT) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    story = Story()
    stack.config.write_text(CONFIG)
    telegram, model = FakeTelegram(), ModelServer()
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        talk = Talk(telegram, model)
        people = {"TELEGRAM_ALLOWED_USERS": f"{ANNA},{BEN},{CLARA}"}
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, HAUS_TOKEN=koi.token(BOT), **people)
        worker = stack.koi(
            "worker", "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="strong", KOI_LIGHT_MODEL="light", **people
        )  # fmt: skip
        koi.start(bot, worker)
        await anna(story, stack, redis, talk)
        for person in (BEN, CLARA):
            await folded_twice(redis, talk, person)
        story.held["before /forget all"] = await contents(redis)
        story.heard["/forget all"] = await talk.say(BOT, CLARA, "/forget all", **GERMAN)
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story.held["after /forget all"] = await contents(redis)
        await koi.end(bot, worker)
        await next_day(story, redis, worker)
    return story


async def anna(story: Story, stack: Stack, redis: RedisPort, talk: Talk) -> None:
    """She tells something, asks for it in a new conversation, looks how it was answered, chooses a model, and forgets."""

    async def say(text: str, answer: str = "") -> Heard:
        if answer:
            talk.model.script(Answer(answer))
        story.heard[text] = heard = await talk.say(BOT, ANNA, text, **GERMAN)
        return heard

    await say("Der Schluessel liegt unter der Quitte.", "Gut, ich merke mir das.")
    await say("/new")
    await say(QUESTION, "Im Garten, unter dem Baum.")
    why = await say("/why")
    handle = re.search(r"koi explain (\w+)", why.reply)
    assert handle is not None
    story.page = await koi.printed(stack, "explain", handle[1])
    story.record = await koi.explained(stack, handle[1])
    await say("/usage")
    choice = await say("/model")
    story.heard["tap light"] = await talk.tap(BOT, ANNA, choice.buttons["leicht"], **GERMAN)
    await say(DEMANDING)
    await say("/model ")
    await until(lambda: koi.all_done(redis), what="the end of all lanes")
    story.held["before the tap"] = await contents(redis)
    (forget, *_) = why.buttons.values()
    story.heard["tap forget"] = await talk.tap(BOT, ANNA, forget, **GERMAN)
    await until(lambda: koi.all_done(redis), what="the end of all lanes")
    story.held["after the tap"] = await contents(redis)
    story.afterwards = await koi.printed(stack, "explain", handle[1], fails=True)
    story.calls = await koi.calls_of(redis, ANNA)


async def folded_twice(redis: RedisPort, talk: Talk, person: int) -> None:
    """Long messages, until one summary is in the conversation and the next one waits for it."""
    word = SECRETS[person]
    talk.model.always(Answer(f"Notiz: viel {word}."), model="light")
    lane, requests = f"{BOT}:{person}:0", len(talk.model.requests)

    async def is_folded() -> bool:
        return bool(await redis.exists(keys.fold(lane)))

    def is_taken() -> bool:
        return any("conversation_summary" in str(asked.body) for asked in talk.model.requests[requests:])

    for number in range(12):
        await talk.say(BOT, person, f"{word}-{number}: {FILLER}", **GERMAN)
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        if is_taken() and await is_folded():
            return
    raise AssertionError("nothing was folded")


async def next_day(story: Story, redis: RedisPort, worker: Process) -> None:
    koi.at(NEXT_DAY_S, worker)
    worker.environment["KOI_MODEL"] = worker.environment["KOI_LIGHT_MODEL"] = "offline"
    worker.start()
    await until(lambda: expired(redis), what="forgetting")
    story.held["25 hours later"] = await contents(redis)
    await koi.end(worker)


async def expired(redis: RedisPort) -> bool:
    prefixes = tuple(key("") for key in HOLDS_TEXT.values())
    return not [name for name in await contents(redis) if name.startswith(prefixes)]


def holding(held: dict[str, str], word: str) -> set[str]:
    """Which keys hold the word."""
    return {name for name, value in held.items() if word in value}


# ── /why and koi explain ─────────────────────────────────────────────────────────────────────────────────────────
def test_why_tells_in_german_what_the_answer_was_made_of_and_what_it_cost(story: Story) -> None:
    lines = story.heard["/why"].reply.splitlines()

    assert lines[0].startswith("Meine letzte Antwort, ")
    assert "Modell: light" in lines
    assert "Gewählt, weil: eine kleine Bitte" in lines
    assert "Tokens: 90 gelesen, 10 geschrieben" in lines
    assert "Kosten: 0,0014\xa0€" in lines  # (40 + 37.5 + 2) · 10 + 10 · 100 = 1795 µ$
    assert lines[-1] == f"Mehr: koi explain {handle_of(story.record.id)[:8]}"
    assert any(line.endswith("Der Schluessel liegt unter der Quitte.") for line in lines)


def test_explain_finds_the_turn_by_the_handle_that_why_shows(story: Story) -> None:
    record = story.record
    block = next(part for part in record.parts if part.kind == "block")
    question = story.heard[QUESTION].messages[-1]["content"]

    assert (record.user_id, record.bot, record.ending) == (str(ANNA), "haus", "complete")
    assert (record.model, record.asked) == ("light", "light")
    assert (record.tier, record.why) == ("light", "short_request")
    assert [part.kind for part in record.parts] == ["offer", "system", "person", "block", "message"]
    assert question == "".join(part.text for part in record.parts[3:])
    assert "unter der Quitte" in block.text
    assert len(block.entry_ids) == 1
    assert record.cost_microusd == 1795
    assert record.estimated_tokens >= sum(part.tokens for part in record.parts) > 0


def test_explain_has_the_same_calls_as_the_stream(story: Story) -> None:
    of_turn = [call for call in story.calls if call.turn_id == story.record.id]

    assert list(story.record.calls) == of_turn
    assert [(one.model, one.outcome, one.cost_microusd) for one in of_turn] == [("light", "answered", 1795)]


@pytest.mark.parametrize(
    "words",
    [
        "Antwort ", "Was das Modell bekam", "Anweisungen", "Erinnerung an frühere Gespräche", "Aufrufe", "Kosten",
        "0,0014\xa0€", "unter der Quitte", QUESTION, "eine kleine Bitte",
    ],
)  # fmt: skip
def test_explain_prints_a_german_page(story: Story, words: str) -> None:
    assert words in story.page


# ── /usage and /model ────────────────────────────────────────────────────────────────────────────────────────────
def test_usage_counts_what_was_used_today_and_this_month(story: Story) -> None:
    reply = story.heard["/usage"].reply
    today, month = [line for line in reply.splitlines() if "2 Antworten" in line]

    assert today.startswith("Heute: 2 Antworten · 200 Tokens · 0,016\xa0€")
    assert month.endswith("2 Antworten · 200 Tokens · 0,016\xa0€")
    assert story.heard["/usage"].requests == ()


def test_model_shows_both_kinds_and_a_button_for_each_choice(story: Story) -> None:
    heard = story.heard["/model"]

    assert "Leichtes Modell: light\nStarkes Modell: strong" in heard.reply
    assert heard.buttons == {
        "leicht": "/model light",
        "stark": "/model strong",
        "✓ automatisch": "/model auto",
    }


def test_whoever_taps_light_is_answered_by_the_light_model_whatever_they_ask(story: Story) -> None:
    assert story.heard["tap light"].reply == "Ab jetzt antwortet hier das leichte Modell: light."
    assert [asked.model for asked in story.heard[DEMANDING].requests] == ["light"]
    assert (story.calls[-1].asked, story.calls[-1].why) == ("light", "asked_for")
    assert "Du hast gewählt: leicht." in story.heard["/model "].reply
    assert "✓ leicht" in story.heard["/model "].buttons


# ── forgetting ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_why_has_a_button_for_each_entry_that_was_used(story: Story) -> None:
    used = next(part for part in story.record.parts if part.kind == "block").entry_ids[0]

    assert f"/forget #{handle_of(used)}" in story.heard["/why"].buttons.values()
    assert all(text.startswith("Vergessen: ") for text in story.heard["/why"].buttons)
    assert len(story.heard["/why"].buttons) == len(story.heard["/why"].reply.split("•")) - 1


def test_a_tap_forgets_the_entry_and_every_record_that_quotes_it(story: Story) -> None:
    owner = f"home:u:{ANNA}"

    assert story.heard["tap forget"].reply.startswith("Ich habe 1 Eintrag vergessen.")
    assert holding(story.held["before the tap"], SECRETS[ANNA]) >= {keys.ring(owner), keys.turns(owner)}
    assert holding(story.held["after the tap"], SECRETS[ANNA]) == set()
    assert "Im Garten" in story.held["after the tap"][keys.ring(owner)]  # the other entry stays
    assert "diese Antwort gibt es nicht" in story.afterwards


@pytest.mark.parametrize("person", [BEN, CLARA])
def test_a_conversation_with_summaries_has_its_texts_in_four_places(story: Story, person: int) -> None:
    lane, owner = f"{BOT}:{person}:0", f"home:u:{person}"

    assert holding(story.held["before /forget all"], SECRETS[person]) == {
        keys.ring(owner), keys.turns(owner), keys.session(lane), keys.fold(lane),
    }  # fmt: skip


def test_forget_all_leaves_none_of_them_and_touches_nobody_else(story: Story) -> None:
    held = story.held["after /forget all"]

    assert holding(held, SECRETS[CLARA]) == set()
    assert len(holding(held, SECRETS[BEN])) == len(HOLDS_TEXT)


@pytest.mark.parametrize("person", [ANNA, BEN, CLARA])
def test_twenty_five_hours_later_the_database_holds_none_of_their_words(story: Story, person: int) -> None:
    assert holding(story.held["25 hours later"], SECRETS[person]) == set()
    assert holding(story.held["25 hours later"], "Zitronen") == set()
    assert holding(story.held["25 hours later"], "Schluessel") == set()
