"""What a conversation in the terminal needs beside it: a store, a worker while there is none, and its own outbox."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from redis.exceptions import RedisError

from cli.environment import redis_patience_s
from cli.local_sender import serve_outbox
from cli.replies import Replies
from cli.seat import Seat, message_from, seat_of
from cli.signals import passed
from cli.supervise import OnFailure, Part, supervise
from infra import health, people
from infra.clock import Clock
from infra.forget import forget, meant
from infra.outage import is_outage
from infra.pushes import push_message
from infra.redis import open_redis
from infra.redis_port import RedisPort
from infra.settings import Settings
from lanes.ingest import ingest
from schemas.inbound import InboundMessage

type Work = Callable[[RedisPort, asyncio.Event], Awaitable[None]]
"""Be a worker, until the event is set."""

LOOK_FOR_WORKER_S = 1.0
OUTAGE_PAUSE_S = 0.5


@dataclass
class Room:
    """An open conversation."""

    redis: RedisPort
    seat: Seat
    clock: Clock
    replies: Replies
    leave_now: bool = False
    """Do not wait for turns that run in this process: they are handed back, and answered next time."""

    def message(self, text: str) -> InboundMessage:
        """What the person wrote, as a message with an id of its own."""
        return message_from(text, self.seat, now_ms=self.clock(), nonce=secrets.token_hex(4))

    async def send(self, message: InboundMessage) -> None:
        """Put it into its lane; repeated until the store has it."""
        admitted = await _insist(lambda: self._with_forgotten(message))
        await _insist(lambda: ingest(self.redis, [push_message(admitted)]))

    async def _with_forgotten(self, message: InboundMessage) -> InboundMessage:
        """Forgotten is gone at admission, not when the lane comes to it."""
        what = meant(message.argument) if message.command == "forget" else ""
        if not what:
            return message
        removed = await forget(self.redis, message.owner, what)
        return message.model_copy(update={"forgot": removed})


@asynccontextmanager
async def open_room(
    settings: Settings, *, user: str, bot: str, clock: Clock, on_failure: OnFailure, work: Work
) -> AsyncGenerator[Room]:
    """Start what is not running; at the end, turns that run here end first, and what they say still arrives.

    Raises: BadSetting, and what infra.redis.open_redis raises.
    """
    async with open_redis(settings, name="chat", patience_s=redis_patience_s(settings)) as redis:
        owner_id = await people.owner_id(redis, settings)
        seat = seat_of(settings, user=user, bot=bot, owner_id=owner_id)
        room = Room(redis, seat, clock, Replies(redis, seat.lane))
        await room.replies.open()
        stop_worker, stop_sender = asyncio.Event(), asyncio.Event()
        worker = Part("worker", lambda: _work_while_nobody_does(redis, work, stop_worker))
        sender = Part("outbox", lambda: serve_outbox(redis, seat.bot_id, stop_sender))
        async with asyncio.TaskGroup() as group:
            working = group.create_task(supervise([worker], stop_worker, on_failure))
            group.create_task(supervise([sender], stop_sender, on_failure))
            try:
                yield room
            finally:
                stop_worker.set()
                if room.leave_now:
                    working.cancel()
                await asyncio.wait([working])
                stop_sender.set()
        await room.replies.close()


async def _work_while_nobody_does(redis: RedisPort, work: Work, stop: asyncio.Event) -> None:
    """Be a worker, unless and as long as another one lives."""
    while not stop.is_set():
        if not await health.is_alive(redis, "worker"):
            await work(redis, stop)
        await passed(stop, LOOK_FOR_WORKER_S)


async def _insist[T](step: Callable[[], Awaitable[T]]) -> T:
    """Repeat a step while the store is away."""
    while True:
        try:
            return await step()
        except RedisError as error:
            if not is_outage(error):
                raise
            await asyncio.sleep(OUTAGE_PAUSE_S)
