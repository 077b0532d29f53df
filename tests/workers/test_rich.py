"""/rich: who may switch it, where it counts, and how a marked reply is written."""

from fnmatch import fnmatch

import pytest

from infra import keys
from infra.redis_port import RedisPort
from schemas.reply import Reply
from tests.workers.stage import House

GROUP = {"chat_id": "-100", "chat_kind": "group", "language": "en"}
TABLE = "| a |\n|---|\n| b |"


async def newest(house: House, lane: str = "7:42:0") -> Reply:
    return (await house.replies(lane))[-1]


def commands(reply: Reply) -> list[str]:
    return [button.command for row in reply.buttons for button in row]


async def test_rich_says_what_it_is_how_it_stands_and_offers_the_other(house: House) -> None:
    text = await house.say("/rich", language="en")

    assert text == (
        "Rich messages are off in this chat.\n"
        "With them Telegram itself lays out tables, headings, nested lists and formulas; older Telegram apps show a "
        "placeholder instead."
    )
    assert commands(await newest(house)) == ["/rich on"]


async def test_it_speaks_german(house: House) -> None:
    assert (await house.say("/rich")).startswith(
        "Reiche Nachrichten sind in diesem Chat aus.\nMit ihnen setzt Telegram"
    )
    assert "Siehst du stattdessen nur einen Platzhalter" in await house.say("/rich an")
    assert (await house.say("/rich")).startswith("Reiche Nachrichten sind in diesem Chat an.")
    assert [button.text for row in (await newest(house)).buttons for button in row] == ["Ausschalten"]
    assert await house.say("/rich vielleicht") == (
        "„vielleicht“ verstehe ich nicht: /rich on oder /rich off.\n" + await house.say("/rich")
    )
    assert await house.say("/rich aus") == "Von jetzt an sind alle Antworten wieder gewöhnliche Nachrichten."


async def test_answers_are_marked_from_then_on_and_until_it_is_switched_off(house: House) -> None:
    house.chain.script = [TABLE] * 3
    marks: list[tuple[bool, int]] = []

    for command in ("", "/rich on", "/rich off"):
        if command:
            await house.say(command)
            assert not (await newest(house)).rich  # koi's own lines never are
        assert await house.say("and?") == TABLE
        marks.append(((await newest(house)).rich, (await newest(house)).v))

    assert marks == [(False, 2), (True, 3), (False, 2)]
    assert await house.redis.exists(keys.rich("42")) == 0


async def test_it_stays_on_for_good_and_in_every_topic_with_every_bot(house: House) -> None:
    await house.say("/rich on")

    assert await house.redis.pttl(keys.rich("42")) == -1
    assert any(fnmatch(keys.rich("42"), pattern) for pattern in keys.PERMANENT)
    await house.say("hello", bot_id="8", topic_id=5)
    assert (await newest(house, "8:42:5")).rich


async def test_one_chat_says_nothing_of_another(house: House) -> None:
    await house.say("/rich on")

    await house.say("hello", chat_id="43", user_id="43")
    await house.say("hello", **GROUP)

    assert not (await newest(house, "7:43:0")).rich
    assert not (await newest(house, "7:-100:0")).rich


@pytest.mark.parametrize("wish", ["on", "off"])
async def test_in_a_group_only_the_owner_switches_it(house: House, wish: str) -> None:
    if wish == "off":
        await house.redis.set(keys.rich("-100"), "1")
    before = await house.redis.exists(keys.rich("-100"))

    refused = await house.say(f"/rich {wish}", user_id="42", **GROUP)

    assert refused == "In a group only my owner can switch that."
    assert commands(await newest(house, "7:-100:0")) == []
    assert await house.redis.exists(keys.rich("-100")) == before
    await house.say(f"/rich {wish}", user_id="1", **GROUP)
    assert await house.redis.exists(keys.rich("-100")) == 1 - before


async def test_in_a_group_others_see_how_it_stands_and_get_no_button(house: House) -> None:
    text = await house.say("/rich", user_id="42", **GROUP)

    assert text.startswith("Rich messages are off in this chat.")
    assert text.endswith("\nIn a group only my owner can switch that.")
    assert commands(await newest(house, "7:-100:0")) == []
    await house.say("/rich", user_id="1", **GROUP)
    assert commands(await newest(house, "7:-100:0")) == ["/rich on"]


async def test_a_terminal_has_no_rich_messages(house: House, redis: RedisPort) -> None:
    text = await house.say("/rich on", bot_id="local", chat_id="local:jo", user_id="local:jo", language="en")

    assert text == "Rich messages are Telegram's; in this window there are none."
    assert await redis.exists(keys.rich("local:jo")) == 0


async def test_help_names_it(house: House) -> None:
    assert "/rich – Tabellen und Formeln" in await house.say("/help")
