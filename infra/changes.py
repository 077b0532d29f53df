"""How effects, pushes and expectations are handed to a script (changes.lua reads them)."""

from collections.abc import Iterable

from infra.effect import COMMAND_TYPES, Effect, Expect, Push
from infra.redis_port import Value


def effect_words(effect: Effect, when: str = "always") -> tuple[Value, ...]:
    """when: "always", "text", or "item:" and an id (lanes.outcome.Commit)."""
    words = (effect.command, effect.key, *effect.args)
    return when, COMMAND_TYPES[effect.command], len(words), *words


def push_words(push: Push) -> tuple[Value, ...]:
    """Seven words."""
    solo = "1" if push.solo else "0"
    return push.job_id, push.queue, push.item_id, push.body, push.owner, solo, push.hold_ms


def expect_words(expect: Expect) -> tuple[Value, ...]:
    """Four words: key, field, is it there, its value."""
    is_there = expect.value is not None
    return expect.key, expect.field, int(is_there), expect.value or b""


def listed(parts: Iterable[tuple[Value, ...]]) -> list[Value]:
    """Their number, then all their words."""
    parts = tuple(parts)
    return [len(parts), *(word for part in parts for word in part)]
