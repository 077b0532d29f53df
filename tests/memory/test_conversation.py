"""The memory as a library."""

from pathlib import Path
from typing import cast

from redis.asyncio import Redis

from infra.redis_port import RedisPort
from memory.conversation import ConversationMemory
from memory.limits import MemoryLimits
from tests.memory.values import BERLIN, DAY_MS, MINUTE_MS, NOW_MS, PARCEL, UPS


class Hands:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


async def test_fifty_minutes_later_the_parcel_is_known(redis: RedisPort) -> None:
    clock = Hands()
    memory = ConversationMemory(redis, "anna", language="de", zone=BERLIN, clock=clock)
    await memory.add(PARCEL, UPS, "telegram_42", "/srv/koi")

    clock.now_ms += 50 * MINUTE_MS
    context = await memory.build_context("Soll Mittwoch kommen")

    assert f"[05.04. 14:23]\nUser: {PARCEL}\nBot: {UPS}\n</conversation_history>" in context
    assert context.endswith("Aktuelle Nachricht: Soll Mittwoch kommen")
    assert [(one.session_name, one.workdir) for one in await memory.entries()] == [
        ("telegram_42", "/srv/koi")
    ]


async def test_a_plain_redis_client_and_a_name_are_enough(redis: RedisPort, valkey_socket: Path) -> None:
    client = Redis(unix_socket_path=str(valkey_socket))
    memory = ConversationMemory(cast("RedisPort", client), "anna")
    try:
        await memory.add("Where is the Chemitek parcel?", "UPS says Wednesday")
        context = await memory.build_context("It should come Wednesday")
    finally:
        await client.aclose()

    assert "Bot: UPS says Wednesday" in context


async def test_a_day_later_it_is_not(redis: RedisPort) -> None:
    clock = Hands()
    memory = ConversationMemory(redis, "anna", clock=clock)
    await memory.add(PARCEL, UPS)

    clock.now_ms += DAY_MS

    assert await memory.build_context("Soll Mittwoch kommen") == "Soll Mittwoch kommen"


async def test_only_the_newest_entries_asked_for_are_told(redis: RedisPort) -> None:
    memory = ConversationMemory(redis, "anna", clock=Hands())
    for number in range(7):
        await memory.add(f"question {number}", f"answer {number}")

    context = await memory.build_context("next", max_entries=2)

    assert "question 4" not in context
    assert "question 5" in context
    assert await memory.build_context("next", max_entries=0) == "next"
    assert (await memory.build_context("next")).count("Bot: ") == 5


async def test_owners_know_nothing_of_each_other(redis: RedisPort) -> None:  # C30
    await ConversationMemory(redis, "anna").add("my code is 4711", "Noted.")

    assert await ConversationMemory(redis, "bob").build_context("what's my code?") == "what's my code?"


async def test_forgotten_is_gone(redis: RedisPort) -> None:  # C33
    memory = ConversationMemory(redis, "anna", limits=MemoryLimits(entries=3), clock=Hands())
    for name in ("Ada", "Ben", "Cleo", "Dora"):
        await memory.add(f"my sister's name is {name}", "Nice name.")

    assert await memory.forget("ben") == 1
    assert await memory.forget("last") == 1
    assert [one.user_message[-4:] for one in await memory.entries()] == ["Cleo"]
    assert await memory.forget() == 1
    assert await memory.entries() == ()
