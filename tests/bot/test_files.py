"""The bot fetches files for the turns that ask for them."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.api import BotApi
from bot.files import Files
from infra import keys
from infra.files import Fetched, FileOutcome, NotInTime, NotThere, TooBig, fetch
from infra.redis_port import RedisPort
from lanes.claim import claim_due
from schemas.files import FileRequest
from schemas.inbound import Attachment, InboundMessage
from schemas.wire import dump, load
from tests.bot.conftest import CHAT, TOKEN, Sleeps, until
from tests.bot.process import Process
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_state import Fault


@pytest.fixture
async def files(redis: RedisPort, api: BotApi) -> AsyncIterator[Files]:
    served = Files(redis, api)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(served.serve())
        yield served
        task.cancel()


async def ask(
    redis: RedisPort,
    name: str = "photo1",
    *,
    turn_id: str = "t1",
    size_bytes: int = 0,
    max_bytes: int = 1_000_000,
    deadline_s: float = 8,
    again_s: float = 0.05,
) -> FileOutcome:
    attachment = Attachment(kind="photo", file_id=name, unique_id=f"u-{name}", size_bytes=size_bytes)
    return await fetch(
        redis, "777", attachment, turn_id=turn_id, max_bytes=max_bytes, deadline_s=deadline_s, again_s=again_s
    )


def calls(fake: FakeTelegram, method: str) -> int:
    return sum(call.method == method for call in fake.calls)


@pytest.mark.usefixtures("files")
async def test_a_file_is_fetched_with_the_token_that_only_the_bot_has(
    redis: RedisPort, fake: FakeTelegram
) -> None:
    fake.files["photo1"] = content = bytes(range(256)) * 1000

    assert await ask(redis) == Fetched(content, "image/jpeg")
    assert TOKEN not in str(await redis.lrange(keys.file_requests("777"), 0, -1))


@pytest.mark.usefixtures("files")
async def test_a_request_that_is_repeated_is_answered_once(
    redis: RedisPort, fake: FakeTelegram
) -> None:  # C12
    fake.files["photo1"] = b"x"
    fake.fault(Fault("slow", method="getFile", delay_s=0.5))

    assert isinstance(await ask(redis), Fetched)

    assert (calls(fake, "getFile"), calls(fake, "download")) == (1, 1)


@pytest.mark.usefixtures("files")
async def test_a_repetition_that_crossed_the_answer_fetches_nothing(
    redis: RedisPort, fake: FakeTelegram
) -> None:
    fake.files |= {"photo1": b"x", "photo2": b"y"}
    await ask(redis)

    crossed = FileRequest(turn_id="t1", file_id="photo1", unique_id="u-photo1", max_bytes=100)
    await redis.rpush(keys.file_requests("777"), dump(crossed))
    await ask(redis, "photo2")

    assert calls(fake, "getFile") == 2
    assert await redis.exists(keys.file("t1", "u-photo1")) == 0


@pytest.mark.usefixtures("files")
async def test_four_files_are_fetched_at_once_and_no_more(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.fault(Fault("hang", method="getFile", times=-1))
    names = [f"p{nth}" for nth in range(7)]
    fake.files |= dict.fromkeys(names, b"x")

    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(ask(redis, name)) for name in names]
        await until(lambda: calls(fake, "getFile") == 4)
        await asyncio.sleep(0.1)  # time for a fifth
        assert calls(fake, "getFile") == 4
        for task in asking:
            task.cancel()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("content", "max_bytes", "expected"),
    [(b"x" * 101, 100, TooBig(101)), (b"x" * 100, 100, Fetched(b"x" * 100, "image/jpeg"))],
    ids=["one byte more", "just so large"],
)
async def test_no_more_bytes_are_handed_over_than_asked_for(
    redis: RedisPort, fake: FakeTelegram, content: bytes, max_bytes: int, expected: FileOutcome
) -> None:
    fake.files["photo1"] = content

    assert await ask(redis, max_bytes=max_bytes) == expected


@pytest.mark.usefixtures("files")
async def test_a_file_larger_than_telegram_said_is_cut_off(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.files["photo1"] = b"x" * 500_000
    told = '{"ok": true, "result": {"file_id": "photo1", "file_path": "files/photo1.jpg"}}'
    fake.fault(Fault("raw", method="getFile", description=told))

    found = await ask(redis, max_bytes=100_000)

    assert isinstance(found, TooBig)
    assert found.size_bytes < 300_000


@pytest.mark.usefixtures("files")
async def test_what_telegram_does_not_give_to_bots_is_too_big(
    redis: RedisPort, fake: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fakes.telegram.MAX_FILE_BYTES", 5)
    fake.files["photo1"] = b"123456"

    assert await ask(redis) == TooBig(20_000_000)


@pytest.mark.usefixtures("files")
async def test_a_file_that_telegram_does_not_know_is_not_there(redis: RedisPort) -> None:
    assert await ask(redis, "nobody") == NotThere("refused")


@pytest.mark.usefixtures("files")
async def test_a_file_that_went_between_two_calls_is_not_there(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.files["photo1"] = b"x"
    fake.fault(Fault("error", method="download", status=404))

    assert await ask(redis) == NotThere("refused")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("method", ["getFile", "download"])
@pytest.mark.parametrize("kind", ["drop_before", "error"])
async def test_a_fault_that_passes_is_no_answer_and_the_next_request_is(
    redis: RedisPort, fake: FakeTelegram, method: str, kind: str
) -> None:
    fake.files["photo1"] = b"x"
    fake.fault(
        Fault("drop_before", method, times=2)
        if kind != "error"
        else Fault("error", method, times=2, status=502)
    )

    assert isinstance(await ask(redis), Fetched)


@pytest.mark.usefixtures("files")
async def test_a_flood_is_waited_for(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.files["photo1"] = b"x"
    fake.fault(Fault("flood", method="getFile", retry_after=60))

    assert await ask(redis, deadline_s=0.5) == NotInTime()
    assert calls(fake, "getFile") == 1


async def test_a_bot_that_starts_later_answers_what_waits(
    redis: RedisPort, api: BotApi, fake: FakeTelegram
) -> None:
    fake.files["photo1"] = b"x"
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask(redis))
        await asyncio.sleep(0.2)
        serving = group.create_task(Files(redis, api).serve())
        await asking
        serving.cancel()

    assert isinstance(asking.result(), Fetched)
    assert calls(fake, "getFile") == 1


@pytest.mark.usefixtures("files")
async def test_what_is_no_request_is_passed_over(redis: RedisPort, fake: FakeTelegram) -> None:
    fake.files["photo1"] = b"x"
    await redis.rpush(keys.file_requests("777"), b"?", b'{"v": 99}')

    assert isinstance(await ask(redis), Fetched)


async def test_it_lives_through_an_outage_of_redis(redis: RedisPort, api: BotApi, fake: FakeTelegram) -> None:
    fake.files["photo1"] = b"x"
    await redis.set(keys.file_requests("777"), "not a list")  # every BLPOP fails
    sleeps = Sleeps()
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(Files(redis, api, sleep=sleeps).serve())
        await until(lambda: len(sleeps.seconds) > 1)
        await redis.delete(keys.file_requests("777"))
        assert isinstance(await ask(redis), Fetched)
        serving.cancel()


async def test_an_album_waits_together_with_its_caption(redis: RedisPort, fake: FakeTelegram) -> None:  # C40
    process = Process(redis, fake, telegram_owner="1", telegram_allowed_users=(CHAT,))
    async with process.running():
        for nth in (1, 2, 3):
            size = {"file_id": f"p{nth}", "file_unique_id": f"u{nth}", "width": 100, "height": 50}
            caption = {"caption": "which one?"} if nth == 2 else {}
            fake.say("777", 42, "", photo=[size], media_group_id="g1", **caption)
        inbox = keys.items(keys.inbox_job("777:42:0"))
        await until(lambda: _holds(redis, inbox, 3))
        claims: list[InboundMessage] = []
        while not claims:
            found, _ = await claim_due(
                redis, keys.inbox_queue(), lease_ms=60_000, wanted=50, prefix="t", per_turn=20
            )
            claims = [load(InboundMessage, item.body) for one in found for item in one.items]
            await asyncio.sleep(0.01)

    assert [one.attachments[0].file_id for one in claims] == ["p1", "p2", "p3"]
    assert [one.text for one in claims] == ["", "which one?", ""]
    assert {one.album for one in claims} == {"g1"}


async def _holds(redis: RedisPort, key: str, count: int) -> bool:
    return await redis.llen(key) == count


async def test_nothing_is_fetched_for_somebody_who_was_not_let_in(
    redis: RedisPort, fake: FakeTelegram
) -> None:
    size = {"file_id": "p1", "file_unique_id": "u1", "width": 100, "height": 50}
    process = Process(redis, fake, telegram_owner="1", telegram_allowed_users=(CHAT,))
    async with process.running():
        fake.say("777", 99, "look", photo=[size])
        fake.say("777", 42, "hello")
        await process.messages(1)

    assert calls(fake, "getFile") == 0
    assert await redis.exists(keys.file_requests("777")) == 0
