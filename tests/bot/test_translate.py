"""What Telegram sends, as koi's own message."""

from typing import Any

import pytest

from bot.translate import Ignored, Read, read, tap_in
from schemas.inbound import InboundMessage
from schemas.wire import dump, load
from tests.bot.conftest import ME, NOW_MS

JO = {"id": 42, "is_bot": False, "first_name": "Jo", "last_name": "Müller", "language_code": "de-AT"}
PRIVATE = {"id": 42, "type": "private", "first_name": "Jo"}
GROUP = {"id": -100123, "type": "supergroup", "title": "Home", "is_forum": True}
BOT_USER = {"id": 777, "is_bot": True, "first_name": "Parcel", "username": "koi777_bot"}
VOICE = {"file_id": "v", "file_unique_id": "v", "duration": 3}
FORWARD = {"type": "hidden_user", "sender_user_name": "Max", "date": 1_700_000_000}


def update(**message: Any) -> dict[str, Any]:
    base = {"message_id": 5, "date": 1_700_000_000, "from": JO, "chat": PRIVATE}
    return {"update_id": 9001, "message": {**base, **message}}


def message_of(raw: dict[str, Any]) -> InboundMessage:
    found = read(raw, ME, NOW_MS)
    assert isinstance(found, Read), found
    return found.message


def reason_of(raw: dict[str, Any]) -> str:
    found = read(raw, ME, NOW_MS)
    assert isinstance(found, Ignored), found
    return found.reason


def test_a_private_message() -> None:
    assert message_of(update(text="Check wo das Paket bleibt")) == InboundMessage(
        id="777:9001", bot_id="777", bot="parcel", store="home", chat_id="42", user_id="42", user_name="Jo Müller",
        language="de", message_id=5, sent_at_ms=1_700_000_000_000, text="Check wo das Paket bleibt",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        ("/forget all", "forget", "all"),
        ("/New  hello\nthere ", "new", "hello\nthere"),
        ("/start@Koi777_BOT ABCD2345", "start", "ABCD2345"),
        ("/help", "help", ""),
    ],
)
def test_commands(text: str, command: str, argument: str) -> None:
    message = message_of(update(text=text))

    assert (message.kind, message.command, message.argument) == ("command", command, argument)


@pytest.mark.parametrize("text", ["/usr/bin/env", "say /help", "/", "//x"])
def test_what_only_looks_like_a_command_is_text(text: str) -> None:
    assert message_of(update(text=text)).kind == "text"


def test_a_command_for_another_bot_is_ignored() -> None:
    assert reason_of(update(text="/forget@other_bot all")) == "a command for another bot"


def test_a_forwarded_command_is_no_command() -> None:  # C39
    assert message_of(update(text="/forget all", forward_origin=FORWARD)).kind == "text"


CHANNEL = {"id": -1009, "type": "channel", "title": "News\u2028 of\tthe day"}
USER = {"id": 5, "is_bot": False, "first_name": "Max", "last_name": "Meier"}


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": USER}, "Max Meier"),
        ({"type": "hidden_user", "sender_user_name": "Max"}, "Max"),
        ({"type": "chat", "sender_chat": GROUP}, "Home"),
        ({"type": "channel", "chat": CHANNEL, "message_id": 7}, "News of the day"),
        ({"type": "hidden_user", "sender_user_name": "M\x00a\nx" + "x" * 100}, "Ma x" + "x" * 60),
        ({"type": "hidden_user", "sender_user_name": " \n"}, "somebody"),
        ({"type": "chat", "sender_chat": {"id": -5, "type": "group"}}, "somebody"),
    ],
    ids=["person", "hidden person", "group", "channel", "long and odd", "blank", "nameless"],
)
def test_a_forward_says_whose_words_it_is(origin: dict[str, Any], name: str) -> None:  # C39
    message = message_of(update(text="transfer 500 to Max", forward_origin={"date": 1_700_000_000, **origin}))

    assert (message.v, message.forwarded_from) == (2, name)


PLACE = {"latitude": 52.52, "longitude": 13.405}
VENUE = {"location": PLACE, "title": "Adlon", "address": "Unter den Linden"}


def test_a_location_arrives_with_its_coordinates() -> None:
    message = message_of(update(location=PLACE))

    assert (message.v, message.kind, message.media, message.text) == (2, "unsupported", "location", "")
    assert (message.latitude, message.longitude) == (52.52, 13.405)


def test_a_venue_is_a_place_in_words_too() -> None:
    message = message_of(update(location=PLACE, venue=VENUE))

    assert (message.kind, message.media, message.shared) == ("text", "", "venue: Adlon, Unter den Linden")
    assert (message.latitude, message.longitude) == (52.52, 13.405)


def test_what_an_older_worker_can_read_is_written_as_it_knows_it() -> None:
    """It refuses fields that it does not know: a message that needs none of the new ones has none of them."""
    plain = dump(message_of(update(text="x")))
    forward = dump(message_of(update(text="x", forward_origin=FORWARD)))

    assert b'"v":1' in plain
    assert not any(name in plain for name in (b"forwarded_from", b"latitude", b"longitude"))
    assert b'"v":2' in forward
    assert load(InboundMessage, forward).forwarded_from == "Max"
    assert load(InboundMessage, plain).forwarded_from == ""


def test_a_place_at_zero_degrees_is_a_place() -> None:
    message = message_of(update(location={"latitude": 0.0, "longitude": 0.0}))

    assert load(InboundMessage, dump(message)) == message
    assert (message.latitude, message.longitude) == (0.0, 0.0)


def test_a_caption_is_the_text() -> None:
    photo = [{"file_id": "p", "file_unique_id": "p", "width": 1, "height": 1}]

    message = message_of(update(photo=photo, caption="what breed?"))

    assert (message.kind, message.text, message.media) == ("text", "what breed?", "")


def test_media_without_words_is_unsupported() -> None:
    message = message_of(update(voice=VOICE))

    assert (message.kind, message.text, message.media) == ("unsupported", "", "voice")


def test_half_characters_and_nul_are_cleaned() -> None:
    assert message_of(update(text="a\x00b\ud83dc")).text == "ab\ufffdc"


def test_a_very_long_text_is_taken_whole() -> None:
    assert len(message_of(update(text="x" * 100_000)).text) == 100_000


@pytest.mark.parametrize(
    ("code", "language"),
    [("pt-br", "pt"), ("zh-hans", "zh"), ("DE", "de"), (None, "en"), ("", "en"), ("日", "en")],
)
def test_languages(code: str | None, language: str) -> None:
    sender = {**JO, "language_code": code}

    assert message_of(update(text="x", **{"from": sender})).language == language


@pytest.mark.parametrize(
    ("message", "topic_id"),
    [
        ({"message_thread_id": 77, "is_topic_message": True}, 77),
        ({"message_thread_id": 1, "is_topic_message": True}, 0),
        ({"message_thread_id": 55}, 0),
        ({}, 0),
    ],
    ids=["topic", "General", "thread of replies", "none"],
)
def test_topics(message: dict[str, Any], topic_id: int) -> None:  # C41
    found = message_of(update(text="/help", chat=GROUP, **message))

    assert (found.topic_id, found.lane) == (topic_id, f"777:-100123:{topic_id}")


@pytest.mark.parametrize(
    "message",
    [
        {"text": "🎈 hey @koi777_bot", "entities": [{"type": "mention", "offset": 7, "length": 11}]},
        {"text": "hey Parcel", "entities": [{"type": "text_mention", "offset": 4, "length": 6, "user": BOT_USER}]},
        {"text": "/help"},
        {"text": "and?", "reply_to_message": {"message_id": 4, "date": 1, "chat": GROUP, "from": BOT_USER, "text": "x"}},
        {"voice": VOICE, "caption": "@KOI777_bot", "caption_entities": [{"type": "mention", "offset": 0, "length": 11}]},
    ],
    ids=["mention", "text mention", "command", "reply", "caption"],
)  # fmt: skip
def test_in_a_group_the_bot_answers_who_addresses_it(message: dict[str, Any]) -> None:
    assert message_of(update(chat=GROUP, **message)).chat_kind == "group"


@pytest.mark.parametrize(
    "message",
    [
        {"text": "hello all"},
        {"text": "ask @koi777_bot_2", "entities": [{"type": "mention", "offset": 4, "length": 13}]},
        {"text": "and?", "reply_to_message": {"message_id": 4, "date": 1, "chat": GROUP, "from": JO, "text": "x"}},
        {"voice": VOICE},
    ],
    ids=["nobody", "another bot", "a person", "voice"],
)  # fmt: skip
def test_in_a_group_the_bot_does_not_answer_others(message: dict[str, Any]) -> None:  # C42
    assert reason_of(update(chat=GROUP, **message)) == "not addressed in a group"


# ── taps on buttons ──────────────────────────────────────────────────────────────────────────────────────────────
UNDER = {"message_id": 5, "date": 1_700_000_000, "from": BOT_USER, "chat": PRIVATE, "text": "tap here"}
GONE = {"message_id": 5, "date": 0, "chat": PRIVATE}
"""A message that the bot cannot see any more (InaccessibleMessage)."""
PLAIN_GROUP = {"id": -5, "type": "group", "title": "x"}


def tap(**query: Any) -> dict[str, Any]:
    base = {"id": "q", "from": JO, "chat_instance": "1", "data": "/model strong", "message": UNDER}
    return {"update_id": 9001, "callback_query": {**base, **query}}


def test_a_tap_is_a_command() -> None:
    assert message_of(tap()) == InboundMessage(
        id="777:9001", bot_id="777", bot="parcel", store="home", chat_id="42", user_id="42", user_name="Jo Müller",
        language="de", message_id=5, sent_at_ms=NOW_MS, text="/model strong", kind="command", command="model",
        argument="strong",
    )  # fmt: skip


def test_a_tap_is_what_the_same_words_would_be() -> None:
    typed = message_of(update(text="/model strong"))

    assert message_of(tap()) == typed.model_copy(update={"sent_at_ms": NOW_MS})


@pytest.mark.parametrize(
    ("under", "lane"),
    [
        ({**UNDER, "chat": GROUP, "message_thread_id": 77, "is_topic_message": True}, "777:-100123:77"),
        ({**UNDER, "chat": GROUP}, "777:-100123:0"),
        (GONE, "777:42:0"),
        ({**GONE, "chat": {**PRIVATE, "is_forum": True}}, "777:42:0"),
        ({**GONE, "chat": PLAIN_GROUP}, "777:-5:0"),
    ],
    ids=["topic", "General", "gone, private", "gone, private with topics", "gone, group without topics"],
)
def test_a_tap_belongs_where_its_button_stands(under: dict[str, Any], lane: str) -> None:  # C41
    assert message_of(tap(message=under)).lane == lane


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"data": "page:3"}, "not a button of ours"),
        ({"data": None}, "not a button of ours"),
        ({"data": None, "game_short_name": "chess"}, "not a button of ours"),
        ({"data": "/usr/bin/env"}, "not a button of ours"),
        ({"message": None, "inline_message_id": "x"}, "not a button of ours"),
        ({"data": "/forget@other_bot all"}, "a command for another bot"),
        ({"from": BOT_USER}, "not from a person"),
        ({"message": {**UNDER, "chat": {"id": -1, "type": "channel"}}}, "in a channel"),
        ({"message": {**GONE, "chat": GROUP}}, "in a topic that Telegram no longer names"),
        ({"message": {"message_id": "what"}}, "unreadable: "),
    ],
)
def test_a_tap_that_is_nothing_for_us(query: dict[str, Any], reason: str) -> None:
    assert reason_of(tap(**query)).startswith(reason)


@pytest.mark.parametrize(
    ("raw", "query_id"),
    [
        (tap(), "q"),
        (tap(message={"message_id": "what"}), "q"),
        (update(text="x"), ""),
        ({"update_id": 1, "callback_query": "x"}, ""),
        ({"update_id": 1, "callback_query": {"id": 3}}, ""),
    ],
)
def test_every_tap_can_be_answered(raw: dict[str, Any], query_id: str) -> None:
    assert tap_in(raw) == query_id


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"update_id": 1}, "no message but nothing"),
        ({"update_id": 1, "poll_answer": {"poll_id": "x", "option_ids": []}}, "unreadable: "),
        ({"update_id": 1, "quantum_message": {"qubits": 3}}, "no message but quantum_message"),
        ({"update_id": 1, "message": {"message_id": "what", "chat": 3}}, "unreadable: "),
        ({"update_id": "x"}, "unreadable: "),
        (update(new_chat_title="x"), "a service message"),
        (update(text="x", **{"from": BOT_USER}), "not from a person"),
        (update(text="x", sender_chat=GROUP), "not from a person"),
        (update(text="x", chat={"id": -1, "type": "channel"}), "in a channel"),
    ],
)
def test_the_rest_is_ignored(raw: dict[str, Any], reason: str) -> None:
    assert reason_of(raw).startswith(reason)


def test_a_parser_that_breaks_costs_one_update(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("bot.translate.translate", broken)

    assert reason_of(update(text="x")) == "unreadable"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"text": "x" * 4000}, True),
        ({"text": "🎈" * 2000}, True),
        ({"text": "x" * 3999}, False),
        ({"text": "x", "forward_origin": FORWARD}, True),
        ({"caption": "x", "voice": VOICE, "media_group_id": "1"}, True),
    ],
    ids=["a full message", "in UTF-16 units", "shorter", "forward", "album"],
)
def test_what_may_be_only_a_part(message: dict[str, Any], expected: bool) -> None:  # C14 C15
    found = read(update(**message), ME, NOW_MS)

    assert isinstance(found, Read)
    assert found.maybe_part is expected
