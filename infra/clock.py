"""The time that people live by. Queue times come from Redis instead (see lanes/)."""

import os
import time
from collections.abc import Callable
from datetime import timedelta

type Clock = Callable[[], int]
"""Gives ms since 1970, UTC."""


def offset_ms() -> int:
    """KOI_CLOCK_OFFSET: seconds by which this process lives ahead (tests); 0 without it."""
    return int(float(os.environ.get("KOI_CLOCK_OFFSET", "0") or "0") * 1000)


def system_clock() -> Clock:
    """The machine's clock, shifted by KOI_CLOCK_OFFSET as read now."""
    shift_ms = offset_ms()
    return lambda: time.time_ns() // 1_000_000 + shift_ms


def ms(duration: timedelta) -> int:
    """A duration in whole milliseconds."""
    return duration // timedelta(milliseconds=1)
