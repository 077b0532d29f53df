"""The memory as a library: no Telegram, no queue, one Redis.

memory = ConversationMemory(redis, "anna")
prompt = await memory.build_context("It should come Wednesday")   # the block, then the message
answer = await my_model(prompt)
await memory.add("It should come Wednesday", answer)
"""

from datetime import UTC, tzinfo
from uuid import uuid4

from infra.clock import Clock, system_clock
from infra.forget import forget
from infra.redis_port import RedisPort
from memory.context import build_block, with_block
from memory.entry import make_entry
from memory.labels import labels
from memory.limits import MemoryLimits
from memory.ring import remember
from memory.session import new_exchange
from memory.store import apply, load_ring
from schemas.memory import RingEntry


class ConversationMemory:
    """The last exchanges of one owner. Several processes may use the same one.

    redis: a `redis.asyncio.Redis` that returns bytes (its default).
    owner: any name; `schemas.inbound.person_owner("home", "42")` is what the bots of store "home" remember of person 42.
    """

    def __init__(
        self,
        redis: RedisPort,
        owner: str,
        *,
        limits: MemoryLimits | None = None,
        language: str = "en",
        zone: tzinfo = UTC,
        clock: Clock | None = None,
    ) -> None:
        self._redis = redis
        self._owner = owner
        self._limits = limits or MemoryLimits()
        self._labels = labels(language)
        self._zone = zone
        self._clock = clock or system_clock()

    async def add(
        self, user_message: str, assistant_response: str, session_name: str = "", workdir: str = ""
    ) -> RingEntry:
        """Remember an exchange; gives the entry as stored."""
        exchange = new_exchange(uuid4().hex, self._clock(), user_message, assistant_response)
        entry = make_entry(exchange, self._limits, session_name=session_name, workdir=workdir)
        remembered = await load_ring(self._redis, self._owner, exchange.at_ms, self._limits)
        await apply(self._redis, remember(self._owner, entry, remembered, self._limits))
        return entry

    async def build_context(self, message: str, max_entries: int = 5) -> str:
        """What to send a model for `message`: the block of what is remembered, if anything is, and the message."""
        entries = await self.entries()
        newest = entries[-max_entries:] if max_entries > 0 else ()
        return with_block(build_block(newest, self._labels, self._zone, self._limits, message), message)

    async def entries(self) -> tuple[RingEntry, ...]:
        """What is remembered now, oldest first."""
        return (await load_ring(self._redis, self._owner, self._clock(), self._limits)).entries

    async def forget(self, what: str = "all") -> int:
        """Forget "all", the "last" entry, or what contains a text; gives the number of entries and facts removed."""
        return await forget(self._redis, self._owner, what) or 0
