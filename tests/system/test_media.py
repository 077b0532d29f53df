"""Photos, albums and documents, by real processes: what the model is shown, once, and what of it when processes die."""

import asyncio
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from infra import keys
from tests.fakes.model_server import Asked, ModelServer
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault, Json
from tests.pictures import BLUE, noise, picture
from tests.system import koi
from tests.system.koi import until
from tests.system.posting import Post, mention, said, shown
from tests.system.stack import Process, Stack
from workers.files import FETCH_S

pytestmark = pytest.mark.system

BOT = "7603"
PHOTO, ALBUM, TEXT, PDF, HEAVY, HUGE, SLOW, BOT_DIES, WORKER_DIES, ANN = PEOPLE = range(131, 141)
HOME = -100763
GROUP = {"id": HOME, "type": "supergroup", "title": "Home"}
SIDES = (300, 200, 100)
"""Widths of an album's pictures, in its order."""
NOTES = b"two litres of milk\nbread"
SURE_S = FETCH_S - 5
"""A bot that is back by then is waited for; on a very busy machine it takes longer, and the photo is said to be late."""
LONG_S = 60.0
"""Longer than anybody waits: who began such a download dies first."""


@dataclass
class Story:
    replies: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """All that was sent, by chat."""
    requests: Sequence[Asked] = ()
    downloads: list[str] = field(default_factory=list[str])
    left: set[str] = field(default_factory=set[str])
    bot_away_s: float = 0.0
    logs: str = ""

    def asked(self, text: str) -> Asked:
        """The only request whose newest message has this text."""
        (found,) = [asked for asked in self.requests if text in said(asked)]
        return found


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with Stack({**koi.ENVIRONMENT, "KOI_TURN__DEBOUNCE": "200ms", "KOI_QUEUE__LEASE": "2s"}) as stack:
        yield asyncio.run(played(stack))


async def played(stack: Stack) -> Story:
    telegram, model, story = FakeTelegram(), ModelServer(), Story()
    async with telegram.running(), model, koi.valkey_of(stack) as redis:
        allowed = {"TELEGRAM_OWNER": str(ANN), "TELEGRAM_ALLOWED_USERS": ",".join(map(str, PEOPLE))}
        bot = stack.koi(
            "bot", "bot", TELEGRAM_API_BASE=telegram.base, TELEGRAM_BOT_TOKEN=koi.token(BOT), **allowed
        )
        worker, heir = (
            stack.koi(name, "worker", ANTHROPIC_BASE_URL=model.url, KOI_MODEL="m", **allowed)
            for name in ("worker-1", "worker-2")
        )
        koi.start(bot, worker, heir)
        play = Play(Post(telegram, model, BOT), bot, worker, heir)
        await play.sent()
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        await until(lambda: "worker_started" in heir.log.read_text("utf-8"), what="the second worker")
        heir.send(signal.SIGSTOP)
        await play.slow()
        await play.bot_dies()
        await play.worker_dies()
        await until(lambda: koi.all_done(redis), what="the end of all lanes")
        story.left = {
            key.decode() async for key in redis.scan_iter(match=f"{keys.file('', '').rstrip(':')}*")
        }
        story.bot_away_s = play.away_s
        await koi.end(bot, heir)
        story.replies = {chat: telegram.texts(chat) for chat in (*PEOPLE, HOME)}
        story.downloads = [call.fields["file_id"] for call in telegram.calls if call.method == "download"]
        story.requests, story.logs = model.requests, koi.logs(stack)
    return story


@dataclass
class Play:
    post: Post
    bot: Process
    worker: Process
    heir: Process
    """A second worker, stopped until the first one is dead."""
    away_s: float = 0.0
    """How long there was no bot."""

    async def sent(self) -> None:
        """Everybody at once."""
        async with asyncio.TaskGroup() as group:
            for part in (self.photo, self.album, self.group_album, self.papers, self.heavy):
                group.create_task(part())

    async def photo(self) -> None:
        await self.post.send(self.post.photo(PHOTO, picture(3000, 2000), caption="What fish is this?"))
        await self.say(PHOTO, "And its name?")

    async def album(self) -> None:
        await self.post.send(*self.three(ALBUM, {"caption": "Which is widest?"}))

    async def group_album(self) -> None:
        """One that is nobody's business, then one that speaks to the bot in its second item; each item of its own."""
        group = {"chat": GROUP}
        for message in self.three(ANN, {"caption": "Our summer"}, number=1, **group):
            self.post.feed(message)
            await self.post.taken()
        first, *rest = self.three(ANN, mention(BOT, "who is it?"), number=2, **group)
        self.post.feed(first)
        await self.post.taken()
        await self.post.send(*rest)

    async def papers(self) -> None:
        post = self.post
        await post.send(post.document(TEXT, "notes.txt", NOTES, caption="What do we need?"))
        letter = b"%PDF-1.7 /Type /Page"
        await post.send(post.document(PDF, "Brief.pdf", letter, caption="Was steht darin?", language="de"))
        await post.send(post.document(HUGE, "film.zip", b"-", size_bytes=30_000_000, caption="Read it"))

    async def heavy(self) -> None:
        content = await asyncio.to_thread(noise, 2900, 2000, quality=95)
        assert 6_000_000 < len(content) < 8_000_000
        await self.post.send(self.post.photo(HEAVY, content, caption="Sharp enough?"))
        await self.say(HEAVY, "Hi there")

    async def slow(self) -> None:
        """A question about a photo that is still on its way."""
        began = len(self.downloads())
        self.delay(1.5)
        self.post.feed(self.post.photo(SLOW, picture(400, 300)))
        await self.fetching(began + 1)
        self.post.telegram.say(BOT, SLOW, "What breed?")
        await self.post.reply(SLOW, 1)

    async def bot_dies(self) -> None:
        """While it fetches a file, and between two items of an album in a group."""
        post, began = self.post, len(self.downloads())
        first, *rest = self.three(ANN, mention(BOT, "and these?"), number=3, chat=GROUP)
        self.delay(LONG_S)
        post.feed(post.photo(BOT_DIES, picture(500, 400, color=BLUE), caption="Is it blue?"), first)
        await post.taken()
        await self.fetching(began + 1)
        koi.kill(self.bot)
        killed_at = time.monotonic()
        answered = len(post.telegram.texts(HOME))
        post.feed(*rest)
        koi.start(self.bot)
        await self.fetching(began + 2)
        self.away_s = time.monotonic() - killed_at
        await post.reply(BOT_DIES, 0)
        await post.reply(HOME, answered)

    async def worker_dies(self) -> None:
        """While a file is fetched for it."""
        post, began = self.post, len(self.downloads())
        self.delay(1)
        post.feed(post.photo(WORKER_DIES, picture(600, 500), caption="Is it red?"))
        await self.fetching(began + 1)
        koi.kill(self.worker)
        self.heir.send(signal.SIGCONT)
        await post.reply(WORKER_DIES, 0)

    def three(self, user_id: int, caption: Json, *, number: int = 0, **more: Json) -> list[Json]:
        """An album with its caption on the second item."""
        captions: tuple[Json, ...] = ({}, caption, {})
        return [
            self.post.photo(user_id, picture(side, 50), media_group_id=f"{user_id}{number}", **more, **words)
            for side, words in zip(SIDES, captions, strict=True)
        ]

    async def say(self, user_id: int, text: str) -> None:
        await self.post.send(self.post.telegram.message(BOT, user_id, text))

    def delay(self, seconds: float) -> None:
        """Of the next download."""
        self.post.telegram.fault(Fault("slow", method="download", delay_s=seconds))

    async def fetching(self, count: int) -> None:
        await until(lambda: len(self.downloads()) >= count, what="a download")

    def downloads(self) -> list[str]:
        return [call.fields["file_id"] for call in self.post.telegram.calls if call.method == "download"]


def widths(asked: Asked) -> list[int]:
    return [image.width for image in shown(asked)]


def test_a_photo_is_shown_scaled_and_once(story: Story) -> None:
    asked = story.asked("What fish is this?")

    (image,) = shown(asked)
    assert (image.width, image.format) == (1568, "JPEG")
    assert said(asked).endswith("[photo sent: 3000×2000]\n\nWhat fish is this?")


def test_the_next_turn_has_only_what_is_told_of_a_photo(story: Story) -> None:
    asked = story.asked("And its name?")

    assert shown(asked) == []
    assert "[photo sent: 3000×2000]\\n\\nWhat fish is this?" in repr(asked.body["messages"])


def test_an_album_is_one_turn_in_order_with_its_caption(story: Story) -> None:  # C40
    assert widths(story.asked("Which is widest?")) == list(SIDES)
    assert len(story.replies[ALBUM]) == 1


def test_an_album_in_a_group_is_one_turn_if_one_item_speaks_to_the_bot(story: Story) -> None:  # C40
    asked = story.asked("who is it?")

    assert widths(asked) == list(SIDES)
    assert said(asked).count("[From ") == 1


def test_an_album_in_a_group_that_speaks_to_nobody_is_not_heard(story: Story) -> None:  # C42
    assert not [asked for asked in story.requests if "Our summer" in str(asked.body)]
    assert len(story.replies[HOME]) == 2  # to the two that did


def test_a_text_file_is_in_the_request(story: Story) -> None:
    asked = story.asked("What do we need?")

    assert '<document name="notes.txt">\ntwo litres of milk\nbread\n</document>' in said(asked)


def test_a_pdf_that_the_service_does_not_take_is_told_to_both(story: Story) -> None:
    (reply,) = story.replies[PDF]

    assert "[Here stood a PDF, which you cannot see." in said(story.asked("Was steht darin?"))
    assert reply.endswith(
        "(Damit konnte ich nichts anfangen: Brief.pdf (das Modell, das geantwortet hat, konnte es nicht lesen).)"
    )


def test_six_megabytes_spoil_neither_their_own_turn_nor_the_next(story: Story) -> None:  # C29
    assert widths(story.asked("Sharp enough?")) == [1568]
    assert shown(story.asked("Hi there")) == []
    assert len(story.replies[HEAVY]) == 2


def test_a_file_that_is_too_large_is_said_and_not_fetched(story: Story) -> None:
    (reply,) = story.replies[HUGE]

    assert reply.endswith("(I could not use this: film.zip (too large, at most 8 MB).)")
    assert "film.zip (too large, at most 8 MB)" in str(story.asked("Read it").body)


def test_a_question_does_not_overtake_the_photo_that_it_is_about(story: Story) -> None:  # C12
    photo, question = [asked for asked in story.requests if "[photo sent: 400×300]" in str(asked.body)]

    assert (widths(photo), said(photo).endswith("[photo sent: 400×300]")) == ([400], True)
    assert (shown(question), "What breed?" in said(question)) == ([], True)
    assert len(story.replies[SLOW]) == 2


def test_a_bot_that_died_while_it_fetched_a_file_is_of_no_consequence(story: Story) -> None:
    assert widths(story.asked("Is it blue?")) == [500] or story.bot_away_s > SURE_S
    assert len(story.replies[BOT_DIES]) == 1


def test_an_album_whose_bot_died_between_two_items_is_whole(story: Story) -> None:  # C40
    assert widths(story.asked("and these?")) == list(SIDES)


def test_a_worker_that_died_while_a_file_was_fetched_is_of_no_consequence(story: Story) -> None:
    assert widths(story.asked("Is it red?")) == [600]
    assert len(story.replies[WORKER_DIES]) == 1


def test_nothing_of_the_files_is_left(story: Story) -> None:
    assert story.left == set() or story.bot_away_s > SURE_S  # what comes too late expires


@pytest.mark.parametrize("word", ["fish", "milk", "summer", "notes.txt", "Brief.pdf", "film.zip", koi.SECRET])
def test_no_log_holds_what_was_sent(story: Story, word: str) -> None:
    assert word not in story.logs
