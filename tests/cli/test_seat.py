"""Who talks to which bot in the terminal, and their words as a message."""

import pytest

from cli.seat import message_from, seat_of
from infra import keys
from infra.pushes import push_message
from infra.settings import BotSettings, Settings
from schemas.inbound import InboundMessage
from schemas.wire import load

SETTINGS = Settings(bots=(BotSettings(name="work", memory="office", language="de"),))


def said(text: str, *, user: str = "jo", bot: str = "") -> InboundMessage:
    seat = seat_of(SETTINGS, user=user, bot=bot, owner_id="")
    return message_from(text, seat, now_ms=1_000, nonce="ab")


def test_without_a_name_the_person_is_the_owner_with_the_owners_memory() -> None:
    seat = seat_of(SETTINGS, user="", bot="", owner_id="42")

    assert (seat.user_id, seat.chat_id) == ("42", "local:owner")


def test_as_long_as_nobody_is_owner_the_person_is_called_so() -> None:
    assert seat_of(SETTINGS, user="", bot="", owner_id="").user_id == "local:owner"


def test_a_named_person_is_not_the_owner() -> None:
    assert seat_of(SETTINGS, user="jo", bot="", owner_id="42").user_id == "local:jo"


def test_two_bots_are_two_lanes_with_one_memory() -> None:
    first, second = said("a", bot="one"), said("b", bot="two")

    assert first.lane != second.lane
    assert first.owner == second.owner == "home:u:local:jo"


def test_a_bot_of_another_store_has_another_memory_and_its_own_language() -> None:
    message = said("a", bot="work")

    assert (message.owner, message.language, message.bot) == ("office:u:local:jo", "de", "work")


def test_a_message_goes_to_the_inbox_of_its_lane_as_it_is() -> None:
    message = said("hello")

    push = push_message(message)

    assert (push.job_id, push.queue) == ("in:local:local:jo:0", keys.inbox_queue())
    assert load(InboundMessage, push.body) == message
    assert (push.item_id, push.owner, push.solo, push.hold_ms) == ("local:1000-ab", message.owner, False, 0)


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        pytest.param("/new", "new", "", id="bare"),
        pytest.param("/Forget last", "forget", "last", id="upper case"),
        pytest.param("/new@koi two\nlines", "new", "two\nlines", id="with a bot's name, over two lines"),
        pytest.param("/usr/bin is full", "", "", id="a path is no command"),
        pytest.param("a /new", "", "", id="not at the beginning"),
    ],
)
def test_a_command_is_recognised_and_taken_alone(text: str, command: str, argument: str) -> None:
    message = said(text)

    assert (message.command, message.argument) == (command, argument)
    assert push_message(message).solo is bool(command)


def test_lone_surrogates_and_nuls_are_cleaned() -> None:
    assert said("a\0b\ud800c").text == "ab�c"


def test_a_message_of_100_000_characters_is_taken_whole() -> None:
    assert len(said("x" * 100_000).text) == 100_000
