"""The webhook: 200 means stored."""

import asyncio
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import orjson
import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from bot.admit import Door
from bot.intake import Intake
from bot.webhook import BODY_BYTES, SECRET_HEADER, Webhook
from infra import keys
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.settings import Settings
from tests.bot.conftest import ME, NOW_MS, clock
from tests.fakes.telegram import FakeTelegram

SETTINGS = Settings(telegram_allowed_users=("42",))
GOOD = {SECRET_HEADER: "s3cret"}
people = FakeTelegram(now=lambda: NOW_MS / 1000)


class Post:
    """Posts to a webhook of one bot."""

    def __init__(self, webhook: Webhook, http: ClientSession, url: str) -> None:
        self.webhook = webhook
        self._http = http
        self._url = url

    async def __call__(
        self, body: Any, *, headers: dict[str, str] = GOOD, bot_id: str = "777", raw: bytes | None = None
    ) -> int:
        data = BytesIO(orjson.dumps(body) if raw is None else raw)
        async with self._http.post(f"{self._url}/tg/{bot_id}", headers=headers, data=data) as response:
            return response.status


@pytest.fixture
async def post(redis: RedisPort) -> AsyncIterator[Post]:
    webhook = Webhook("s3cret", take_s=0.05)
    door = Door(redis, PeopleCache(redis, SETTINGS, clock), clock)
    webhook.intakes["777"] = Intake(redis, SETTINGS, ME, door, keeps_offset=False)
    server = TestServer(webhook.app())
    await server.start_server()
    async with ClientSession() as http:
        yield Post(webhook, http, str(server.make_url("")).rstrip("/"))
    await server.close()


def update(number: int, text: str = "hello") -> dict[str, Any]:
    return {"update_id": number, "message": people.message("777", 42, text)}


async def waiting(redis: RedisPort) -> int:
    return await redis.llen(keys.items(keys.inbox_job("777:42:0")))


async def test_200_means_stored(redis: RedisPort, post: Post) -> None:  # C1
    assert await post(update(9001)) == 200
    assert await waiting(redis) == 1


async def test_the_same_update_five_times_is_taken_once(redis: RedisPort, post: Post) -> None:  # C6
    assert [await post(update(9001)) for _ in range(5)] == [200] * 5
    assert await waiting(redis) == 1


@pytest.mark.parametrize(
    "headers", [{}, {SECRET_HEADER: ""}, {SECRET_HEADER: "s3cre"}, {SECRET_HEADER: "ünlike"}]
)
async def test_without_the_secret_nothing_gets_in(
    redis: RedisPort, post: Post, headers: dict[str, str]
) -> None:
    assert await post(update(9001), headers=headers) == 401
    assert await waiting(redis) == 0


def test_a_webhook_without_a_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="TELEGRAM_WEBHOOK_SECRET"):
        Webhook("")


async def test_while_redis_is_away_telegram_hears_503(redis: RedisPort, post: Post) -> None:  # C1
    await redis.set(keys.items(keys.inbox_job("777:42:0")), "not a list")

    assert await post(update(9001)) == 503

    await redis.delete(keys.items(keys.inbox_job("777:42:0")))
    assert await post(update(9001)) == 200


async def test_a_redis_that_does_not_answer_is_503_in_time(post: Post) -> None:  # C1
    class Stuck:
        async def take(self, _: object) -> None:
            await asyncio.Event().wait()

    post.webhook.intakes["777"] = Stuck()  # pyright: ignore[reportArgumentType]

    assert await post(update(9001)) == 503


async def test_a_bot_that_is_not_up_yet_is_asked_again(post: Post) -> None:
    assert await post(update(9001), bot_id="778") == 503


async def test_an_update_of_an_unknown_kind_is_done_with(redis: RedisPort, post: Post) -> None:
    assert await post({"update_id": 1, "quantum": {}}) == 200
    assert await waiting(redis) == 0


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"update_id":"1"}', b"\xff"])
async def test_what_telegram_never_sends_is_refused(post: Post, data: bytes) -> None:
    assert await post(None, raw=data) == 400


async def test_a_huge_body_is_refused(post: Post) -> None:
    assert await post(None, raw=b"x" * (BODY_BYTES + 1)) == 413


async def test_updates_of_a_bot_are_stored_in_the_order_they_came(redis: RedisPort, post: Post) -> None:
    for number in range(9001, 9006):
        assert await post(update(number)) == 200

    stored = await redis.lrange(keys.items(keys.inbox_job("777:42:0")), 0, -1)
    assert stored == [f"0:777:{number}".encode() for number in range(9001, 9006)]
