"""Buttons stand under the end of a reply, and never cost its text."""

from typing import Any

import pytest

from bot.keyboard import keyboard
from bot.reply import RESEND_MS, Sender
from infra import keys
from infra.redis_port import RedisPort
from lanes.claim import Claim
from lanes.keep import keep
from lanes.outcome import Done, HandBack
from schemas.reply import Button
from tests.bot.conftest import THREE_PARTS, attempt, die, one, queue, reply
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault

FRESH = Button(text="Fresh start", command="/new")
STRONG = Button(text="Strong model", command="/model strong")
ROWS = ((FRESH, STRONG),)
SHOWN = {
    "inline_keyboard": [
        [
            {"text": "Fresh start", "callback_data": "/new"},
            {"text": "Strong model", "callback_data": "/model strong"},
        ]
    ]
}


def markups(fake: FakeTelegram) -> list[Any]:
    """Of the messages that people see, in order."""
    return [fields.get("reply_markup") for fields in fake.sent()]


async def test_buttons_stand_under_the_last_part_only(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, THREE_PARTS, buttons=ROWS))

    await attempt(redis, sender)

    assert markups(fake) == [None, None, SHOWN]


async def test_a_resend_has_them_too(redis: RedisPort, sender: Sender, fake: FakeTelegram) -> None:  # C7
    await queue(redis, reply(1, "hello", buttons=ROWS))
    fake.fault(Fault("drop_after"))

    assert await attempt(redis, sender) == HandBack(RESEND_MS)
    await attempt(redis, sender)

    assert fake.texts() == ["hello", "↻ hello"]
    assert markups(fake) == [SHOWN, SHOWN]


async def test_a_resend_that_needs_two_messages_has_them_under_the_second(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "x " * 2047 + "yz", buttons=ROWS))
    fake.fault(Fault("drop_after"))

    await attempt(redis, sender)
    await attempt(redis, sender)

    assert markups(fake) == [SHOWN, None, SHOWN]


async def test_the_plain_form_has_them_too(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:  # C16
    await queue(redis, reply(1, "**hello**", buttons=ROWS))
    fake.fault(Fault("error", description="Bad Request: can't parse entities: whatever"))

    await attempt(redis, sender)

    assert fake.sent() == [{"chat_id": 42, "text": "hello", "reply_markup": SHOWN}]


@pytest.mark.parametrize(
    "description",
    ["BUTTON_DATA_INVALID", "can't parse inline keyboard button: x", "reply markup is too long"],
)
async def test_refused_buttons_cost_no_text(
    redis: RedisPort, sender: Sender, fake: FakeTelegram, description: str
) -> None:
    await queue(redis, reply(1, "**hello**", buttons=ROWS))
    fake.fault(Fault("error", description=f"Bad Request: {description}"))

    await attempt(redis, sender)

    (message,) = fake.sent()
    assert "reply_markup" not in message
    assert message["entities"]


async def test_what_is_refused_altogether_is_tried_without_either_and_set_aside(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "**hello**", buttons=ROWS))
    fake.fault(Fault("error", description="Bad Request: BUTTON_DATA_INVALID"))
    fake.fault(Fault("error", times=-1, description="Bad Request: can't parse entities"))

    outcome = await attempt(redis, sender)

    assert isinstance(outcome, Done)
    assert len(fake.calls) == 3
    assert await redis.zcard(keys.dead()) == 1


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([[("a", "/" + "x" * 63)]], ["a"]),
        ([[("a", "/" + "x" * 64)]], []),
        ([[("a", "/" + "ü" * 32)]], []),
        ([[("a", "/" + "x" * 64), ("b", "/new")]], ["b"]),
        ([[], [("a", "/new")], []], ["a"]),
        ([[("", "/new"), (" \u200b", "/new"), ("a", "")]], []),
        ([], []),
    ],
    ids=[
        "64 bytes",
        "65 bytes",
        "in UTF-8",
        "the rest stays",
        "empty rows",
        "nothing to see or to do",
        "none",
    ],
)
async def test_what_telegram_would_refuse_is_left_out(rows: list[Any], kept: list[str]) -> None:
    buttons = [[Button(text=text, command=command) for text, command in row] for row in rows]

    assert [button["text"] for row in keyboard(buttons) for button in row] == kept
    assert all(row for row in keyboard(buttons))


async def test_parts_that_an_older_release_kept_are_finished_with_buttons(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    await queue(redis, reply(1, "one\ntwo", buttons=ROWS))
    claim: Claim = await one(redis)
    kept = {
        "turn1:answer:place": b'{"v":1,"at":1,"mark":"","left":0}',
        "turn1:answer:parts": b'{"v":1,"parts":[{"text":"one","entities":[],"again":false},{"text":"two"}]}',
    }
    await keep(redis, claim, kept)
    await die(redis, claim)

    await attempt(redis, sender)

    assert fake.sent() == [{"chat_id": 42, "text": "two", "reply_markup": SHOWN}]


async def test_a_reply_of_the_first_version_has_none(
    redis: RedisPort, sender: Sender, fake: FakeTelegram
) -> None:
    old = reply(1, "hello").model_copy(update={"v": 1})
    await queue(redis, old)

    await attempt(redis, sender)

    assert fake.sent() == [{"chat_id": 42, "text": "hello"}]
