"""Dead letters: list them, put one back into its lane, drop one."""

from pathlib import Path

from infra import keys
from infra.redis_port import RedisPort, Value
from infra.scripts import Script
from schemas.dead import DeadLetter
from schemas.wire import NotReadable, load

REVIVE = Script(Path(__file__).with_name("revive.lua"))


def index_member(letter: DeadLetter) -> str:
    """How keys.dead() names a letter: `owner|item id`."""
    return f"{letter.owner}|{letter.id}"


async def dead_letters(redis: RedisPort) -> list[DeadLetter]:
    """All of them, oldest first. One that cannot be read is left out (it stays where it is)."""
    letters: list[DeadLetter] = []
    for member in await redis.zrange(keys.dead(), 0, -1):
        owner, _, item_id = member.decode().rpartition("|")
        raw = await redis.hget(keys.dead_of(owner), item_id)
        if raw is None:
            continue
        try:
            letters.append(load(DeadLetter, raw))
        except NotReadable:
            continue
    return letters


async def retry_dead(redis: RedisPort, letter: DeadLetter) -> bool:
    """Back to the end of its lane, in one step, to be taken alone. False: somebody else was faster."""
    raw = await redis.hget(keys.dead_of(letter.owner), letter.id)
    if raw is None:
        return False
    push: list[Value] = [
        letter.job_id, keys.queue_of(letter.job_id), letter.id, letter.body, letter.owner, 1, 0,
    ]  # fmt: skip
    args: list[Value] = [letter.id, raw, index_member(letter), *push]
    return bool(await REVIVE(redis, [keys.dead_of(letter.owner), keys.dead()], args))


async def drop_dead(redis: RedisPort, letter: DeadLetter) -> bool:
    """Delete it. False: it was gone."""
    async with redis.pipeline(transaction=True) as pipe:
        pipe.hdel(keys.dead_of(letter.owner), letter.id)
        pipe.zrem(keys.dead(), index_member(letter))
        removed, _ = await pipe.execute()
    return bool(removed)
