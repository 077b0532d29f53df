"""The event loop of long-running processes: uvloop, which costs about a fifth less CPU per message, where it exists."""

import asyncio
import sys
from collections.abc import Coroutine


def run_loop(main: Coroutine[object, object, None]) -> None:
    """`asyncio.run`, on uvloop unless this is Windows."""
    if sys.platform == "win32":
        asyncio.run(main)
        return
    import uvloop  # noqa: PLC0415 — only here, and not for `koi --help`

    uvloop.run(main)
