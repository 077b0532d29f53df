"""One step of a turn beside its commit: changes that depend on what was read, in one go or not at all (infra.deliver: the
same without a turn).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.changes import effect_words, expect_words, listed
from infra.effect import Effect, Expect
from infra.redis_port import RedisPort
from infra.scripts import Script
from lanes.claim import Claim
from lanes.commit import CannotCommit
from lanes.keep import LeaseLost

STEP = Script(Path(__file__).with_name("step.lua"))


@dataclass(frozen=True, slots=True)
class Stepped:
    """Done, and the value is kept."""


@dataclass(frozen=True, slots=True)
class Known:
    """It had been done, by an earlier attempt of the turn, or by a call whose answer was lost; nothing changed."""

    value: bytes
    """What was kept then."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that was expected is not so any more: read again and decide anew. Nothing changed."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The owner forgot since the turn was fixed: nothing is done, nothing kept."""


type Step = Stepped | Known | Changed | Forgotten


async def step(  # noqa: PLR0913 — the parts of one step
    redis: RedisPort,
    claim: Claim,
    name: str,
    value: bytes,
    *,
    ttl_ms: int,
    expects: Sequence[Expect] = (),
    effects: Sequence[Effect] = (),
) -> Step:
    """Within the turn of `claim`: if nothing is kept under `name` yet and all expectations hold, apply the effects and keep
    `value` under it (lanes.keep: the turn's next claim finds it in `claim.kept`, its commit removes it). Repeat freely.

    Raises: lanes.keep.LeaseLost. lanes.commit.CannotCommit.
    """
    turn = (claim.job_id, claim.token, claim.owner, claim.epoch, name, value, ttl_ms)
    changes = (*listed(map(expect_words, expects)), *listed(map(effect_words, effects)))
    match await STEP(redis, [], [*turn, *changes]):
        case [b"done"]:
            return Stepped()
        case [b"known", kept]:
            return Known(kept)
        case [b"changed"]:
            return Changed()
        case [b"forgotten"]:
            return Forgotten()
        case [b"wrong_type", key]:
            raise CannotCommit(f"{key.decode()} holds another type")
        case _:
            raise LeaseLost(claim.job_id)
