"""Every model call is written down once, when it ended."""

import asyncio

from infra import keys
from llm.request import Usage
from schemas.call import CallRecord
from schemas.wire import load
from tests.workers.stage import House, call


async def records(house: House) -> list[CallRecord]:
    return [load(CallRecord, fields[b"record"]) for _, fields in await house.redis.xrange(keys.calls())]


def end(house: House, call_id: str = "c1") -> None:
    house.services.recorder.ended(call(call_id=call_id), turn_id="t", lane="7:42:0", user_id="42")


async def test_a_turn_records_its_calls_with_their_tokens(house: House) -> None:
    await house.say("Hallo")

    await house.services.recorder.flush()

    (record,) = await records(house)
    assert (record.model, record.outcome, record.took_ms, record.user_id) == ("sonnet", "answered", 12, "42")
    used = (record.input_tokens, record.cache_write_tokens, record.cache_read_tokens, record.output_tokens)
    assert used == (40, 30, 20, 10)


async def test_a_call_is_recorded_once_however_often_it_is_tried(house: House) -> None:
    end(house)
    await house.services.recorder.flush()
    end(house)
    await house.services.recorder.flush()

    assert len(await records(house)) == 1


async def test_what_could_not_be_written_waits_and_is_written_in_order(house: House) -> None:
    await house.redis.set(keys.calls(), "in the way")
    waited: list[float] = []

    async def make_way(seconds: float) -> None:
        waited.append(seconds)
        await house.redis.delete(keys.calls())

    house.services.recorder.sleep = make_way
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(house.services.recorder.serve())
        for call_id in ("c1", "c2"):
            end(house, call_id)
        async with asyncio.timeout(5):
            while not waited or len(await records(house)) < 2:
                await asyncio.sleep(0.005)
        serving.cancel()

    assert waited == [1.0]
    assert [record.id for record in await records(house)] == ["c1", "c2"]


async def test_records_and_marks_have_an_end(house: House) -> None:
    end(house)
    await house.services.recorder.flush()

    assert await house.redis.pttl(keys.call("c1")) > 0
    assert await house.redis.pttl(keys.calls()) > 0


async def test_a_call_without_usage_is_recorded_as_unknown(house: House) -> None:
    house.services.recorder.ended(call(usage=Usage()), turn_id="t", lane="7:42:0", user_id="42")
    await house.services.recorder.flush()

    (record,) = await records(house)
    assert record.input_tokens is None
