"""What is known when a turn begins, read in one round trip."""

from dataclasses import dataclass

import structlog

from infra import keys
from infra.together import checked, together
from memory.ring import Remembered, read_ring
from memory.session import read_session
from schemas.inbound import InboundMessage
from schemas.memory import AnswerRecord, Session
from schemas.wire import NewerVersion, NotReadable, WireModel, load
from workers.services import Services

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Known:
    """The lane's conversation and its owner's memory, at one moment."""

    session: Session | None
    """None: none runs."""
    remembered: Remembered
    answer: AnswerRecord | None
    """Of the last answer in this lane."""
    broken: int = 0
    """Stored values that could not be read; the commit removes or replaces them."""


async def load_known(s: Services, message: InboundMessage, now_ms: int) -> Known:
    """Everything for a turn of the lane and owner of this message.

    Raises: NewerVersion: a part was written by a newer release. RedisError.
    """
    session_raw, ring_raws, answer_raw = checked(
        await together(s.redis).run(
            ("GET", keys.session(message.lane)),
            ("LRANGE", keys.ring(message.owner), 0, -1),
            ("GET", keys.answer(message.lane)),
        )
    )
    remembered = read_ring(ring_raws, now_ms, s.memory)
    if remembered.newer:
        raise NewerVersion("an entry of the ring")
    broken = len(remembered.unreadable)
    try:
        session = read_session(session_raw, now_ms, s.session)
    except NotReadable:
        session, broken = None, broken + 1
    if broken:
        log.warning("memory_unreadable", values=broken)
    return Known(session, remembered, _optional(AnswerRecord, answer_raw), broken)


def _optional[W: WireModel](model: type[W], raw: bytes | None) -> W | None:
    """The value, or None for none, an unreadable or a newer one: /why can do without."""
    try:
        return None if raw is None else load(model, raw)
    except (NotReadable, NewerVersion):
        return None
