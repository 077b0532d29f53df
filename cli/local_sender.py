"""What `koi chat` does with an outbox: show each reply in every open window of its lane."""

import asyncio

import structlog

from infra import keys
from infra.redis_port import RedisPort
from lanes.claim import Claim, Item
from lanes.outcome import Commit, Done, HandBack, Outcome
from lanes.worker import LaneLimits, LaneWorker
from schemas.reply import Reply
from schemas.wire import NewerVersion, NotReadable, load

log = structlog.get_logger()

NOBODY_LISTENS_MS = 1_000
NEWER_MS = 5_000
SENDS_AT_ONCE = 10


class LocalSender:
    """A lanes.Handler. A reply that no window takes stays in the outbox until one is opened."""

    def __init__(self, redis: RedisPort) -> None:
        self.redis = redis

    async def run(self, claim: Claim) -> Outcome:
        """Publish the replies in order; stop at the first that nobody hears."""
        shown: list[str] = []
        for item in claim.items:
            pause_ms = await self._show(item)
            if pause_ms and not shown:
                return HandBack(pause_ms)
            if pause_ms:
                break
            shown.append(item.id)
        return Done(Commit(remove=tuple(shown)))

    async def _show(self, item: Item) -> int:
        """0, or in how many ms it is worth trying again."""
        try:
            reply = load(Reply, item.body)
        except NewerVersion:
            return NEWER_MS
        except NotReadable:
            log.warning("reply_unreadable", item_id=item.id)
            return 0
        heard_by = await self.redis.publish(keys.local_channel(reply.lane), item.body)
        return 0 if heard_by else NOBODY_LISTENS_MS

    def bury(self, claim: Claim, reason: str) -> Commit:
        """Never asked for by `run`; after many deaths in a row the replies are dropped."""
        log.warning("replies_dropped", job_id=claim.job_id, reason=reason)
        return Commit()


async def serve_outbox(redis: RedisPort, bot_id: str, stop: asyncio.Event) -> None:
    """Show the replies of this bot until `stop`; what is just being shown is finished."""
    limits = LaneLimits(concurrency=SENDS_AT_ONCE)
    worker = LaneWorker(redis, keys.outbox_queue(bot_id), LocalSender(redis), limits, name="chat")
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(worker.serve())
        await stop.wait()
        worker.stop()
        await serving
