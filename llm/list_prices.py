"""List prices as genai-prices bundles them; nothing is fetched. Run as a program it reads them for another process.

    echo '[["anthropic", "claude-sonnet-5-5"]]' | python -m llm.list_prices

genai-prices is met only here. Its tiers are for the whole request ("cliff"), as Anthropic's and ours.
"""

import json
import sys
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice, TieredPrices

from llm.pricing import FREE, PICO_PER_MICRO, Rates, Tier

FREE_SUFFIX = ":free"
"""OpenRouter's models without a price end with it."""

type Listed = Decimal | TieredPrices | None


def read_rates(service: str, model: str, at: datetime | None = None) -> Rates | None:
    """What genai-prices knows of a model, at `at` (now, if not said: some prices have a date). None: nothing.

    Cache writes are those of five minutes; without a price of their own they cost what input costs.
    """
    try:
        _, found = get_snapshot().find_provider_model(model, None, service, None)
    except LookupError:
        return None
    return _rates(found.get_prices(at or datetime.now(UTC)), is_free=model.endswith(FREE_SUFFIX))


def _rates(prices: ModelPrice, *, is_free: bool) -> Rates | None:
    if prices.input_mtok is None and prices.output_mtok is None:
        return FREE if is_free else None
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    read: Listed = prices.input_mtok if prices.cache_read_mtok is None else prices.cache_read_mtok
    write: Listed = prices.input_mtok if prices.cache_write_mtok is None else prices.cache_write_mtok
    four = (prices.input_mtok, write, read, prices.output_mtok)
    starts = {tier.start for one in four if isinstance(one, TieredPrices) for tier in one.tiers}
    return tuple(Tier(above, *(_pico_above(one, above) for one in four)) for above in (-1, *sorted(starts)))


def _pico_above(price: Decimal | TieredPrices, above: int) -> int:
    """Pico-dollars a token in prompts longer than `above`."""
    if isinstance(price, TieredPrices):
        price = next((tier.price for tier in reversed(price.tiers) if above >= tier.start), price.base)
    return int((price * PICO_PER_MICRO).to_integral_value(ROUND_CEILING))


def main() -> None:
    """[[service, model], …] on stdin → [Rates as lists, or null, …] on stdout."""
    asked: list[tuple[str, str]] = json.load(sys.stdin)
    found = [read_rates(service, model) for service, model in asked]
    tiers = [
        rates and [[t.above, t.input, t.cache_write, t.cache_read, t.output] for t in rates]
        for rates in found
    ]
    json.dump(tiers, sys.stdout)


if __name__ == "__main__":
    main()
