"""Parts that are files, and what is sent instead of what Telegram refuses."""

import asyncio

import pytest

from bot.api import BotApi
from bot.plain import plainer
from bot.progress import KeptPart
from bot.reply import RESEND_MS, Sender
from infra import keys
from infra.dead import dead_letters
from infra.redis_port import RedisPort
from lanes.outcome import Done, HandBack
from schemas.reply import Button
from tests.bot.conftest import CHAT, TOKEN, attempt, make_sender, queue, reply, settle, take
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_rules import fault_of
from tests.fakes.telegram_state import Fault, Json

CODE = "\n".join(f"line_{i} = '{i} ü'" for i in range(400))
ANSWER = f"Here it is:\n\n```python\n{CODE}\n```\n\nRun it."
REFUSED = "Bad Request: not enough rights to send documents to the chat"


def kinds(fake: FakeTelegram) -> list[str]:
    return ["file" if "document" in fields else fields["text"] for fields in fake.sent(CHAT)]


async def test_a_file_leaves_in_its_place(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:
    await queue(redis, reply(1, ANSWER, chat_id="-100", topic_id=77))

    assert isinstance(await attempt(redis, sender), Done)

    line, document, end = fake.sent()
    assert (line["text"], end["text"]) == ("Here it is:\n\n📎 code.py", "Run it.")
    assert document == {
        "chat_id": "-100", "message_thread_id": "77", "disable_content_type_detection": "true",
        "document": {"name": "code.py", "content": CODE},
    }  # fmt: skip


async def test_buttons_stand_under_a_file_that_is_the_last_part(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, f"```\n{CODE}\n```", buttons=((Button(text="Retry", command="/retry"),),)))

    await attempt(redis, sender)

    assert ["reply_markup" in fields for fields in fake.sent()] == [False, True]


async def test_a_refused_file_is_sent_as_messages(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, ANSWER))
    fake.fault(Fault("error", method="sendDocument", description=REFUSED, times=-1))

    assert isinstance(await attempt(redis, sender), Done)

    texts = fake.texts(CHAT)
    assert fake.documents() == []
    assert "\n".join(texts[1:-1]) == CODE
    assert (texts[0], texts[-1]) == ("Here it is:\n\n📎 code.py", "Run it.")
    assert await dead_letters(redis) == []


async def test_a_file_of_unknown_fate_is_sent_once_more_and_marked(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C7
    await queue(redis, reply(1, ANSWER))
    fake.fault(Fault("drop_after", method="sendDocument"))

    assert await attempt(redis, sender) == HandBack(RESEND_MS)
    assert isinstance(await attempt(redis, sender), Done)

    assert [fields.get("caption") for fields in fake.sent() if "document" in fields] == [None, "↻"]
    assert kinds(fake)[-1] == "Run it."


async def test_a_429_of_a_file_keeps_its_place(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:
    await queue(redis, reply(1, ANSWER))
    fake.fault(Fault("flood", method="sendDocument", retry_after=7))

    assert await attempt(redis, sender) == HandBack(7_000)
    await redis.delete(keys.send_pause("777", CHAT))
    await attempt(redis, sender)

    assert kinds(fake) == ["Here it is:\n\n📎 code.py", "file", "Run it."]


async def test_what_was_refused_is_not_tried_again_after_a_wait(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, f"```\n{CODE}\n```"))
    fake.fault(Fault("error", method="sendDocument", description=REFUSED))
    await attempt_until_refused(redis, sender, fake)
    await redis.delete(keys.send_pause("777", CHAT))

    await attempt(redis, sender)

    assert len([call for call in fake.calls if call.method == "sendDocument"]) == 1
    assert "\n".join(fake.texts(CHAT)[1:]) == CODE


async def attempt_until_refused(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:
    """The file is refused, then the first message in its place meets a 429."""
    (claim,) = await take(redis)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(sender.run(claim))
        while not any(call.method == "sendDocument" for call in fake.calls):
            await asyncio.sleep(0)
        fake.fault(Fault("flood"))
        outcome = await running
    assert isinstance(outcome, HandBack)
    await settle(redis, claim, outcome)


async def test_refused_formatting_writes_addresses_out(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C16 C17
    await queue(redis, reply(1, "See [the *docs*](https://koi.example/d) 🎈 **now**\\!"))
    fake.fault(Fault("error", description="Bad Request: can't parse entities: odd"))

    assert isinstance(await attempt(redis, sender), Done)

    assert fake.sent() == [{"chat_id": 42, "text": "See the docs (https://koi.example/d) 🎈 now!"}]


async def test_any_refusal_of_a_formatted_text_is_tried_plain(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "**a** b"))
    fake.fault(Fault("error", description="Bad Request: WEBPAGE_URL_INVALID"))

    await attempt(redis, sender)

    assert fake.texts(CHAT) == ["a b"]


@pytest.mark.parametrize("links", [1, 100])
def test_written_out_addresses_may_need_further_messages(links: int) -> None:
    entities: list[Json] = [
        {"type": "text_link", "offset": i * 40, "length": 39, "url": f"https://koi.example/{'x' * 80}{i}"}
        for i in range(links)
    ]

    parts = plainer(KeptPart(text=("x" * 39 + " ") * 102, entities=tuple(entities)))

    assert [fault_of(part.text, part.entities) for part in parts] == [None] * len(parts)
    assert all(any(e["url"] in part.text for part in parts) for e in entities)


def test_what_is_plain_already_cannot_be_plainer() -> None:
    assert plainer(KeptPart(text="a")) == ()


async def test_a_closed_door_is_no_reason_to_send_otherwise(fake: FakeTelegram, redis: RedisPort) -> None:
    nobody = BotApi(TOKEN, "http://127.0.0.1:9")
    await queue(redis, reply(1, f"```\n{CODE}\n```"))

    assert isinstance(await attempt(redis, make_sender(redis, nobody)), HandBack)
    await nobody.close()
    assert fake.calls == []
