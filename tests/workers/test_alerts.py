"""Alerts: the owner hears of each cause once an hour, and of none is lost."""

import asyncio
from dataclasses import replace

import pytest

from infra import keys
from infra.people import PeopleCache, save_person
from infra.settings import Settings
from llm.errors import NoModelAnswered
from schemas.dead import DeadLetter
from schemas.person import Person
from schemas.wire import dump
from tests.workers.stage import BERLIN, House, call, completion
from workers.alert_text import Alert, BrokenMemory, FellBack, GivenUp, NobodyAnswered, Recovered, alert_text
from workers.alerts import tell_owner
from workers.outgoing import Place
from workers.upkeep import tell_of_dead

PLACE = Place("7", "42", 0, "home:u:42")
OWNERS_LANE = "7:1:0"
FALLBACK = completion("Ja.", model="haiku", calls=(call("sonnet", "overloaded"), call("haiku")))


async def alerts(house: House, lane: str = OWNERS_LANE) -> list[str]:
    return [reply.text for reply in await house.replies(lane)]


async def test_a_fallback_is_told_to_the_owner_and_not_to_the_person(house: House) -> None:
    house.chain.script = [FALLBACK]

    assert await house.say("Hallo") == "Ja."
    assert await alerts(house) == ["⚠ sonnet: overloaded since 5 Apr, 14:23. haiku answers now."]


async def test_the_same_cause_is_told_once_an_hour(house: House) -> None:
    house.chain.script = [
        FALLBACK,
        FALLBACK,
        completion("Ja.", model="haiku", calls=(call("sonnet", "timeout"),)),
    ]
    for _ in range(3):
        await house.say("Hallo")

    assert len(await alerts(house)) == 2
    assert 3_590_000 < await house.redis.pttl(keys.once("alert:fell_back:sonnet:overloaded")) <= 3_600_000


async def test_two_workers_that_see_the_same_tell_once(house: House) -> None:
    alert = NobodyAnswered("sonnet: overloaded")

    await asyncio.gather(*(tell_owner(house.services, alert, PLACE) for _ in range(8)))

    assert await alerts(house) == ["⚠ No model answers. sonnet: overloaded"]


async def test_an_alert_that_redis_did_not_take_is_told_next_time(house: House) -> None:
    await house.redis.config_set("maxmemory", "1")
    await tell_owner(house.services, NobodyAnswered("x"), PLACE)
    await house.redis.config_set("maxmemory", "0")
    assert await alerts(house) == []

    await tell_owner(house.services, NobodyAnswered("x"), PLACE)

    assert await alerts(house) == ["⚠ No model answers. x"]


async def test_all_models_failed_is_told(house: House) -> None:
    house.chain.script = [NoModelAnswered((), "sonnet: overloaded (HTTP 529)")]
    await house.push(house.message("Hallo"))

    await house.turn()

    assert await alerts(house) == ["⚠ No model answers. sonnet: overloaded (HTTP 529)"]


async def test_the_owner_is_told_in_their_language_by_the_bot_that_knows_them(house: House) -> None:
    await save_person(house.redis, Person(user_id="5", role="owner", language="de", chat_bot_id="9"))
    people = PeopleCache(house.redis, Settings(), house.services.clock)
    services = replace(house.services, people=people)

    await tell_owner(services, FellBack("sonnet", "timeout", house.now_ms, "haiku"), PLACE)

    assert await alerts(house, "9:5:0") == [
        "⚠ sonnet: keine rechtzeitige Antwort seit 05.04. 14:23. Jetzt antwortet haiku."
    ]


@pytest.mark.parametrize("place", [Place("local", "local:jo"), Place("local-b", "local:jo")])
async def test_a_terminal_is_nobody_to_alert(house: House, place: Place) -> None:
    await tell_owner(house.services, NobodyAnswered("x"), place)

    assert await house.redis.exists(keys.once(f"alert:{NobodyAnswered('x').cause}")) == 0


async def test_without_an_owner_nobody_is_told(house: House) -> None:
    people = PeopleCache(house.redis, Settings(), house.services.clock)

    await tell_owner(replace(house.services, people=people), NobodyAnswered("x"), PLACE)

    assert await house.redis.exists(keys.outbox_queue("7")) == 0


async def test_dead_letters_are_told_with_their_number_and_last_reason(house: House) -> None:
    await house.push(house.message("eins"))
    await house.bury("sonnet: rejected")
    await house.push(house.message("zwei", chat_id="43", user_id="43"))
    await house.bury("the process died 6 times")

    await tell_of_dead(house.services)
    await tell_of_dead(house.services)

    (alert,) = await alerts(house)
    assert alert.startswith(
        "⚠ 2 messages could not be handled and are kept. The last: the process died 6 times"
    )


async def test_dead_letters_of_the_silent_hour_are_told_after_it(house: House) -> None:
    await house.push(house.message("eins"))
    await house.bury("first")
    await tell_of_dead(house.services)
    house.later(minutes=30)
    await house.push(house.message("zwei"))
    await house.bury("second")
    await tell_of_dead(house.services)
    await house.redis.delete(keys.once("alert:given_up"))  # its hour is over
    house.later(minutes=31)

    await tell_of_dead(house.services)

    first, second = await alerts(house)
    assert first.startswith("⚠ 1 message could not be handled and is kept: first")
    assert second.startswith("⚠ 1 message could not be handled and is kept: second")


async def test_of_a_dead_reply_the_bot_tells_not_the_worker(house: House) -> None:
    letter = DeadLetter(
        id="t:answer", job_id="out:7:42:0", at_ms=house.now_ms, reason="refused", body="{}", owner="o"
    )
    await house.redis.hset(keys.dead_of("o"), letter.id, dump(letter))
    await house.redis.zadd(keys.dead(), {f"o|{letter.id}": letter.at_ms, "o|gone": letter.at_ms})

    await tell_of_dead(house.services)

    assert await alerts(house) == []


@pytest.mark.parametrize(
    ("said", "german"),
    [
        (FellBack("a", "rate_limited", 0, "b"), "⚠ a: zu viele Anfragen seit 01.01. 01:00. Jetzt antwortet b."),
        (FellBack("a", "odd", 0, "b"), "⚠ a: odd seit 01.01. 01:00. Jetzt antwortet b."),
        (NobodyAnswered("a: x"), "⚠ Kein Modell antwortet. a: x"),
        (GivenUp(1, "x"), "⚠ 1 Nachricht konnte nicht bearbeitet werden und ist aufgehoben: x\n`koi dead list` zeigt sie."),
        (BrokenMemory(2), "⚠ 2 gespeicherte Stücke eines Gesprächs waren nicht lesbar und sind beiseitegelegt; der Rest geht."),
        (Recovered("a", "overloaded", 0, "b", 60_000), "✓ a antwortet wieder, seit 01.01. 01:01; ausgefallen war es seit 01.01. 01:00 (überlastet); inzwischen hat b geantwortet."),
        (Recovered("a", "overloaded", 0, "", 60_000), "✓ a antwortet wieder, seit 01.01. 01:01; ausgefallen war es seit 01.01. 01:00 (überlastet); inzwischen hat niemand geantwortet."),
    ],
)  # fmt: skip
def test_every_alert_is_said_in_german(said: Alert | Recovered, german: str) -> None:
    assert alert_text(said, "de", BERLIN) == german
