"""What a turn has written is published while it writes; whatever becomes of that, the answer comes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from infra import keys
from infra.redis_port import RedisPort
from llm.candidates import Candidate
from llm.chain import Chain
from llm.events import Text
from llm.request import CallEnded
from llm.routing import Models
from schemas.draft import TurnDraft
from schemas.wire import load
from tests.llm.scripted import HELLO, OVERLOADED, SERVICE, ScriptedProvider, Step, jumping, says
from tests.workers.stage import House
from workers.drafts import EVERY_S, FIRST_S, MOST_UNITS, Drafts, beginning, shows_drafts
from workers.outgoing import Place
from workers.services import Brain

PRIVATE = Place("7", "42", 3, "home:u:42")
GROUP = replace(PRIVATE, chat_id="-100123")
TERMINAL = Place("local", "local:jo")


@dataclass
class Radio:
    """What is published, and when."""

    heard: list[tuple[float, TurnDraft]] = field(default_factory=list[tuple[float, TurnDraft]])
    fails: Callable[[], Awaitable[None]] | None = None

    async def publish(self, channel: str, message: bytes) -> int:
        assert channel == keys.draft_channel("7")
        if self.fails:
            await self.fails()
        self.heard.append((asyncio.get_running_loop().time(), load(TurnDraft, message)))
        return 0

    @property
    def texts(self) -> list[str]:
        return [draft.text for _, draft in self.heard if not draft.over]

    @property
    def over(self) -> list[bool]:
        return [draft.over for _, draft in self.heard]


async def ignore(_: CallEnded) -> None:
    pass


def told(radio: Radio, *scripts: tuple[Step, ...], place: Place = PRIVATE, rounds: int = 1) -> float:
    """Ask a model that says this, so many times in one turn; gives the seconds it took."""

    async def ask() -> float:
        now = asyncio.get_running_loop().time
        began = now()
        drafts = Drafts(radio.publish, place, "t1")
        chain = Chain([(Candidate(SERVICE, "a"), ScriptedProvider(scripts))], chance=lambda: 0.0)
        for _ in range(rounds):
            await chain.complete(HELLO, deadline_at=began + 900, on_call=ignore, on_text=drafts.show)
        await drafts.over()
        return now() - began

    return jumping(ask())


def slowly(words: int, *, every_s: float = 0.1, word: str = "word ") -> tuple[Step, ...]:
    said = tuple(step for _ in range(words) for step in (every_s, Text(word)))
    return (*said, *says("end"))


def test_the_whole_text_grows_about_three_times_a_second() -> None:
    radio = Radio()

    took_s = told(radio, slowly(50))

    assert radio.heard[0][1] == TurnDraft(turn_id="t1", chat_id="42", topic_id=3, text=radio.texts[0])
    assert 8 <= len(radio.texts) <= (took_s - FIRST_S) / EVERY_S + 1
    stamps = [at for at, draft in radio.heard if not draft.over]
    assert min(later - at for at, later in pairwise(stamps)) >= EVERY_S
    lengths = [len(text) for text in radio.texts]
    assert lengths == sorted(set(lengths))
    assert radio.over == [False] * len(radio.texts) + [True]


def test_an_answer_that_is_done_in_a_moment_is_not_drafted() -> None:
    radio = Radio()

    told(radio, slowly(6))

    assert radio.heard == []


@pytest.mark.parametrize("place", [GROUP, TERMINAL], ids=["a group", "the terminal"])
def test_only_private_chats_see_drafts(place: Place) -> None:
    radio = Radio()

    told(radio, slowly(50), place=place)

    assert radio.heard == []
    assert not shows_drafts(place)


def test_a_second_try_is_shown_once_it_has_more_than_the_first() -> None:
    radio = Radio()

    told(radio, (*slowly(20)[:40], OVERLOADED), slowly(40, word="other "))

    lengths = [len(text) for text in radio.texts]
    assert lengths == sorted(set(lengths))
    assert radio.texts[-1].startswith("other ")


def test_after_a_round_of_tools_the_text_begins_anew() -> None:
    radio = Radio()

    told(radio, slowly(20), slowly(10, word="new "), rounds=2)

    assert "new new" in radio.texts[-1]
    assert "word" not in radio.texts[-1]


def test_a_long_text_is_shown_up_to_what_a_draft_may_have() -> None:
    radio = Radio()

    told(radio, slowly(100, word="😀" * 50))

    assert max(len(text) for text in radio.texts) == MOST_UNITS // 2
    assert len(radio.texts) == len(set(radio.texts))


def test_what_koi_put_before_the_message_is_not_shown() -> None:
    radio = Radio()
    block = "<conversation_history>\n[05.04. 14:23]\nUser: secret\n</conversation_history>\n"

    told(radio, (Text(block), *slowly(20)))

    assert radio.texts
    assert not any("secret" in text for text in radio.texts)


def test_no_character_is_cut_in_half() -> None:
    assert beginning("x" + "😀" * 3_000) == "x" + "😀" * 1_999
    assert beginning("short") == "short"


async def refuses() -> None:
    raise RedisConnectionError


async def hangs() -> None:
    await asyncio.sleep(1000)


@pytest.mark.parametrize("fails", [refuses, hangs])
def test_whatever_becomes_of_drafts_the_answer_comes(fails: Callable[[], Awaitable[None]]) -> None:
    radio = Radio(fails=fails)

    assert told(radio, slowly(10)) < 10


# ── in a turn ────────────────────────────────────────────────────────────────────────────────────────────────────
@asynccontextmanager
async def listening(redis: RedisPort, heard: list[TurnDraft]) -> AsyncGenerator[None]:
    pubsub = redis.pubsub()
    await pubsub.subscribe(keys.draft_channel("7"))

    async def hear() -> None:
        while True:
            message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=None)
            if message is not None:
                heard.append(load(TurnDraft, message["data"]))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(hear())
        yield
        async with asyncio.timeout(5):
            while not heard or not heard[-1].over:
                await asyncio.sleep(0.002)
        task.cancel()
    await pubsub.aclose()


async def test_a_turn_publishes_what_it_writes_and_then_that_it_is_over(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.drafts.FIRST_S", 0.0)
    chain = Chain([(Candidate(SERVICE, "a"), ScriptedProvider([(Text("One. "), 0.4, *says("Two."))]))])
    house.services = replace(house.services, brain=Brain(chain, Models(("a",))))
    heard: list[TurnDraft] = []

    async with listening(house.redis, heard):
        assert await house.say("Tell me") == "One. Two."

    assert [draft.text for draft in heard] == ["One. ", "One. Two.", ""]
    assert {(draft.chat_id, draft.turn_id) for draft in heard} == {("42", "test:1")}
