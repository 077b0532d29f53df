"""What may be done to a lane from outside, by whoever looks at it: take an item out that waits, have it tried now.

Both change nothing if the lane is not as it was seen.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from infra import keys
from infra.changes import listed, push_words
from infra.deliver import CannotDeliver
from infra.effect import Push
from infra.redis_port import RedisPort
from infra.scripts import Script

type TakenOut = Literal["done", "gone", "edited", "taken"]
type RunNow = Literal["done", "gone", "other", "taken", "paused"]

_TAKE_OUT = Script(Path(__file__).with_name("take_out.lua"))
_RUN_NOW = Script(Path(__file__).with_name("run_now.lua"))


async def take_out(
    redis: RedisPort, job_id: str, item_id: str, seen: bytes, pushes: Sequence[Push] = ()
) -> TakenOut:
    """Remove an item that waits, and push what tells of it, in one step. seen: its body.

    gone: it is not there any more. edited: it has another body. taken: a turn has it. Then nothing changed.

    Raises: CannotDeliver, and what redis-py raises.
    """
    args = [job_id, keys.queue_of(job_id), item_id, seen, *listed(map(push_words, pushes))]
    end, *what = await _TAKE_OUT(redis, [], args)
    if end == b"wrong_type":
        raise CannotDeliver(f"{what[0].decode()} holds another type")
    return end.decode()


async def run_now(redis: RedisPort, job_id: str, turn_id: str) -> RunNow:
    """Begin now what backs off, or waits for further parts. turn_id: the lane's turn as it was seen; "" for none.

    gone: nothing waits there. other: another turn. taken: it runs, or is due already. paused: its bot is. Then nothing changed.

    Raises what redis-py raises.
    """
    return (await _RUN_NOW(redis, [], [job_id, keys.queue_of(job_id), turn_id])).decode()
