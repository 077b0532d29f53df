"""Mails to the owner, sent beside the turns: one worker at a time, tried for a day, handed over twice at most.

Before a mail's text goes out its entry says so: whoever finds that and no answer sends it once more under the same
Message-ID, then leaves it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import cast
from uuid import uuid4

import structlog

from infra import keys
from infra.redis_port import RedisPort
from infra.scripts import Script
from schemas.mail import Mail
from schemas.wire import NewerVersion, NotReadable, dump, load
from workers.delivery import Delivery, Next, NotSent, Sent, after, is_over
from workers.mail_settings import MailSettings
from workers.services import Services

LEASE_MS = 90_000
"""Longer than workers.smtp.WHOLE_S."""
NEWER_PAUSE_MS = 5_000
"""Until a worker that knows the newer version had time to take it."""

TAKE = Script(Path(__file__).with_name("mail_take.lua"))
SETTLE = Script(Path(__file__).with_name("mail_settle.lua"))

log = structlog.get_logger()

type Deliver = Callable[[Mail, MailSettings, Callable[[], Awaitable[bool]]], Awaitable[Delivery]]
"""workers.smtp.deliver."""


class Post:
    """The queue of mails, as the holder of one lease sees it."""

    def __init__(self, redis: RedisPort, token: str) -> None:
        self.redis = redis
        self.token = token
        self.keys = [keys.mails(), keys.once("mail:lease"), keys.once("mail:pause")]

    async def take(self) -> bytes:
        """The oldest mail, now leased; b"": none, or none for us now."""
        return await TAKE(self.redis, self.keys, [self.token, LEASE_MS])

    async def mark(self, before: bytes, now: bytes) -> bool:
        """Rewrite it and keep the lease; False: it is another's by now."""
        return bool(await SETTLE(self.redis, self.keys, [self.token, before, now, 0, 0]))

    async def settle(self, before: bytes, now: bytes = b"", *, pause_ms: int = 0) -> bool:
        """Rewrite it, or (b"") remove it, and end the lease."""
        return bool(await SETTLE(self.redis, self.keys, [self.token, before, now, 1, pause_ms]))


async def send_mails(s: Services) -> int:
    """All that can be sent now, oldest first; gives how many are done with.

    Raises: RedisError: what was not settled waits until the lease ends.
    """
    done = 0
    while s.mail is not None and await _send_one(s, s.mail, Post(s.redis, uuid4().hex)):
        done += 1
    return done


async def _send_one(s: Services, settings: MailSettings, post: Post) -> bool:
    """Whether to look for another at once."""
    raw = await post.take()
    if not raw:
        return False
    try:
        mail = load(Mail, raw)
    except NewerVersion:
        await post.settle(raw, raw, pause_ms=NEWER_PAUSE_MS)
        return False
    except NotReadable:
        log.warning("mail_unreadable")
        return await post.settle(raw)
    if is_over(mail, s.clock()):
        log.warning("mail_given_up", mail=mail.id, unsure=mail.unsure, waited_ms=s.clock() - mail.at_ms)
        return await post.settle(raw)
    marked = dump(mail.model_copy(update={"unsure": mail.unsure + 1}))

    async def announce() -> bool:
        nonlocal raw
        before, raw = raw, marked
        return await post.mark(before, marked)

    deliver = await _deliver()
    delivery = await deliver(mail, settings, announce)
    next_ = after(delivery, mail, s.clock())
    _log(mail, delivery, next_)
    settled = await post.settle(raw, dump(next_.keep) if next_.keep else b"", pause_ms=next_.pause_ms)
    return settled and next_.keep is None


async def _deliver() -> Deliver:
    """Imported in a thread: the loop must go on renewing leases."""
    module = await asyncio.to_thread(import_module, "workers.smtp")
    return cast("Deliver", module.deliver)


def _log(mail: Mail, delivery: Delivery, next_: Next) -> None:
    match delivery:
        case Sent():
            log.info("mail_sent", mail=mail.id)
        case _:
            log.warning(
                "mail_lost" if next_.lost else "mail_not_sent",
                mail=mail.id, reason=delivery.reason, arrived="no" if isinstance(delivery, NotSent) else "unknown",
                again_in_ms=next_.pause_ms,
            )  # fmt: skip
