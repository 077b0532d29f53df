"""Albums in groups: each item comes by itself, and only one of them need speak to the bot (C40)."""

from collections.abc import Sequence
from typing import Any

import pytest

from bot.albums import ASIDE_MS, MOST_ASIDE
from infra import keys
from infra.forget import forget
from infra.redis_port import RedisPort
from lanes.claim import claim_due
from lanes.commit import commit
from lanes.outcome import Commit
from schemas.inbound import group_owner
from tests.bot.conftest import NOW_MS, take
from tests.bot.test_intake import JO, answers, intake_of, waiting
from tests.contents import contents, everything

STRANGER = 99
GROUP = {"id": -100123, "type": "supergroup", "title": "Home"}
LANE, OWNER = "777:-100123:0", group_owner("home", "-100123", 0)
ALBUM = "13579"
CAPTION = "@koi777_bot which of them?"
MENTION = {
    "caption": CAPTION,
    "caption_entities": [{"type": "mention", "offset": 0, "length": len("@koi777_bot")}],
}
BOT_USER = {"id": 777, "is_bot": True, "first_name": "Parcel", "username": "koi777_bot"}
ANSWER = {
    "message_id": 3,
    "date": NOW_MS // 1000,
    "chat": GROUP,
    "from": BOT_USER,
    "text": "Shall I look at them?",
}


def item(number: int, *, user_id: int = JO, **more: Any) -> dict[str, Any]:
    """The number says both which update and which message it is."""
    message: dict[str, Any] = {
        "message_id": number,
        "date": NOW_MS // 1000,
        "from": {"id": user_id, "is_bot": False, "first_name": "Jo"},
        "chat": GROUP,
        "media_group_id": ALBUM,
        "photo": [{"file_id": f"f{number}", "file_unique_id": f"u{number}", "width": 90, "height": 90}],
    }
    return {"update_id": number, "message": {**message, **more}}


def album(*, mention_at: int = 2, **more: Any) -> list[dict[str, Any]]:
    """Three items, 11 to 13."""
    return [item(10 + nth, **(MENTION if nth == mention_at else {}), **more) for nth in (1, 2, 3)]


async def fed(redis: RedisPort, updates: Sequence[dict[str, Any]], *, at_once: int = 1) -> None:
    """Each batch by a process that knows nothing of the ones before."""
    for at in range(0, len(updates), at_once):
        batch = updates[at : at + at_once]
        taken = await intake_of(redis).take(batch)
        assert (taken.error, taken.next_update_id) == ("", batch[-1]["update_id"] + 1)


async def files(redis: RedisPort, lane: str = LANE) -> list[str]:
    """What waits, in order."""
    return [file.file_id for message in await waiting(redis, lane) for file in message.attachments]


@pytest.mark.parametrize("at_once", [3, 2, 1], ids=["one batch", "two batches", "a restart between any two"])
@pytest.mark.parametrize("mention_at", [1, 2, 3])
async def test_an_album_is_taken_whole_wherever_its_mention_stands(
    redis: RedisPort, mention_at: int, at_once: int
) -> None:
    await fed(redis, album(mention_at=mention_at), at_once=at_once)

    assert await files(redis) == ["f11", "f12", "f13"]
    assert "".join(message.text for message in await waiting(redis, LANE)) == CAPTION
    assert await take(redis, keys.inbox_queue()) == []  # held for the rest: one turn


@pytest.mark.parametrize("mention_at", [1, 2, 3])
async def test_updates_that_are_delivered_twice_change_nothing(redis: RedisPort, mention_at: int) -> None:
    twice = [one for update in album(mention_at=mention_at) for one in (update, update)]

    await fed(redis, twice)
    await fed(redis, album(mention_at=mention_at), at_once=3)

    assert await files(redis) == ["f11", "f12", "f13"]


async def test_a_process_that_dies_before_it_has_stored_loses_nothing(redis: RedisPort) -> None:
    first, second, third = album()
    await fed(redis, [first])
    inbox = keys.items(keys.inbox_job(LANE))
    await redis.set(inbox, "not a list")
    assert (await intake_of(redis).take([second])).error  # not confirmed: it comes again
    await redis.delete(inbox)

    await fed(redis, [second, third])

    assert await files(redis) == ["f11", "f12", "f13"]


@pytest.mark.parametrize("every", [True, False], ids=["each item", "the first item"])
async def test_a_reply_to_the_bot_speaks_to_it_too(redis: RedisPort, every: bool) -> None:
    replies: dict[str, Any] = {"reply_to_message": ANSWER}
    items = [item(11, **replies), item(12, **(replies if every else {})), item(13, caption="These")]

    await fed(redis, items)

    found = await waiting(redis, LANE)
    assert [message.text for message in found] == ["", "", "These"]
    assert found[0].replied_text == "Shall I look at them?"
    assert await files(redis) == ["f11", "f12", "f13"]


async def test_an_item_that_has_to_wait_for_the_first_reply_is_not_overtaken(redis: RedisPort) -> None:
    await fed(redis, [item(11), item(12), item(13, reply_to_message=ANSWER)], at_once=2)

    assert await files(redis) == ["f11", "f12", "f13"]


async def test_an_album_without_a_mention_is_no_message_and_vanishes(redis: RedisPort) -> None:
    await fed(redis, [item(11, caption="Our summer"), item(12), item(13)])

    assert await waiting(redis, LANE) == []
    assert await redis.zcard(keys.inbox_queue()) == 0
    assert [key for key, held in (await contents(redis)).items() if "summer" in held] == [keys.albums(OWNER)]
    assert 0 < await redis.pttl(keys.albums(OWNER)) <= ASIDE_MS


async def test_what_was_set_aside_too_long_ago_is_not_taken(redis: RedisPort) -> None:
    await fed(redis, [item(11)])
    (kept,) = await redis.zrange(keys.albums(OWNER), 0, -1)
    await redis.zadd(keys.albums(OWNER), {kept.decode(): 1})

    await fed(redis, album()[1:])

    assert await files(redis) == ["f12", "f13"]


async def test_forgetting_takes_what_was_set_aside(redis: RedisPort) -> None:  # C33
    await fed(redis, [item(11, caption="Our summer")])

    await forget(redis, OWNER, "last")

    assert "summer" not in await everything(redis)


async def test_albums_are_told_apart(redis: RedisPort) -> None:
    other_album = item(10, media_group_id=ALBUM[:-1])
    other_topic = item(9, message_thread_id=5, is_topic_message=True)

    await fed(redis, [other_topic, other_album, *album()])

    assert await files(redis) == ["f11", "f12", "f13"]


async def test_a_stranger_in_an_unknown_group_leaves_nothing(redis: RedisPort) -> None:
    await fed(redis, [item(11, user_id=STRANGER, caption="Our summer")])

    assert await redis.exists(keys.albums(OWNER)) == 0
    assert await answers(redis) == []


async def test_a_stranger_who_calls_is_not_let_in_by_it(redis: RedisPort) -> None:
    await fed(redis, album(user_id=STRANGER))

    assert await files(redis) == []


async def test_whoever_posts_albums_without_end_fills_nothing(redis: RedisPort) -> None:
    await fed(redis, [item(100 + nth, media_group_id=str(nth)) for nth in range(MOST_ASIDE + 20)], at_once=40)

    assert await redis.zcard(keys.albums(OWNER)) == MOST_ASIDE


async def test_an_edit_of_an_item_that_speaks_to_nobody_is_no_message(redis: RedisPort) -> None:
    update = item(11, caption="Our winter")
    edited = {"update_id": 12, "edited_message": update["message"]}

    await fed(redis, [edited])

    assert await waiting(redis, LANE) == []
    assert await redis.exists(keys.albums(OWNER)) == 0


async def test_an_item_that_comes_when_the_others_were_answered_is_for_the_bot_too(redis: RedisPort) -> None:
    first, second, third = album(mention_at=1)
    await fed(redis, [first, second])
    await redis.zadd(keys.inbox_queue(), {keys.inbox_job(LANE): 0})
    await redis.hdel(keys.state(keys.inbox_job(LANE)), "hold_until", "held_since")
    (claim,), _ = await claim_due(redis, keys.inbox_queue(), lease_ms=9_000, wanted=1, prefix="t", per_turn=9)
    await commit(redis, keys.inbox_queue(), claim, Commit())

    await fed(redis, [third])

    assert await files(redis) == ["f13"]
