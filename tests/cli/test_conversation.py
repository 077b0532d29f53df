"""What keys and replies do to a conversation in the terminal."""

import asyncio
from io import StringIO
from typing import cast

import pytest
from rich.console import Console
from rich.text import Text

from cli.conversation import Conversation
from cli.keyboard import Keyboard
from cli.replies import Replies
from cli.room import Room
from cli.screen import Screen
from cli.seat import seat_of
from infra.redis_port import RedisPort
from infra.settings import Settings
from schemas.reply import Button
from tests.cli.conftest import BUTTONS, reply


@pytest.fixture
def conversation() -> Conversation:
    seat = seat_of(Settings(), user="jo", bot="", owner_id="")
    room = Room(cast("RedisPort", None), seat, lambda: 1_000, cast("Replies", None))
    screen = Screen(Console(file=StringIO(), width=60, height=20, force_terminal=True))
    return Conversation(room, screen, asyncio.Event())


def press(conversation: Conversation, keys: str) -> None:
    for key in Keyboard().feed(keys.encode()):
        conversation.take(key)


def waiting(conversation: Conversation) -> list[str]:
    return list(conversation.waiting)


def seen(conversation: Conversation) -> str:
    return cast("StringIO", conversation.screen.console.file).getvalue()


def test_enter_sends_what_was_typed(conversation: Conversation) -> None:
    press(conversation, "hello\r")

    (message,) = conversation.unsent.values()
    assert message.text == "hello"
    assert waiting(conversation) == [message.id]
    assert conversation.line.text == ""


def test_a_blank_line_is_not_sent(conversation: Conversation) -> None:
    press(conversation, "  \r")

    assert conversation.unsent == {}


def test_the_arrows_bring_back_what_was_sent(conversation: Conversation) -> None:
    press(conversation, "one\rtwo\r\x1b[A\x1b[A\x1b[A\x1b[B")

    assert conversation.line.text == "two"


def test_a_reply_ends_the_wait_for_its_message_and_all_before_it(conversation: Conversation) -> None:
    press(conversation, "one\rtwo\rthree\r")
    _, second, third = waiting(conversation)

    conversation.hear(reply(answers=(second,)))

    assert waiting(conversation) == [third]
    assert "answer 1" in seen(conversation)
    assert "asked earlier" not in seen(conversation)


def test_a_reply_to_another_window_is_shown_as_such_and_ends_no_wait(conversation: Conversation) -> None:
    press(conversation, "one\r")

    conversation.hear(reply(answers=("local:1-elsewhere",)))

    assert len(waiting(conversation)) == 1
    assert "asked earlier, or elsewhere" in seen(conversation)


def test_buttons_stand_under_the_reply_with_their_commands(conversation: Conversation) -> None:
    conversation.hear(reply().model_copy(update={"buttons": BUTTONS}))

    shown = Text.from_ansi(seen(conversation)).plain
    lines = [line.strip() for line in shown.splitlines()]
    assert "[Fresh start: /new]   [Strong model: /model strong]" in lines
    assert "[Forget it: /forget #1]" in lines


def test_a_button_cannot_steer_the_terminal(conversation: Conversation) -> None:
    odd = Button(text="\x1b[2Jgone", command="/new\x07")

    conversation.hear(reply().model_copy(update={"buttons": ((odd,), ())}))

    assert "\x1b[2J" not in seen(conversation)
    assert "[[2Jgone: /new]" in seen(conversation)


def test_a_reply_cannot_steer_the_terminal(conversation: Conversation) -> None:
    conversation.hear(reply(text="\x1b[2Jgone \x1b]0;title\x07"))

    assert "\x1b[2J" not in seen(conversation)
    assert "\x1b]0" not in seen(conversation)


def test_ctrl_d_leaves_at_once_if_nothing_is_waited_for(conversation: Conversation) -> None:
    press(conversation, "\x04")

    assert conversation.stop.is_set()


def test_ctrl_d_waits_for_the_answers_on_their_way(conversation: Conversation) -> None:
    press(conversation, "one\r\x04")
    assert not conversation.stop.is_set()

    conversation.hear(reply(answers=tuple(waiting(conversation))))

    assert conversation.stop.is_set()
    assert not conversation.room.leave_now


def test_ctrl_d_within_a_line_deletes(conversation: Conversation) -> None:
    press(conversation, "ab\x01\x04")

    assert conversation.line.text == "b"
    assert not conversation.stop.is_set()


def test_ctrl_c_leaves_without_waiting(conversation: Conversation) -> None:
    press(conversation, "one\r\x04\x03")

    assert conversation.stop.is_set()
    assert conversation.room.leave_now
