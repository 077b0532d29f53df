"""What is known when a turn begins, read in one round trip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

import structlog

from infra import keys
from infra.together import checked, together
from llm.candidates import OFFLINE_MODEL
from llm.routing import Tier
from memory.fold import read_fold
from memory.ratio import Ratio, unpack
from memory.ring import Remembered, read_ring
from memory.session import read_session
from schemas.inbound import InboundMessage
from schemas.memory import AnswerRecord, Session
from schemas.profile import Profile
from schemas.things import Fact
from schemas.tools import Pending
from schemas.wire import NewerVersion, NotReadable, WireModel, load
from tools.store import pairs, read_facts
from workers.model import wanted_of
from workers.pending import read_pending
from workers.profile import read_profile, zone_for
from workers.projects import read_project
from workers.services import Services

type Flat = Mapping[bytes, bytes] | Sequence[bytes]
"""A hash, as the client gives it."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Known:
    """The lane's conversation and its owner's memory, at one moment."""

    session: Session | None
    """None: none runs."""
    remembered: Remembered
    answer: AnswerRecord | None
    """Of the last answer in this lane."""
    wanted: Tier | None = None
    """The kind of model that was asked for with /model."""
    ratios: dict[str, Ratio] = field(default_factory=dict[str, Ratio])
    """How models count in this chat, by id."""
    outages: frozenset[str] = frozenset()
    """Models that may be the first choice here and of which the owner was told that they fail."""
    profile: Profile = field(default_factory=Profile)
    """Language and zone of whoever wrote."""
    project: str = ""
    """That the lane is in; "" for none."""
    pending: Pending | None = None
    """What waits for the person's answer."""
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    """Of the owner, if facts are kept."""
    has_fold: bool = False
    """`session` has taken a summary, which the commit removes."""
    rich: bool = False
    """Answers in this chat may be rich messages."""
    broken: int = 0
    """Stored values that could not be read; the commit removes or replaces them."""

    def zone(self, house: tzinfo) -> tzinfo:
        """The person's; `house`, koi's own, if they have not said."""
        return zone_for(self.profile, house) if self.profile.zone else house


async def load_known(s: Services, message: InboundMessage, now_ms: int) -> Known:
    """Everything for a turn of the lane and owner of this message.

    Raises: NewerVersion: a part was written by a newer release. RedisError.
    """
    lane, models = message.lane, s.brain_of(message.bot).models
    learns = models.firsts != (OFFLINE_MODEL,)  # the offline model neither fails nor counts tokens
    first_choices = models.firsts if learns else ()
    of_lane = (
        keys.session(lane),
        keys.answer(lane),
        keys.choice(lane),
        keys.fold(lane),
        keys.project(lane),
        keys.pending(lane),
        keys.profile(message.user_id),
        keys.rich(message.chat_id),
    )
    strings, ring_raws, *more = checked(
        await together(s.redis).run(
            ("MGET", *of_lane, *map(keys.outage, first_choices)),
            ("LRANGE", keys.ring(message.owner), 0, -1),
            *([("HGETALL", keys.ratios(lane))] if learns else ()),
            *([("HGETALL", keys.facts(message.owner))] if s.tools.facts else ()),
        )
    )
    session_raw, answer_raw, wanted, fold, project, pending, profile, rich, *outages = strings
    ratios: Flat = more.pop(0) if learns else ()
    facts: Flat = more.pop(0) if s.tools.facts else ()
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
    return Known(
        session=read_fold(fold, session, now_ms, s.session),
        remembered=remembered,
        answer=_optional(AnswerRecord, answer_raw),
        wanted=wanted_of(wanted),
        ratios={model: unpack(packed) for model, packed in pairs(ratios).items()},
        outages=frozenset(
            model for model, raw in zip(first_choices, outages, strict=True) if raw is not None
        ),
        profile=read_profile(profile),
        project=read_project(project),
        pending=_pending(pending, now_ms, s.memory.max_age_ms),
        facts=read_facts(facts),
        has_fold=fold is not None,
        rich=rich is not None,
        broken=broken,
    )


def _pending(raw: bytes | None, now_ms: int, max_age_ms: int) -> Pending | None:
    """None also for one that cannot be read: then its buttons say that it is over."""
    try:
        return read_pending(raw, now_ms=now_ms, max_age_ms=max_age_ms)
    except NotReadable:
        return None


def _optional[W: WireModel](model: type[W], raw: bytes | None) -> W | None:
    """The value, or None for none, an unreadable or a newer one: /why can do without."""
    try:
        return None if raw is None else load(model, raw)
    except (NotReadable, NewerVersion):
        return None
