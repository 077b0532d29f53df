"""One step beside any turn: changes that depend on what was read, and items for lanes, in one go or not at all."""

from collections.abc import Sequence
from pathlib import Path

from infra.changes import effect_words, expect_words, listed, push_words
from infra.effect import Effect, Expect, Push
from infra.redis_port import RedisPort
from infra.scripts import Script

DELIVER = Script(Path(__file__).with_name("deliver.lua"))


class CannotDeliver(Exception):
    """A key that the step needs holds another type. Nothing changed, and a repeat fails alike."""


async def deliver(
    redis: RedisPort, *, expects: Sequence[Expect], effects: Sequence[Effect], pushes: Sequence[Push]
) -> bool:
    """Apply the effects and push the items, if all expectations hold. False: they do not; nothing changed.

    Raises: CannotDeliver.
    """
    args = [
        *listed(map(expect_words, expects)),
        *listed(map(effect_words, effects)),
        *listed(map(push_words, pushes)),
    ]
    end, *what = await DELIVER(redis, [], args)
    if end == b"wrong_type":
        raise CannotDeliver(f"{what[0].decode()} holds another type")
    return end == b"done"
