"""What a call costs, in whole micro-dollars, rounded up. Pure.

A price of the settings comes first, then the list price that genai-prices bundles (llm.list_prices; read when a model
is first priced, or before it by llm.prepare_prices). An unknown price is None, never 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Protocol

from llm.request import Usage

PICO_PER_MICRO = 1_000_000
"""1 US dollar per million tokens is 1 micro-dollar, or so many pico-dollars, a token."""
CACHE_WRITE_SHARE, CACHE_READ_SHARE = 1.25, 0.1
"""Of the input price, where a `[prices]` table does not say (Anthropic's usual shares, FACTS: per-model prices)."""
LISTED_SERVICES = ("anthropic", "openrouter")
"""Services whose ids genai-prices knows. Who stands behind a compatible one is anybody's guess."""
PREFIXES = ("", "anthropic:", "openrouter:")
"""How a model may be written in the settings (llm.candidates)."""
SEARCH_MICROUSD = 10_000
"""Of one web search by Anthropic: 10 US dollars for 1,000 (genai-prices, web_searches_kcount of the Claude models; pages
that are fetched cost their tokens only). No other service is asked to search.
"""
ANY_NUMBER = 1_000_000_000
"""Tokens that fit into any budget when they cost nothing."""


class Price(Protocol):
    """infra.settings.PriceSettings: US dollars per million tokens."""

    @property
    def input(self) -> float: ...
    @property
    def output(self) -> float: ...
    @property
    def cache_write(self) -> float | None: ...
    @property
    def cache_read(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Tier:
    """Pico-dollars a token of every kind, for the whole of a request whose prompt is longer than `above`."""

    above: int
    """Tokens, cached ones included; -1: any prompt."""
    input: int
    cache_write: int
    cache_read: int
    output: int


type Rates = tuple[Tier, ...]
"""Of one model, the shortest prompts first."""

FREE: Rates = (Tier(-1, 0, 0, 0, 0),)


def cost_microusd(service: str, model: str, usage: Usage, prices: Mapping[str, Price]) -> int | None:
    """Of one call. `model` as in the call, without the prefix of the settings.

    None: no price is known, or the service did not say how many tokens (cache counters that are not said are 0).
    """
    rates = rates_of(service, model, prices)
    if rates == FREE:
        return usage.web_searches * SEARCH_MICROUSD
    if rates is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    write, read = usage.cache_write_tokens or 0, usage.cache_read_tokens or 0
    tier = _tier(rates, usage.input_tokens + write + read)
    return _micro(
        usage.input_tokens * tier.input
        + write * tier.cache_write
        + read * tier.cache_read
        + usage.output_tokens * tier.output
        + _searches(usage.web_searches)
    )


def worst_case_microusd(
    service: str,
    model: str,
    input_tokens: int,
    max_tokens: int,
    prices: Mapping[str, Price],
    searches: int = 0,
) -> int | None:
    """What no call with so many tokens and searches can pass: each at the dearest of the model's rates. None: no price
    is known.
    """
    rates = rates_of(service, model, prices)
    if rates is None:
        return None
    tokens = input_tokens * _dearest_input(rates) + max_tokens * _dearest_output(rates)
    return _micro(tokens + _searches(searches))


def affordable_tokens(
    service: str,
    model: str,
    input_tokens: int,
    left_microusd: int,
    prices: Mapping[str, Price],
    searches: int = 0,
) -> int | None:
    """The most max_tokens whose worst case is no more than `left_microusd`; 0 if not one. None: no price is known."""
    rates = rates_of(service, model, prices)
    if rates is None:
        return None
    left = left_microusd * PICO_PER_MICRO - input_tokens * _dearest_input(rates) - _searches(searches)
    output = _dearest_output(rates)
    if left < 0:
        return 0
    return min(ANY_NUMBER, left // output) if output else ANY_NUMBER


def rates_of(service: str, model: str, prices: Mapping[str, Price]) -> Rates | None:
    """The settings' own price, else the list price, else None."""
    if service == "offline":
        return FREE
    for prefix in PREFIXES:
        if (own := prices.get(prefix + model)) is not None:
            return _own_rates(own.input, own.output, own.cache_write, own.cache_read)
    return list_rates(service, model)


# ── list prices ──────────────────────────────────────────────────────────────────────────────────────────────────
_LISTED: dict[tuple[str, str], Rates | None] = {}


def list_rates(service: str, model: str) -> Rates | None:
    """As bundled. The first unknown id of a process imports genai-prices: 0.8 s and 26 MB beside the SDK."""
    if service not in LISTED_SERVICES:
        return None
    if (service, model) not in _LISTED:
        learn([((service, model), import_module("llm.list_prices").read_rates(service, model))])
    return _LISTED[service, model]


def is_listed(service: str, model: str) -> bool:
    """`list_rates` has nothing to read for this one."""
    return service not in LISTED_SERVICES or (service, model) in _LISTED


def learn(found: Iterable[tuple[tuple[str, str], Rates | None]]) -> None:
    """Keep what was read elsewhere, by service and model."""
    _LISTED.update(found)


# ── arithmetic ───────────────────────────────────────────────────────────────────────────────────────────────────
@cache
def _own_rates(price: float, output: float, cache_write: float | None, cache_read: float | None) -> Rates:
    write = price * CACHE_WRITE_SHARE if cache_write is None else cache_write
    read = price * CACHE_READ_SHARE if cache_read is None else cache_read
    return (Tier(-1, _pico(price), _pico(write), _pico(read), _pico(output)),)


def _searches(count: int) -> int:
    return count * SEARCH_MICROUSD * PICO_PER_MICRO


def _pico(usd_per_mtok: float) -> int:
    return round(usd_per_mtok * PICO_PER_MICRO)


def _micro(pico: int) -> int:
    """Rounded up."""
    return -(-pico // PICO_PER_MICRO)


def _tier(rates: Rates, prompt_tokens: int) -> Tier:
    return next(tier for tier in reversed(rates) if prompt_tokens > tier.above)


def _dearest_input(rates: Rates) -> int:
    return max(max(tier.input, tier.cache_write, tier.cache_read) for tier in rates)


def _dearest_output(rates: Rates) -> int:
    return max(tier.output for tier in rates)
