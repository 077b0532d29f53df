"""Redis away, or a fault of what was asked? The first passes by itself, the second does not."""

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, OutOfMemoryError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

PASSING = (
    "OOM",
    "READONLY",
    "LOADING",
    "MISCONF",
    "NOREPLICAS",
    "MASTERDOWN",
    "TRYAGAIN",
    "UNKILLABLE",
    "BUSY",
)
"""First words of error replies that say: later."""


def is_outage(error: RedisError) -> bool:
    """True if repeating the same thing later can work: not reached, full, read-only, loading, restarted (or failed over)
    between the loading of a script and its call.
    """
    if isinstance(
        error, RedisConnectionError | RedisTimeoutError | OutOfMemoryError | ReadOnlyError | NoScriptError
    ):
        return True
    return isinstance(error, ResponseError) and str(error).startswith(PASSING)
