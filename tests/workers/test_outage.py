"""From the first alert of an outage to its one all-clear."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from infra import keys
from infra.people import People, PeopleCache
from infra.settings import Settings
from llm.errors import NoModelAnswered
from llm.request import Completion, Skipped
from schemas.outage import Outage
from schemas.wire import dump, load
from tests.workers.stage import APRIL_5_14_23, House, call, completion
from workers.alert_text import FellBack, NobodyAnswered
from workers.alerts import back_again, tell_owner
from workers.mail_settings import MailSettings
from workers.outage import KEPT_S, fallback_of, silence_of
from workers.outgoing import Place
from workers.services import Services

PLACE = Place("7", "42", 0, "home:u:42")
BUSY = completion("Ja.", model="haiku", calls=(call("sonnet", "overloaded"), call("haiku")))
T = APRIL_5_14_23
MAIL = MailSettings("me@example.org", "koi@example.org", "127.0.0.1", 25, "offered")
FAILS = FellBack("sonnet", "overloaded", T, "haiku")


async def told(house: House) -> list[str]:
    return [reply.text for reply in await house.replies("7:1:0")]


async def outage(house: House, model: str = "sonnet") -> Outage | None:
    raw = await house.redis.get(keys.outage(model))
    return load(Outage, raw) if raw else None


# ── what an answer says of an outage ─────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("answer", "alert"),
    [
        pytest.param(completion("Ja."), None, id="the first choice"),
        pytest.param(BUSY, FAILS, id="it failed just now"),
        pytest.param(
            completion(
                "Ja.", model="haiku", skipped=(Skipped("a", "sonnet", "breaker", "timeout", T - 500),)
            ),
            FellBack("sonnet", "timeout", T - 480, "haiku"),
            id="left out, since it fails",
        ),
        pytest.param(
            completion(
                "Ja.",
                model="haiku",
                calls=(call("haiku"),),
                skipped=(Skipped("a", "sonnet", "permit", "used up"),),
            ),
            None,
            id="left out by a plan",
        ),
    ],
)
def test_another_model_is_an_outage_only_if_the_first_choice_failed(
    answer: Completion, alert: FellBack | None
) -> None:
    assert fallback_of(answer, T, ahead_ms=20) == alert


def test_silence_is_an_outage_of_the_first_choice_if_that_was_asked() -> None:
    error = NoModelAnswered((call("sonnet", "overloaded"), call("haiku", "timeout")), "both")

    assert silence_of("sonnet", error, T, 0) == NobodyAnswered("both", "sonnet", "overloaded", T)
    assert silence_of("opus", error, T, 0) == NobodyAnswered("both")


# ── told, and told that it is over ───────────────────────────────────────────────────────────────────────────────
async def test_an_outage_is_kept_from_its_alert_to_its_all_clear(house: House) -> None:
    await tell_owner(house.services, FAILS, PLACE)
    kept, ttl_ms = await outage(house), await house.redis.pttl(keys.outage("sonnet"))
    house.later(minutes=45)
    await back_again(house.services, "sonnet", PLACE)
    await back_again(house.services, "sonnet", PLACE)

    assert kept == Outage(since_ms=T, why="overloaded", model="haiku")
    assert 0 <= KEPT_S * 1000 - ttl_ms < 10_000
    assert await outage(house) is None
    assert await told(house) == [
        "⚠ sonnet: overloaded since 5 Apr, 14:23. haiku answers now.",
        "✓ sonnet answers again, since 5 Apr, 15:08; it had failed since 5 Apr, 14:23 (overloaded); "
        "meanwhile haiku answered.",
    ]


async def test_silence_has_an_all_clear_too(house: House) -> None:
    error = NoModelAnswered((call("sonnet", "timeout"),), "sonnet: timeout")

    await tell_owner(house.services, silence_of("sonnet", error, T, 0), PLACE)
    await back_again(house.services, "sonnet", PLACE)

    assert (await told(house))[1].endswith("(no answer in time); meanwhile nobody answered.")


async def test_a_later_alert_of_the_same_outage_says_since_when_it_lasts(house: House) -> None:
    await tell_owner(house.services, FAILS, PLACE)
    house.later(hours=2)
    await house.redis.delete(keys.once("alert:fell_back:sonnet:overloaded"))  # its hour is over
    await tell_owner(house.services, FellBack("sonnet", "overloaded", house.now_ms, "opus"), PLACE)

    assert (await told(house))[1] == "⚠ sonnet: overloaded since 5 Apr, 14:23. opus answers now."
    assert await outage(house) == Outage(since_ms=T, why="overloaded", model="opus")


async def test_without_an_alert_there_is_no_all_clear(house: House) -> None:
    await back_again(house.services, "sonnet", PLACE)
    await tell_owner(house.services, FAILS, PLACE)
    await back_again(house.services, "sonnet", PLACE)
    await tell_owner(house.services, FAILS, PLACE)  # within the hour: silent
    await back_again(house.services, "sonnet", PLACE)

    assert len(await told(house)) == 2


async def test_two_workers_at_once_tell_once_and_clear_once(house: House) -> None:
    ticks = itertools.count(T)
    s = replace(house.services, clock=lambda: next(ticks), mail=MAIL)  # so that no two use the same id

    await asyncio.gather(*(tell_owner(s, FAILS, PLACE) for _ in range(8)))
    await asyncio.gather(*(back_again(s, "sonnet", PLACE) for _ in range(8)))

    assert [text[0] for text in await told(house)] == ["⚠", "✓"]
    assert await house.redis.llen(keys.mails()) == 2


class Overtaken(PeopleCache):
    """Read in the middle of telling: before that, another worker tells."""

    def __init__(self, house: House, other: Callable[[Services], Awaitable[None]]) -> None:
        super().__init__(house.redis, Settings(telegram_owner="1"), house.services.clock)
        self.house = house
        self.other = other

    async def read(self) -> People:
        await self.other(self.house.services)
        self.house.later(minutes=1)
        return await super().read()


async def test_a_worker_that_is_overtaken_in_the_middle_tells_nothing(house: House) -> None:
    async def tell(s: Services) -> None:
        await tell_owner(s, FAILS, PLACE)

    async def clear(s: Services) -> None:
        await back_again(s, "sonnet", PLACE)

    for step in (tell, clear):
        await step(replace(house.services, people=Overtaken(house, step)))

    assert [text[0] for text in await told(house)] == ["⚠", "✓"]


async def test_an_all_clear_that_redis_did_not_take_is_not_lost(house: House) -> None:
    await tell_owner(house.services, FAILS, PLACE)
    await house.redis.config_set("maxmemory", "1")
    await back_again(house.services, "sonnet", PLACE)
    await house.redis.config_set("maxmemory", "0")
    assert len(await told(house)) == 1

    await back_again(house.services, "sonnet", PLACE)

    assert len(await told(house)) == 2


async def test_an_outage_of_a_newer_release_is_left_to_it(house: House) -> None:
    newer = b'{"v": 99, "since_ms": 1, "why": "x"}'
    await house.redis.set(keys.outage("sonnet"), newer)

    await tell_owner(house.services, FAILS, PLACE)
    await back_again(house.services, "sonnet", PLACE)

    assert await house.redis.get(keys.outage("sonnet")) == newer
    assert await told(house) == []


async def test_an_outage_that_cannot_be_read_ends_silently(house: House) -> None:
    await house.redis.set(keys.outage("sonnet"), "{")

    await back_again(house.services, "sonnet", PLACE)

    assert await outage(house) is None
    assert await told(house) == []


async def test_with_nobody_to_tell_the_outage_is_not_kept(house: House) -> None:
    people = PeopleCache(house.redis, Settings(), house.services.clock)
    nobody = replace(house.services, people=people)

    await tell_owner(nobody, FellBack("sonnet", "timeout", T, "haiku"), PLACE)

    assert await outage(house) is None


async def test_with_nobody_left_to_tell_the_outage_ends(house: House) -> None:
    await house.redis.set(keys.outage("sonnet"), dump(Outage(since_ms=T, why="timeout")))
    people = PeopleCache(house.redis, Settings(), house.services.clock)

    await back_again(replace(house.services, people=people), "sonnet", PLACE)

    assert await outage(house) is None
