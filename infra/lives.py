"""How the life of messages is written (schemas.life): as effects of the very commit that ends a turn or a reply, so once, and
only by who holds the lane. Pure.
"""

from typing import Literal

from infra import keys
from infra.effect import Effect
from schemas.life import SentLife, TurnLife
from schemas.wire import dump

KEPT = 20_000
"""Entries in the stream: ten thousand turns and their replies."""
TTL_MS = 31 * 24 * 3_600_000


def written(field: Literal["turn", "sent"], life: TurnLife | SentLife) -> tuple[Effect, ...]:
    """One more entry of keys.life()."""
    return (
        Effect("XADD", keys.life(), ("MAXLEN", "~", KEPT, "*", field, dump(life))),
        Effect("PEXPIRE", keys.life(), (TTL_MS,)),
    )
