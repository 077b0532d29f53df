"""Reads the list prices of the configured models at start, so that no call waits for them.

In a process of its own: what genai-prices holds in memory (26 MB beside the SDK) is gone when that process ends.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson
import structlog

from llm.pricing import Price, Rates, Tier, is_listed, learn, list_rates, rates_of

TIMEOUT_S = 30.0
"""It takes one to three seconds."""
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "SYSTEMROOT")
"""What a Python process may need to start; the secrets of this one are none of its business."""

log = structlog.get_logger()


async def prepare_prices(models: Iterable[tuple[str, str]], prices: Mapping[str, Price]) -> None:
    """models: service and model of each call that may come. Afterwards llm.pricing answers for them at once."""
    asked = [one for one in dict.fromkeys(models) if not is_listed(*one)]
    asked = [one for one in asked if not _is_own(*one, prices)]
    if not asked:
        return
    try:
        learn(zip(asked, await _read_apart(asked), strict=True))
    except (OSError, TimeoutError, ValueError) as error:
        log.warning("prices_read_in_process", error=type(error).__name__)
        await asyncio.to_thread(lambda: [list_rates(*one) for one in asked])


def _is_own(service: str, model: str, prices: Mapping[str, Price]) -> bool:
    """The settings say its price; asked so that nothing is read."""
    return bool(prices) and rates_of("settings", model, prices) is not None


async def _read_apart(asked: list[tuple[str, str]]) -> list[Rates | None]:
    """Raises: OSError, TimeoutError: it did not run. ValueError: it did not answer."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "llm.list_prices", stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parents[1],
        env={name: value for name, value in os.environ.items() if name in KEPT_VARIABLES},
    )  # fmt: skip
    try:
        async with asyncio.timeout(TIMEOUT_S):
            said, _ = await child.communicate(orjson.dumps(asked))
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    found: list[list[list[int]] | None] = orjson.loads(said)
    return [None if tiers is None else tuple(Tier(*tier) for tier in tiers) for tiers in found]
