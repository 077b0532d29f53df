"""Apply how a turn ended, under the fence: commit it, or give the lane back."""

from enum import Enum
from pathlib import Path

from infra.changes import effect_words, push_words
from infra.redis_port import RedisPort, Value
from infra.scripts import Script
from lanes.claim import Claim
from lanes.outcome import Commit

DONE_TTL_MS = 3_600_000
"""How long a repeated commit is recognised: far beyond any lease, so that a lost answer can be asked for again."""

COMMIT = Script(Path(__file__).with_name("commit.lua"))
RELEASE = Script(Path(__file__).with_name("release.lua"))


class Committed(Enum):
    """What became of a commit."""

    DONE = "done"
    FORGOTTEN = "forgotten"
    """Done, but its owner forgot meanwhile: no text was stored."""
    ALREADY = "already"
    """It had been done; the answer was lost. Nothing changed."""
    FENCED = "fenced"
    """The lane is somebody else's. Nothing changed."""


class CannotCommit(Exception):
    """A key that the commit needs holds another type. Nothing changed, and a repeat fails alike."""


class MustStayWhole(Exception):
    """The turn has kept something: its items cannot become turns of their own, which would do it again. Nothing changed."""


async def commit(redis: RedisPort, queue: str, claim: Claim, end: Commit) -> Committed:
    """Apply `end` in one step, once: repeat it freely after a lost connection.

    Raises: CannotCommit.
    """
    removed = [item.id for item in claim.items] if end.remove is None else end.remove
    args: list[Value] = [
        claim.job_id, queue, claim.token, claim.turn_id, claim.epoch, claim.owner, DONE_TTL_MS, len(removed), *removed,
    ]  # fmt: skip
    args.append(len(end.effects) + len(end.texts) + len(end.letters))
    for effect in end.effects:
        args += effect_words(effect)
    for effect in end.texts:
        args += effect_words(effect, "text")
    for item_id, effect in end.letters:
        args += effect_words(effect, f"item:{item_id}")
    args.append(len(end.pushes))
    for push in end.pushes:
        args += push_words(push)
    match await COMMIT(redis, [], args):
        case [b"done", texts_stored]:
            return Committed.DONE if texts_stored else Committed.FORGOTTEN
        case [b"already"]:
            return Committed.ALREADY
        case [b"wrong_type", key]:
            raise CannotCommit(f"{key.decode()} holds another type")
        case _:
            return Committed.FENCED


async def release(
    redis: RedisPort,
    queue: str,
    claim: Claim,
    *,
    delay_ms: int = 0,
    failed: bool = False,
    split: bool = False,
) -> bool:
    """Give the lane back: the same turn again, not before `delay_ms`.

    failed: count the attempt. split: dissolve the turn and try its items one by one.
    Gives False if the lane was not ours any more; then nothing changed.

    Raises: MustStayWhole, only if it is to be split.
    """
    split_into = len(claim.items) if split else 0
    args: list[Value] = [claim.job_id, queue, claim.token, delay_ms, int(failed), split_into]
    given = await RELEASE(redis, [], args)
    if given < 0:
        raise MustStayWhole(claim.job_id)
    return bool(given)
