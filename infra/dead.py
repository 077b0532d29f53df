"""Dead letters, as people deal with them: list them, put one back into its lane, drop one."""

from collections.abc import Sequence

from infra import keys
from infra.deliver import deliver
from infra.effect import Effect, Expect, Push
from infra.redis_port import RedisPort
from schemas.dead import DeadLetter
from schemas.wire import NewerVersion, NotReadable, load


def letter_effects(letter: DeadLetter, raw: bytes) -> tuple[Effect, ...]:
    """What puts a letter among the others. raw: itself, JSON."""
    return (
        Effect("HSET", keys.dead_of(letter.owner), (letter.id, raw)),
        Effect("ZADD", keys.dead(), (letter.at_ms, index_member(letter))),
    )


def index_member(letter: DeadLetter) -> str:
    """How keys.dead() names a letter: `owner|item id`."""
    return f"{letter.owner}|{letter.id}"


async def dead_letters(redis: RedisPort) -> list[DeadLetter]:
    """All of them, oldest first. One that cannot be read, or is of a newer version, is left out (it stays)."""
    letters: list[DeadLetter] = []
    for member in await redis.zrange(keys.dead(), 0, -1):
        owner, _, item_id = member.decode().rpartition("|")
        raw = await redis.hget(keys.dead_of(owner), item_id)
        if raw is None:
            continue
        try:
            letters.append(load(DeadLetter, raw))
        except (NotReadable, NewerVersion):
            continue
    return letters


async def retry_dead(redis: RedisPort, letter: DeadLetter) -> bool:
    """Back to the end of its lane, in one step, to be taken alone. False: somebody else was faster.

    Raises: CannotDeliver, and what redis-py raises.
    """
    raw = await redis.hget(keys.dead_of(letter.owner), letter.id)
    return raw is not None and await take_dead(redis, letter.owner, letter.id, raw, (push_back(letter),))


async def drop_dead(redis: RedisPort, letter: DeadLetter) -> bool:
    """Delete it. False: it was gone.

    Raises: CannotDeliver, and what redis-py raises.
    """
    raw = await redis.hget(keys.dead_of(letter.owner), letter.id)
    return raw is not None and await take_dead(redis, letter.owner, letter.id, raw)


async def take_dead(
    redis: RedisPort, owner: str, item_id: str, raw: bytes, pushes: Sequence[Push] = ()
) -> bool:
    """Out of the dead letters, if it is still as it was read, and the pushes with it. False: it is not; nothing changed.

    Raises: CannotDeliver, and what redis-py raises.
    """
    return await deliver(
        redis,
        expects=(Expect(keys.dead_of(owner), item_id, raw),),
        effects=(
            Effect("HDEL", keys.dead_of(owner), (item_id,)),
            Effect("ZREM", keys.dead(), (f"{owner}|{item_id}",)),
        ),
        pushes=pushes,
    )


def push_back(letter: DeadLetter) -> Push:
    """To the end of its lane, to be taken alone."""
    return Push(
        letter.job_id, keys.queue_of(letter.job_id), letter.id, letter.body.encode(), letter.owner, solo=True
    )
