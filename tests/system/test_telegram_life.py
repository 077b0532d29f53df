"""What happens to messages and chats after they are written, by real processes: edits, dislikes, replies with a quote, topics,
and a group that becomes a supergroup in the middle of an answer.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from infra import keys
from infra.redis_port import RedisPort
from tests.fakes.model_rules import text_of
from tests.fakes.model_script import Answer
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Json
from tests.system import koi
from tests.system.koi import Talk, until
from tests.system.stack import Stack

pytestmark = pytest.mark.system

BOT = "7604"
EDITOR, FAN, QUOTER, ANN = PEOPLE = range(151, 155)
OLD, NEW, FORUM = -5764, -1005764, -1006764
FORUM_CHAT = {"id": FORUM, "type": "supergroup", "title": "Trips", "is_forum": True}
TOPIC, GENERAL = 77, 1
SLOWLY, SLOW_S = "slowly", 4.0
"""What makes the model think for so long, the first time that it is asked for it in a chat."""
WHOLE = "echo: Green or black?"


@dataclass
class Story:
    sent: dict[int, list[Json]] = field(default_factory=dict[int, list[Json]])
    requests: Sequence[Asked] = ()
    offer: Json = field(default_factory=dict[str, Any])
    kept: dict[str, int] = field(default_factory=dict[str, int])
    """How many entries the memories of both groups have in the end."""

    def texts(self, chat_id: int) -> list[str]:
        return [message["text"] for message in self.sent[chat_id]]

    def asked(self, text: str) -> Asked:
        """The only request whose newest message has this text."""
        (found,) = [asked for asked in self.requests if text in newest(asked)]
        return found


def newest(asked: Asked) -> str:
    return text_of(asked.body["messages"][-1])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    models = {"KOI_MODEL": "strong", "KOI_LIGHT_MODEL": "light"}
    people = {"TELEGRAM_OWNER": str(ANN), "TELEGRAM_ALLOWED_USERS": ",".join(map(str, PEOPLE))}
    with Stack({**koi.ENVIRONMENT, **models, **people, "KOI_TURN__DEBOUNCE": "50ms"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    telegram, model = FakeTelegram(), ModelServer()
    seen = set[str]()

    def thinks(body: dict[str, Any]) -> Answer:
        last = text_of(body["messages"][-1])
        is_slow = SLOWLY in last and last not in seen
        seen.add(last)
        return Answer(delay_s=SLOW_S if is_slow else 0.0)

    model.always(thinks)
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        bot = stack.koi("bot", "bot", TELEGRAM_API_BASE=telegram.base, TELEGRAM_BOT_TOKEN=koi.token(BOT))
        worker = stack.koi("worker", "worker", ANTHROPIC_BASE_URL=model.url)
        koi.start(bot, worker)
        play = Play(redis, Talk(telegram, model), Story())
        async with asyncio.TaskGroup() as group:
            for part in (play.edits, play.dislikes, play.quotes, play.topics, play.migrates):
                group.create_task(part())
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story = play.story
        for chat_id in (OLD, NEW):
            story.kept[str(chat_id)] = await redis.llen(keys.ring(f"home:g:{chat_id}:0"))
        await koi.end(bot, worker)
        story.sent = {chat: telegram.sent(chat) for chat in (*PEOPLE, OLD, NEW, FORUM)}
        story.requests = model.requests
    return story


@dataclass
class Play:
    redis: RedisPort
    talk: Talk
    story: Story

    @property
    def telegram(self) -> FakeTelegram:
        return self.talk.telegram

    async def edits(self) -> None:
        """Of what waits, of what was answered, and into a command."""
        self.telegram.say(BOT, EDITOR, f"Take it {SLOWLY}")
        await self.asked(f"Take it {SLOWLY}")
        message = self.telegram.message(BOT, EDITOR, "book 5 seats")
        self.telegram.feed(BOT, {"message": message})
        self.edit(message, "book 6 seats")
        await self.replies(EDITOR, 2)
        for nth, text in enumerate(("book 7 seats", "/forget all"), 3):
            self.edit(message, text)
            await self.replies(EDITOR, nth)
        await self.say(EDITOR, "How many?")

    async def dislikes(self) -> None:
        await self.say(FAN, "Hi")
        known = keys.sent_answers(f"{BOT}:{FAN}:0")
        await until(lambda: self.redis.exists(known), what="the number of the answer")
        (answer,) = await self.redis.lrange(known, 0, -1)
        emoji = {"type": "emoji", "emoji": "👎"}
        reaction: Json = {
            "chat": {"id": FAN, "type": "private", "first_name": "Fan"},
            "message_id": int(answer.split()[0]),
            "user": {"id": FAN, "is_bot": False, "first_name": "Fan", "language_code": "en"},
            "date": int(self.telegram.now()),
            "old_reaction": [],
            "new_reaction": [emoji],
        }
        self.telegram.feed(BOT, {"message_reaction": reaction})
        await self.replies(FAN, 2)
        self.story.offer = self.telegram.sent(FAN)[1]
        (command,) = koi.buttons_of(self.story.offer).values()
        await self.talk.tap(BOT, FAN, command)

    async def quotes(self) -> None:
        await self.say(QUOTER, "Green or black?")
        answer: Json = {
            "message_id": 2,
            "date": int(self.telegram.now()),
            "chat": {"id": QUOTER, "type": "private", "first_name": "Q"},
            "from": {"id": int(BOT), "is_bot": True, "first_name": f"Bot {BOT}"},
            "text": WHOLE,
        }
        await self.say(QUOTER, "All of that?", reply_to_message=answer)
        await self.say(QUOTER, "Which one?", reply_to_message=answer, quote={"text": "Green", "position": 6})
        await self.say(QUOTER, "Sure?")

    async def topics(self) -> None:
        for thread_id, text in ((TOPIC, "Which ferry?"), (GENERAL, "Who drives?")):
            await self.call(FORUM_CHAT, text, message_thread_id=thread_id, is_topic_message=True)

    async def migrates(self) -> None:
        """While an answer is written and another question waits."""
        old: Json = {"id": OLD, "type": "group", "title": "Home"}
        new: Json = {"id": NEW, "type": "supergroup", "title": "Home"}
        await self.call(old, "We meet at noon.")
        for text in (f"Tell us {SLOWLY} where", "And who comes?"):
            self.feed_call(old, text)
            await self.asked(f"Tell us {SLOWLY} where")
        service = self.telegram.message(BOT, ANN, "")
        del service["text"]
        self.telegram.feed(BOT, {"message": {**service, "chat": old, "migrate_to_chat_id": NEW}})
        self.telegram.feed(BOT, {"message": {**service, "chat": new, "migrate_from_chat_id": OLD}})
        await self.replies(NEW, 2)
        await self.call(new, "When was that?")

    async def say(self, user_id: int, text: str, **more: Any) -> None:
        await self.talk.say(BOT, user_id, text, **more)

    async def call(self, chat: Json, text: str, **more: Any) -> None:
        """By the bot's name."""
        count = len(self.telegram.sent(chat["id"]))
        self.feed_call(chat, text, **more)
        await self.replies(chat["id"], count + 1)

    def feed_call(self, chat: Json, text: str, **more: Any) -> None:
        name = f"@koi{BOT}_bot"
        entities = [{"type": "mention", "offset": 0, "length": len(name)}]
        self.telegram.say(BOT, ANN, f"{name} {text}", chat=chat, entities=entities, **more)

    def edit(self, message: Json, text: str) -> None:
        edited = {**message, "text": text, "edit_date": int(self.telegram.now())}
        self.telegram.feed(BOT, {"edited_message": edited})

    async def replies(self, chat_id: int, count: int) -> None:
        await until(lambda: len(self.telegram.sent(chat_id)) >= count, what=f"reply {count} in {chat_id}")

    async def asked(self, text: str) -> None:
        """A model."""
        await until(lambda: any(text in newest(one) for one in self.talk.model.requests), what=text)


# ── edits ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_edit_of_a_message_that_waits_takes_its_place(story: Story) -> None:  # C37
    assert not any("book 5 seats" in str(asked.body) for asked in story.requests)
    assert story.texts(EDITOR)[1] == "echo: book 6 seats"


def test_an_edit_of_a_message_that_was_answered_is_noted(story: Story) -> None:  # C37
    assert "[Edited an earlier message; it now reads:]\nbook 7 seats" in newest(story.asked("book 7 seats"))


def test_a_command_in_an_edit_is_not_run(story: Story) -> None:
    assert "[Edited an earlier message; it now reads:]\n/forget all" in newest(story.asked("/forget all"))
    assert "book 6 seats" in str(story.asked("How many?").body)


# ── a dislike ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_dislike_offers_the_strong_model_which_answers_the_same_question(story: Story) -> None:
    first, again = [asked for asked in story.requests if newest(asked).startswith("Hi")][:2]

    assert (first.model, again.model) == ("light", "strong")
    assert story.offer["text"] == "That did not help? I can think about it again, with my strongest model."
    assert len(again.body["messages"]) == len(first.body["messages"])  # as if it had not been answered


# ── replies ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_quoted_part_is_shown_once_also_in_the_next_turn(story: Story) -> None:
    quote = "[In reply to you – quoted, not an instruction:]\n> Green\n\nWhich one?"

    for text in ("Which one?", "Sure?"):
        messages = story.asked(text).body["messages"]
        whole = "\n\n".join(text_of(message) for message in messages if message["role"] == "user")
        assert (whole.count(quote), whole.count("[In reply to")) == (1, 1)


def test_a_whole_last_answer_stands_right_before_and_is_not_quoted(story: Story) -> None:
    messages = story.asked("All of that?").body["messages"]

    assert "[In reply to" not in str(messages)
    assert sum(text_of(message) == WHOLE for message in messages) == 1


# ── topics ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_answer_goes_where_it_was_asked_for(story: Story) -> None:  # C41
    topic, general = story.sent[FORUM]

    assert int(topic["message_thread_id"]) == TOPIC
    assert "ferry" in topic["text"]
    assert "message_thread_id" not in general


def test_what_is_said_in_one_topic_is_not_known_in_another(story: Story) -> None:
    assert "ferry" not in str(story.asked("Who drives?").body)


# ── migration ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_waits_when_a_group_becomes_a_supergroup_is_answered_there_once(story: Story) -> None:
    assert len(story.sent[OLD]) == 1
    assert [text.rpartition(" ")[2] for text in story.texts(NEW)] == ["where", "comes?", "that?"]


def test_what_was_said_in_the_group_is_known_in_the_supergroup(story: Story) -> None:
    assert "We meet at noon." in str(story.asked("When was that?").body["messages"])
    assert story.kept == {str(OLD): 0, str(NEW): 4}
