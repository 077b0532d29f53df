"""A house with bots, people and a scripted model: what the tests of this folder talk to."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from infra import keys
from infra.effect import Push
from infra.people import PeopleCache
from infra.redis_port import RedisPort
from infra.settings import Settings
from infra.settings_sections import ToolSettings
from lanes.claim import Claim, claim_due
from lanes.commit import Committed, commit, release
from lanes.ingest import ingest
from lanes.outcome import Commit, Done, HandBack, Outcome
from llm.call import BeforeCall, OnCall
from llm.errors import NoModelAnswered, NotAllowed
from llm.halt import Halt
from llm.provider import ShowText
from llm.request import CallEnded, CallPlanned, Completion, Denied, ModelRequest, Tool, ToolUse, Usage
from llm.routing import Models
from memory.limits import MemoryLimits, SessionLimits
from schemas.inbound import InboundMessage
from schemas.reply import Reply
from schemas.wire import dump, load
from tools.catalog import catalog
from workers.purse import Purse
from workers.records import Recorder
from workers.services import Brain, Services
from workers.turn import TurnHandler

BERLIN = ZoneInfo("Europe/Berlin")
APRIL_5_14_23 = 1_775_391_780_000
"""Sunday 5 April 2026, 14:23 in Berlin."""
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
USED = Usage(40, 30, 20, 10)
CALLS = itertools.count(1)


def call(
    model: str = "sonnet", outcome: Any = "answered", *, call_id: str = "c1", usage: Usage = USED
) -> CallEnded:
    return CallEnded(call_id, "fake", model, outcome, took_ms=12, usage=usage)


def completion(text: str, **changes: Any) -> Completion:
    return replace(Completion(text, "sonnet", "sonnet", "complete", USED, (call(),)), **changes)


def calls(*uses: tuple[str, dict[str, Any]], text: str = "", **changes: Any) -> Completion:
    """The model calls tools; ids are unique in the process."""
    made = tuple(ToolUse(f"toolu_{next(CALLS)}", name, orjson.dumps(given).decode()) for name, given in uses)
    return completion(text, ending="tools", uses=made, **changes)


@dataclass
class ScriptedChain:
    """Says what it was told to say, and keeps what it was asked. An exception is raised."""

    script: list[str | Completion | Exception] = field(default_factory=list[str | Completion | Exception])
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    before: Callable[[], Any] | None = None
    """Awaited before each answer: what happens while the model thinks."""

    async def complete(
        self,
        request: ModelRequest,
        *,
        deadline_at: float,
        on_call: OnCall,
        on_text: ShowText | None = None,
        before_call: BeforeCall | None = None,
        first: str = "",
        halt: Halt | None = None,
    ) -> Completion:
        assert deadline_at > 0
        most = request.max_tokens
        if before_call:
            permit = await before_call(CallPlanned(f"{len(self.requests) + 1}.0", "fake", "sonnet", request))
            if isinstance(permit, Denied):
                raise NotAllowed(permit.reason)
            most = permit.max_tokens
        self.requests.append(request)
        if self.before:
            await self.before()
        said = self.script.pop(0) if self.script else f"answer {len(self.requests)}"
        if isinstance(said, NoModelAnswered):
            for one in said.calls:
                await on_call(one)
        if isinstance(said, Exception):
            raise said
        result = completion(said) if isinstance(said, str) else said
        for number, one in enumerate(result.calls):
            said_tokens = one.usage.output_tokens
            usage = replace(one.usage, output_tokens=said_tokens and min(said_tokens, most))
            used = one if usage.output_tokens == one.usage.output_tokens else replace(one, usage=usage)
            await on_call(replace(used, id=f"{len(self.requests)}.{number}"))
        return result


@dataclass
class House:
    """Messages go in, turns are taken one by one, replies and requests are looked at."""

    redis: RedisPort
    services: Services
    chain: ScriptedChain
    now_ms: int = APRIL_5_14_23
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def handler(self) -> TurnHandler:
        return TurnHandler(self.services)

    @property
    def asked(self) -> str:
        """The last message of the last request."""
        return self.chain.requests[-1].messages[-1].text

    def message(self, text: str = "", **fields: Any) -> InboundMessage:
        values: dict[str, Any] = {
            "bot_id": "7", "bot": "parcels", "chat_id": "42", "user_id": "42", "language": "de",
            "sent_at_ms": self.now_ms, "text": text, **fields,
        }  # fmt: skip
        if text.startswith("/"):
            name, _, argument = text[1:].partition(" ")
            values |= {"kind": "command", "command": name, "argument": argument}
        return InboundMessage(id=f"{values['bot_id']}:{next(self.numbers)}", **values)

    async def push(self, message: InboundMessage, body: bytes | None = None) -> None:
        """Into its lane, as a bot does it. body: something else than the message."""
        await ingest(self.redis, [push_of(message, body)])

    async def take(self) -> Claim:
        claims, _ = await claim_due(
            self.redis, keys.inbox_queue(), lease_ms=10_000, wanted=1, prefix="test", per_turn=20
        )
        (claim,) = claims
        return claim

    async def settle(self, claim: Claim, outcome: Outcome) -> Committed | None:
        """What a LaneWorker does with an outcome that is no failure."""
        queue = keys.inbox_queue()
        match outcome:
            case Done(commit=end):
                return await commit(self.redis, queue, claim, end)
            case HandBack():
                await release(self.redis, queue, claim)
                return None
            case _:
                return None

    async def turn(self) -> Outcome:
        claim = await self.take()
        outcome = await self.handler.run(claim)
        await self.settle(claim, outcome)
        return outcome

    async def bury(self, reason: str) -> Commit:
        claim = await self.take()
        end = self.handler.bury(claim, reason)
        await commit(self.redis, keys.inbox_queue(), claim, end)
        return end

    async def say(self, text: str = "", **fields: Any) -> str:
        """Send one message, take its turn, give what was replied."""
        message = self.message(text, **fields)
        await self.push(message)
        await self.turn()
        return (await self.replies(message.lane))[-1].text

    async def replies(self, lane: str = "7:42:0") -> list[Reply]:
        job_id = keys.outbox_job(lane)
        ids = await self.redis.lrange(keys.items(job_id), 0, -1)
        bodies = [await self.redis.hget(keys.bodies(job_id), item.decode().partition(":")[2]) for item in ids]
        return [load(Reply, body) for body in bodies if body is not None]

    async def sent(self) -> None:
        """The bots sent everything."""
        async for key in self.redis.scan_iter(match="koi:lane:out:*"):
            await self.redis.delete(key.decode())

    def later(self, *, minutes: float = 0, hours: float = 0) -> None:
        self.now_ms += int(minutes * MINUTE_MS + hours * HOUR_MS)


def with_tools(house: House, **settings: Any) -> House:
    """koi's own tools are offered. settings: of [tools]."""
    tools = ToolSettings(**settings)
    own = catalog(tools)
    house.services = replace(
        house.services, tools=tools, catalog=own, own_tools=tuple(Tool(*one) for one in own.definitions)
    )
    return house


def push_of(message: InboundMessage, body: bytes | None = None) -> Push:
    return Push(
        keys.inbox_job(message.lane), keys.inbox_queue(), message.id, dump(message) if body is None else body,
        message.owner, solo=message.kind == "command",
    )  # fmt: skip


def open_house(redis: RedisPort, script: Sequence[str | Completion | Exception] = ()) -> House:
    chain = ScriptedChain(list(script))
    house: House

    def clock() -> int:
        return house.now_ms

    services = Services(
        redis=redis, clock=clock, people=PeopleCache(redis, Settings(telegram_owner="1"), clock),
        recorder=Recorder(redis, clock), purse=Purse(redis, clock, BERLIN, {}),
        brain=Brain(chain, Models(("sonnet",)), readers=("Anthropic",)), memory=MemoryLimits(), session=SessionLimits(),
        zone=BERLIN, language="en",
    )  # fmt: skip
    house = House(redis, services, chain)
    return house
