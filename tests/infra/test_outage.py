"""What passes by itself."""

import pytest
from redis.exceptions import (
    BusyLoadingError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from infra.outage import is_outage


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (OutOfMemoryError("used memory > maxmemory"), True),
        (ReadOnlyError("You can't write against a read only replica."), True),
        (BusyLoadingError("Redis is loading the dataset in memory"), True),
        (ResponseError("MISCONF Errors writing to the AOF file"), True),
        (NoScriptError("No matching script. Please use EVAL."), True),
        (ResponseError("WRONGTYPE Operation against a key"), False),
        (NoPermissionError("this user has no permissions"), False),
    ],
)
def test_what_passes_by_itself(error: RedisError, passes: bool) -> None:
    assert is_outage(error) == passes
