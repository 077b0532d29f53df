"""Dead letters: make one, list them, put one back into its lane, drop one."""

from pathlib import Path

from infra import keys
from infra.clean import clean
from infra.effect import Effect
from infra.redis_port import RedisPort, Value
from infra.scripts import Script
from lanes.claim import Claim, Item
from schemas.dead import DeadLetter
from schemas.wire import NewerVersion, NotReadable, dump, load

REASON_CHARS = 300

REVIVE = Script(Path(__file__).with_name("revive.lua"))


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
    return (
        Effect("HSET", keys.dead_of(claim.owner), (item.id, dump(letter))),
        Effect("ZADD", keys.dead(), (now_ms, index_member(letter))),
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
