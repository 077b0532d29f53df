"""What people do beside writing: reply, quote, edit, react, send things; and what Telegram does to groups."""

from typing import Any

import pytest

from bot.api import ALLOWED
from bot.translate import Ignored, Read, migration_in, read
from schemas.inbound import Attachment, InboundMessage
from schemas.wire import dump, load
from tests.bot.conftest import ME, NOW_MS
from tests.bot.test_translate import (
    BOT_USER,
    FORWARD,
    GROUP,
    JO,
    PRIVATE,
    USER,
    VOICE,
    message_of,
    reason_of,
    update,
)

SENT_S = 1_700_000_000
HOUR_S = 3600
TEXT = {"message_id": 4, "date": SENT_S, "chat": PRIVATE, "text": "Soll Mittwoch kommen"}


def edit(**message: Any) -> dict[str, Any]:
    """The same message, edited a minute later."""
    raw = update(**{"text": "book 6", "edit_date": SENT_S + 60, **message})
    return {"update_id": raw["update_id"], "edited_message": raw["message"]}


def reaction(new: tuple[str, ...] = ("👎",), old: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    def listed(some: tuple[str, ...]) -> list[dict[str, str]]:
        return [{"type": "emoji", "emoji": one} for one in some]

    fields = {"chat": PRIVATE, "message_id": 6, "user": JO, "date": SENT_S, "old_reaction": listed(old),
              "new_reaction": listed(new), **more}  # fmt: skip
    return {"update_id": 9001, "message_reaction": fields}


# ── replies and quotes ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("replied", "said", "whose"),
    [
        ({**TEXT, "from": BOT_USER}, "Soll Mittwoch kommen", "bot"),
        ({**TEXT, "from": USER}, "Soll Mittwoch kommen", "Max Meier"),
        ({**TEXT, "from": {**USER, "first_name": "bot", "last_name": None}}, "Soll Mittwoch kommen", "Bot"),
        ({**TEXT, "from": BOT_USER, "text": "x" * 700}, "x" * 500, "bot"),
        ({**TEXT, "from": JO, "forward_origin": FORWARD}, "Soll Mittwoch kommen", "Max"),
        ({**TEXT, "from": JO, "sender_chat": GROUP}, "Soll Mittwoch kommen", "Home"),
        ({**TEXT, "from": USER, "text": None, "caption": "our cat"}, "our cat", "Max Meier"),
        ({**TEXT, "from": USER, "text": None, "voice": VOICE}, "(voice)", "Max Meier"),
        (
            {**TEXT, "from": USER, "text": None, "dice": {"emoji": "🎲", "value": 4}},
            "dice 🎲: 4",
            "Max Meier",
        ),
    ],
    ids=["bot", "person", "called bot", "long", "forward", "as the group", "caption", "voice", "dice"],
)
def test_a_reply_says_what_it_is_to(replied: dict[str, Any], said: str, whose: str) -> None:
    message = message_of(update(text="and?", reply_to_message=replied))

    assert (message.v, message.replied_text, message.replied_from, message.replied_message_id) == (
        2,
        said,
        whose,
        4,
    )
    assert load(InboundMessage, dump(message)) == message


def test_a_quote_is_the_part_that_is_meant() -> None:
    quote = {"text": "Mittwoch", "position": 5}

    message = message_of(update(text="sure?", quote=quote, reply_to_message={**TEXT, "from": BOT_USER}))

    assert (message.replied_text, message.replied_from) == ("Mittwoch", "bot")


def test_a_quote_from_another_chat_says_whose_words_it_is() -> None:
    external = {"origin": {"date": 1, "type": "hidden_user", "sender_user_name": "Max"}}

    message = message_of(
        update(text="true?", quote={"text": "it rains", "position": 0}, external_reply=external)
    )

    assert (message.replied_text, message.replied_from, message.replied_message_id) == (
        "it rains",
        "Max",
        None,
    )


def test_a_message_in_a_topic_is_no_reply_to_the_topic() -> None:  # C41 C42
    begun = {"message_id": 77, "date": 1, "chat": GROUP, "from": BOT_USER,
             "forum_topic_created": {"name": "Trip", "icon_color": 1}}  # fmt: skip
    fields = {"chat": GROUP, "message_thread_id": 77, "is_topic_message": True, "reply_to_message": begun}

    assert reason_of(update(text="hello all", **fields)) == "not addressed in a group"
    assert message_of(update(text="/help", **fields)).v == 1


def test_a_reply_to_a_service_message_is_a_plain_message() -> None:
    replied = {"message_id": 4, "date": 1, "chat": PRIVATE, "from": JO, "new_chat_title": "x"}

    assert message_of(update(text="x", reply_to_message=replied)).v == 1


# ── edits ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_edit_is_the_message_with_its_new_text() -> None:  # C37
    message = message_of(edit())

    original = message_of(update(text="book 6"))
    assert message == original.model_copy(update={"v": 2, "edited": True})


@pytest.mark.parametrize("text", ["/forget all", "/forget@koi777_bot all"])
def test_an_edit_is_never_a_command(text: str) -> None:  # C37
    message = message_of(edit(text=text))

    assert (message.kind, message.command, message.argument, message.text) == ("text", "", "", text)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (edit(edit_date=SENT_S + 48 * HOUR_S + 1), "an edit of something old"),
        (edit(edit_date=None), "an edit of something old"),
        (edit(text=None, location={"latitude": 1, "longitude": 1}), "an edit without words"),
        (edit(text=None, voice=VOICE), "an edit without words"),
        (edit(chat=GROUP), "not addressed in a group"),
        (edit(**{"from": BOT_USER}), "not from a person"),
        (edit(text="/forget@other_bot all"), "a command for another bot"),
    ],
    ids=["old", "no date", "live location", "voice", "group", "bot", "another bot's command"],
)
def test_edits_that_say_nothing_to_us(raw: dict[str, Any], reason: str) -> None:  # C37 C42
    assert reason_of(raw) == reason


def test_an_edit_of_two_days_is_still_heard() -> None:  # C37
    assert message_of(edit(edit_date=SENT_S + 48 * HOUR_S)).edited


def test_an_edit_waits_for_nothing() -> None:
    found = read(edit(text="x" * 4096), ME, NOW_MS)

    assert isinstance(found, Read)
    assert found.maybe_part is False


# ── reactions ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_dislike_asks_for_the_offer_of_a_retry() -> None:
    assert message_of(reaction()) == InboundMessage(
        id="777:9001", bot_id="777", bot="parcel", chat_id="42", user_id="42", user_name="Jo Müller", language="de",
        message_id=6, sent_at_ms=SENT_S * 1000, text="/retry offer", kind="command", command="retry",
        argument="offer", reaction="👎", v=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (reaction(("👍",)), "a reaction that asks for nothing"),
        (reaction(()), "a reaction that asks for nothing"),
        (reaction((), ("👎",)), "a reaction that asks for nothing"),
        (reaction(("👎", "🔥"), ("👎",)), "a reaction that asks for nothing"),
        (reaction(user=None, actor_chat=GROUP), "not from a person"),
        (reaction(user=BOT_USER), "not from a person"),
        (reaction(chat=GROUP), "in a topic that Telegram does not name"),
        (reaction(chat={"id": -1, "type": "channel"}), "in a channel"),
        (reaction(message_id="what"), "unreadable: "),
    ],
    ids=["like", "none", "taken back", "known", "anonymous", "bot", "forum", "channel", "odd"],
)
def test_other_reactions_are_ignored(raw: dict[str, Any], reason: str) -> None:
    assert reason_of(raw).startswith(reason)


# ── what is sent ─────────────────────────────────────────────────────────────────────────────────────────────────
FILE = {"file_id": "f", "file_unique_id": "u", "file_size": 7}
STICKER = {
    **FILE,
    "type": "regular",
    "width": 1,
    "height": 1,
    "is_animated": False,
    "is_video": False,
    "emoji": "😀",
}
POLL = {
    "id": "1", "question": "Pizza or\npasta?", "total_voter_count": 0, "is_closed": False, "is_anonymous": True,
    "type": "regular", "allows_multiple_answers": False, "allows_revoting": False, "members_only": False,
    "options": [{"persistent_id": "a", "text": "Pizza", "voter_count": 0}, {"persistent_id": "b", "text": "Pasta", "voter_count": 0}],
}  # fmt: skip
VENUE = {"location": {"latitude": 1, "longitude": 2}, "title": "Adlon", "address": "Unter den Linden"}


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"sticker": STICKER}, "sticker 😀"),
        ({"sticker": {**STICKER, "emoji": None}}, "sticker"),
        ({"contact": {"phone_number": "+49 30 1", "first_name": "Max", "last_name": "Meier"}}, "contact: Max Meier, +49 30 1"),
        ({"poll": POLL}, "poll: Pizza or pasta? – Pizza; Pasta"),
        ({"venue": VENUE}, "venue: Adlon, Unter den Linden"),
        ({"dice": {"emoji": "🎯", "value": 6}}, "dice 🎯: 6"),
        ({"contact": {"phone_number": "1", "first_name": "x" * 900}}, "contact: " + "x" * 491),
    ],
    ids=["sticker", "bare sticker", "contact", "poll", "venue", "dice", "long"],
)  # fmt: skip
def test_what_can_be_said_in_words_is(sent: dict[str, Any], words: str) -> None:
    message = message_of(update(**sent))

    assert (message.v, message.kind, message.text, message.media, message.shared) == (
        2,
        "text",
        "",
        "",
        words,
    )


@pytest.mark.parametrize(
    ("sent", "attachment"),
    [
        ({"photo": [{**FILE, "file_id": "s", "width": 90, "height": 90}, {**FILE, "width": 800, "height": 600}]},
         Attachment(kind="photo", file_id="f", unique_id="u", size_bytes=7, mime="image/jpeg")),
        ({"document": {**FILE, "mime_type": "application/pdf", "file_name": "bill\n1.pdf"}},
         Attachment(kind="document", file_id="f", unique_id="u", size_bytes=7, mime="application/pdf", name="bill 1.pdf")),
        ({"voice": {**FILE, "duration": 3, "mime_type": "audio/ogg"}},
         Attachment(kind="voice", file_id="f", unique_id="u", size_bytes=7, mime="audio/ogg")),
        ({"video_note": {**FILE, "duration": 3, "length": 1}},
         Attachment(kind="video_note", file_id="f", unique_id="u", size_bytes=7)),
        ({"animation": {**FILE, "duration": 3, "width": 1, "height": 1}, "document": {**FILE, "file_id": "d"}},
         Attachment(kind="animation", file_id="f", unique_id="u", size_bytes=7)),
        ({"sticker": STICKER}, Attachment(kind="sticker", file_id="f", unique_id="u", size_bytes=7, name="😀")),
    ],
    ids=["photo", "document", "voice", "video note", "animation", "sticker"],
)  # fmt: skip
def test_a_file_is_told_so_that_it_can_be_fetched(sent: dict[str, Any], attachment: Attachment) -> None:
    message = message_of(update(caption="what is it?", **sent))

    assert (message.v, message.attachments) == (2, (attachment,))
    assert load(InboundMessage, dump(message)) == message


def test_items_of_an_album_know_it() -> None:  # C40
    photo = [{**FILE, "width": 1, "height": 1}]

    message = message_of(update(photo=photo, media_group_id="g1"))

    assert (message.album, message.kind, message.media) == ("g1", "unsupported", "photo")


def test_a_plain_message_is_still_version_1() -> None:
    assert b'"v":1' in dump(message_of(update(text="x")))


# ── groups that become supergroups ───────────────────────────────────────────────────────────────────────────────
PLAIN_GROUP = {"id": -5, "type": "group", "title": "x"}


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        (update(chat=PLAIN_GROUP, migrate_to_chat_id=-100123), ("-5", "-100123")),
        (update(chat=GROUP, migrate_from_chat_id=-5), ("-5", "-100123")),
        (update(text="x"), None),
        (update(chat=PLAIN_GROUP, migrate_to_chat_id="x"), None),
        ({"update_id": 1, "message": 3}, None),
        ({"update_id": 1, "message": {"chat": 3, "migrate_to_chat_id": 4}}, None),
        ({"update_id": 1}, None),
    ],
)
def test_a_migration_names_both_chats(raw: dict[str, Any], ids: tuple[str, str] | None) -> None:
    assert migration_in(raw) == ids


def test_a_migration_is_no_message() -> None:
    assert isinstance(read(update(chat=GROUP, migrate_from_chat_id=-5), ME, NOW_MS), Ignored)


def test_telegram_is_asked_for_all_of_these() -> None:
    assert {"message", "edited_message", "message_reaction", "callback_query"} <= set(ALLOWED)


# ── whose it is ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("fields", "lane", "owner"),
    [
        ({}, "777:-100123:0", "home:g:-100123:0"),
        ({"message_thread_id": 77, "is_topic_message": True}, "777:-100123:77", "home:g:-100123:77"),
        ({"message_thread_id": 1, "is_topic_message": True}, "777:-100123:0", "home:g:-100123:0"),
    ],
    ids=["General", "topic", "General named"],
)
def test_what_is_said_in_a_group_belongs_to_its_topic_and_never_to_a_person(
    fields: dict[str, Any], lane: str, owner: str
) -> None:  # C30 C41
    """So a person's tasks and facts, which belong to the owner of their private messages, are not shown there."""
    found = [
        message_of(update(chat=GROUP, text="/tasks", **fields)),
        message_of(update(chat=GROUP, text="/tasks", **fields, **{"from": USER})),
    ]

    assert {(one.lane, one.owner) for one in found} == {(lane, owner)}
    assert message_of(update(text="/tasks")).owner == "home:u:42"
