"""How an item becomes a dead letter. What people do with it: infra.dead."""

from infra.clean import clean
from infra.dead import letter_effects
from infra.effect import Effect
from lanes.claim import Claim, Item
from schemas.dead import DeadLetter
from schemas.wire import dump

REASON_CHARS = 300


def dead_letter(claim: Claim, item: Item, reason: str, now_ms: int) -> tuple[Effect, ...]:
    """What puts an item among the dead letters. It holds a person's text: commit it among `letters`.

    reason: of it, the first REASON_CHARS in one line.
    """
    letter = DeadLetter(
        id=item.id,
        job_id=claim.job_id,
        at_ms=now_ms,
        reason=" ".join(clean(reason).split())[:REASON_CHARS],
        body=item.body.decode(errors="replace"),
        owner=claim.owner,
    )
    return letter_effects(letter, dump(letter))
