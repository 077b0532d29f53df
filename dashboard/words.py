"""The texts of messages, looked up under their owners: what expired or was forgotten is not there, and so not on a page."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any, cast

import orjson

from dashboard.lives import Row
from dashboard.shared import Shared
from infra import keys
from infra.clock import ms
from infra.together import checked, together
from schemas.dead import DeadLetter
from schemas.inbound import InboundMessage
from schemas.reply import Reply
from schemas.turn import TurnRecord
from schemas.wire import NewerVersion, NotReadable, WireModel, load

OWNERS_AT_ONCE = 20
"""Of whom texts are read in one round trip: at most 20 entries each."""

type ItemKey = tuple[str, str]
"""Job id and item id."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a turn was about."""

    question: str
    """As it is remembered: at most memory.user_chars characters."""
    reply: str = ""


async def said_in(shared: Shared, rows: Iterable[Row]) -> Mapping[str, Said]:
    """Turn id → what was said, as far as it is kept; nothing if texts are hidden.

    Raises what redis-py raises.
    """
    if not shared.settings.dashboard.show_texts:
        return {}
    owners = dict.fromkeys(row.owner for row in rows if row.owner)
    return await said_by(shared, owners)


async def said_by(shared: Shared, owners: Iterable[str]) -> Mapping[str, Said]:
    """The same of all that is remembered of these owners."""
    kept_since_ms = shared.clock() - ms(shared.settings.memory.max_age)
    found: dict[str, Said] = {}
    for bunch in batched(owners, OWNERS_AT_ONCE):
        rings = checked(
            await together(shared.redis).run(*(("LRANGE", keys.ring(owner), 0, -1) for owner in bunch))
        )
        for ring in rings:
            for raw in ring:
                found |= _remembered(raw, kept_since_ms)
    return found


def _remembered(raw: bytes, kept_since_ms: int) -> Mapping[str, Said]:
    """Of one entry of a ring; read without a model, since a search reads many."""
    try:
        value: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(value, dict):
        return {}
    entry = cast("dict[str, Any]", value)
    id_, at_ms, question = entry.get("id"), entry.get("at_ms"), entry.get("user_message")
    if not isinstance(id_, str) or not isinstance(at_ms, int) or not isinstance(question, str):
        return {}
    if at_ms <= kept_since_ms:
        return {}
    reply = entry.get("reply") or entry.get("summary") or ""
    return {id_: Said(question, reply if isinstance(reply, str) else "")}


async def record_of(shared: Shared, owner: str, turn_id: str) -> TurnRecord | None:
    """What an answer was made of; None: expired, forgotten, of a newer release, or there is none."""
    kept_since_ms = shared.clock() - ms(shared.settings.memory.max_age)
    (found,) = checked(await together(shared.redis).run(("LRANGE", keys.turns(owner), 0, -1)))
    name = orjson.dumps(turn_id)
    for raw in reversed(found):
        if name in raw and (record := _read(TurnRecord, raw)) and record.id == turn_id:
            return record if record.oldest_ms > kept_since_ms else None
    return None


async def bodies_of(shared: Shared, wanted: Sequence[ItemKey]) -> Mapping[ItemKey, bytes]:
    """What waits in lanes, JSON. Raises what redis-py raises."""
    by_job: dict[str, list[str]] = defaultdict(list)
    for job_id, item_id in wanted:
        by_job[job_id].append(item_id)
    if not by_job:
        return {}
    found = checked(
        await together(shared.redis).run(*(("HMGET", keys.bodies(job), *ids) for job, ids in by_job.items()))
    )
    pairs = zip(by_job.items(), found, strict=True)
    return {
        (job, id_): body
        for (job, ids), bodies in pairs
        for id_, body in zip(ids, bodies, strict=True)
        if body is not None
    }


def text_of(raw: bytes | str, *, is_reply: bool = False) -> str | None:
    """Of a waiting message or reply; None: it cannot be read."""
    if is_reply:
        reply = _read(Reply, raw)
        return reply.text if reply else None
    message = _read(InboundMessage, raw)
    return asked_in(message) if message else None


def asked_in(message: InboundMessage) -> str:
    """What a person wrote, else what they sent: "/memory", "[photo]"."""
    if message.text:
        return message.text
    if message.command:
        return f"/{message.command} {message.argument}".strip()
    kinds = [message.media, *(one.kind for one in message.attachments)]
    return f"[{next(filter(None, kinds), message.kind)}]"


def letter_in(raw: bytes) -> DeadLetter | None:
    """None: it cannot be read by this release."""
    return _read(DeadLetter, raw)


def message_in(raw: bytes | str) -> InboundMessage | None:
    """None: it cannot be read by this release, or is none."""
    return _read(InboundMessage, raw)


def _read[W: WireModel](model: type[W], raw: bytes | str) -> W | None:
    try:
        return load(model, raw)
    except (NotReadable, NewerVersion):
        return None
