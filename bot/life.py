"""What the commit of a reply writes down of it for the dashboard (schemas.life.SentLife). Pure."""

from collections.abc import Sequence
from typing import Literal

from bot.progress import Progress, found
from infra.effect import Effect
from infra.lives import written
from lanes.claim import Claim
from schemas.life import SentLife
from schemas.wire import NewerVersion, NotReadable

type Outcome = Literal["sent", "gone", "dead"]

NOTHING = Progress(())


def life_effects(
    reply_id: str, lane: str, progress: Progress, now_ms: int, outcome: Outcome = "sent"
) -> Sequence[Effect]:
    """lane: `bot:chat:topic`. progress: as far as it came."""
    again = sum(part.again for part in progress.parts)
    life = SentLife(
        reply_id=reply_id,
        lane=lane,
        bot_id=lane.partition(":")[0],
        taken_ms=progress.taken_ms or now_ms,
        sent_ms=progress.sent_ms,
        ended_ms=now_ms,
        outcome=outcome,
        resent=max(0, again - progress.left) if outcome == "sent" else 0,
        left=progress.left,
    )
    return written("sent", life)


def dead_effects(reply_id: str, claim: Claim, at: Progress | None, now_ms: int) -> Sequence[Effect]:
    """Of a reply that is given up. at: as far as this attempt came; None: there was none."""
    return life_effects(reply_id, claim.lane, at or _kept(reply_id, claim), now_ms, "dead")


def _kept(reply_id: str, claim: Claim) -> Progress:
    """As far as earlier attempts came."""
    try:
        return found(reply_id, claim.kept) or NOTHING
    except (NewerVersion, NotReadable):
        return NOTHING
