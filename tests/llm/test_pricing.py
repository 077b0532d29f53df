"""What calls cost: list prices reckoned by hand, prices of the settings, and what is not known."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.data_snapshot import get_snapshot

from infra.settings import PriceSettings
from llm import pricing
from llm.list_prices import read_rates
from llm.prepare_prices import prepare_prices
from llm.pricing import (
    ANY_NUMBER,
    SEARCH_MICROUSD,
    affordable_tokens,
    cost_microusd,
    is_listed,
    list_rates,
    rates_of,
    worst_case_microusd,
)
from llm.request import UNKNOWN, Usage

HAIKU, SONNET, OPUS, FABLE = "claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-2"
USED = Usage(1_000, 2_000, 30_000, 400)
"""In, written to the cache, read from it, out."""
LOCAL: Mapping[str, PriceSettings] = {"qwen3:8b": PriceSettings(input=1, output=2)}


@pytest.mark.parametrize(
    ("model", "usage", "microusd"),
    [
        # prices in dollars per million are micro-dollars a token: in + written + read + out
        (HAIKU, USED, 100 + 250 + 300 + 200),
        (SONNET, USED, 2_000 + 5_000 + 3_000 + 4_000),
        (OPUS, USED, 4_000 + 10_000 + 6_000 + 8_000),
        (FABLE, USED, 8_000 + 20_000 + 6_000 + 16_000),
        ("claude-haiku-4-5", USED, 1_000 + 2_500 + 3_000 + 2_000),
        (SONNET, Usage(40, None, None, 250), 80 + 2_500),
    ],
)
def test_list_prices_of_anthropic(model: str, usage: Usage, microusd: int) -> None:
    assert cost_microusd("anthropic", model, usage, {}) == microusd


@pytest.mark.parametrize(
    ("usage", "microusd"),
    [
        (Usage(100_000, 0, 0, 1_000), 10_000 + 500),
        (Usage(100_001, 0, 0, 1_000), 50_001 + 2_500),  # .5 rounded up
        (Usage(1, 0, 100_000, 1_000), 5_001 + 2_500),
        (Usage(0, 100_001, 0, 0), 62_501),
    ],
    ids=["at the edge", "beyond", "cached tokens count", "written tokens count"],
)
def test_a_long_prompt_of_haiku_makes_the_whole_request_dearer(usage: Usage, microusd: int) -> None:
    assert cost_microusd("anthropic", HAIKU, usage, {}) == microusd


@pytest.mark.parametrize(
    ("model", "microusd"),
    [
        ("anthropic/claude-haiku-5.5", 850),
        ("anthropic/claude-sonnet-5.5", 14_000),
        ("anthropic/claude-opus-5.5", 28_000),
    ],
)
def test_openrouter_has_dotted_ids_at_the_same_prices(model: str, microusd: int) -> None:
    assert cost_microusd("openrouter", model, USED, {}) == microusd


def test_web_searches_cost_a_cent_each_beside_their_tokens() -> None:
    assert cost_microusd("anthropic", SONNET, replace(USED, web_searches=3), {}) == 14_000 + 30_000
    assert SEARCH_MICROUSD == price_of_searches(SONNET) == price_of_searches(HAIKU)


def test_free_models_of_openrouter_cost_nothing() -> None:
    assert cost_microusd("openrouter", "openai/gpt-oss-20b:free", USED, {}) == 0


def test_what_is_cached_at_no_price_of_its_own_costs_what_input_costs() -> None:
    assert cost_microusd("openrouter", "openai/gpt-5", Usage(0, 1_000, 0, 0), {}) == 1_250


def test_the_price_at_a_date_is_that_of_the_date() -> None:
    early, late = (
        read_rates("anthropic", "claude-sonnet-4-6", datetime(2026, m, 1, tzinfo=UTC)) for m in (3, 4)
    )

    assert early is not None
    assert late is not None
    assert [tier.input for tier in early] == [3_000_000, 6_000_000]
    assert [tier.input for tier in late] == [3_000_000]


@pytest.mark.parametrize(
    ("service", "model"),
    [
        ("anthropic", "claude-unheard-of"),
        ("openrouter", "stealth/crouton-alpha"),
        ("openrouter", "cloudflare/clef"),
        ("compatible", SONNET),
        ("compatible", "qwen3:8b"),
        ("fake", "sonnet"),
    ],
    ids=["unknown id", "no price", "half a price", "whoever calls itself so", "local", "unknown service"],
)
def test_an_unknown_price_is_unknown_and_not_0(service: str, model: str) -> None:
    assert cost_microusd(service, model, USED, {}) is None
    assert worst_case_microusd(service, model, 1, 1, {}) is None
    assert affordable_tokens(service, model, 1, 1, {}) is None


def test_a_call_that_said_no_tokens_has_no_known_cost() -> None:
    assert cost_microusd("anthropic", SONNET, UNKNOWN, {}) is None
    assert cost_microusd("anthropic", SONNET, Usage(5, 0, 0, None), {}) is None


def test_the_offline_model_costs_nothing() -> None:
    assert cost_microusd("offline", "offline", UNKNOWN, {}) == 0
    assert affordable_tokens("offline", "offline", 1_000, 0, {}) == ANY_NUMBER


# ── prices of the settings ───────────────────────────────────────────────────────────────────────────────────────
def test_a_price_of_the_settings_comes_first() -> None:
    prices = {SONNET: PriceSettings(input=1, output=1, cache_write=0, cache_read=0.5)}

    assert cost_microusd("anthropic", SONNET, USED, prices) == 1_000 + 0 + 15_000 + 400


def test_a_local_model_may_have_a_price_with_the_usual_shares_for_its_cache() -> None:
    assert cost_microusd("compatible", "qwen3:8b", USED, LOCAL) == 1_000 + 2_500 + 3_000 + 800


def test_a_price_may_be_written_under_the_prefixed_id() -> None:
    assert cost_microusd("openrouter", "x/y", Usage(7, 0, 0, 0), {"openrouter:x/y": LOCAL["qwen3:8b"]}) == 7


def test_a_price_of_0_is_known() -> None:
    prices = {"m": PriceSettings(input=0, output=0)}

    assert cost_microusd("compatible", "m", UNKNOWN, prices) == 0


def test_fractions_of_a_micro_dollar_are_rounded_up() -> None:
    assert cost_microusd("anthropic", HAIKU, Usage(1, 0, 0, 0), {}) == 1


def price_of_searches(model: str) -> int:
    """Micro-dollars of one, by the list."""
    _, found = get_snapshot().find_provider_model(model, None, "anthropic", None)
    per_thousand = found.get_prices(datetime.now(UTC)).web_searches_kcount
    assert isinstance(per_thousand, Decimal)
    return int(per_thousand * 1_000)


# ── before a call ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_worst_case_is_all_written_to_the_cache_at_the_dearest_tier() -> None:
    assert worst_case_microusd("anthropic", SONNET, 1_000, 100, {}) == 2_500 + 1_000
    assert worst_case_microusd("anthropic", HAIKU, 1_000, 100, {}) == 625 + 250


def test_searches_that_may_be_made_are_reserved_for() -> None:
    assert worst_case_microusd("anthropic", SONNET, 1_000, 100, {}, 3) == 2_500 + 1_000 + 30_000
    assert affordable_tokens("anthropic", SONNET, 1_000, 2_500 + 30_000 + 1_000, {}, 3) == 100
    assert affordable_tokens("anthropic", SONNET, 1_000, 30_000, {}, 3) == 0


@pytest.mark.parametrize("left", [0, 2_499, 2_500, 2_509, 2_510, 3_499, 3_500, 1_000_000])
def test_affordable_is_the_most_whose_worst_case_fits(left: int) -> None:
    tokens = affordable_tokens("anthropic", SONNET, 1_000, left, {})

    assert tokens is not None
    fits, more = (worst_case_microusd("anthropic", SONNET, 1_000, n, {}) for n in (tokens, tokens + 1))
    assert tokens == 0 or (fits is not None and fits <= left)
    assert more is not None
    assert more > left


@pytest.mark.parametrize(
    "usage", [USED, Usage(33_000, 0, 0, 400), Usage(0, 33_000, 0, 400), Usage(0, 0, 33_000, 400)]
)
@pytest.mark.parametrize("model", [HAIKU, SONNET, OPUS, FABLE])
def test_no_call_costs_more_than_its_worst_case(model: str, usage: Usage) -> None:
    cost = cost_microusd("anthropic", model, usage, {})
    worst = worst_case_microusd("anthropic", model, 33_000, 400, {})

    assert cost is not None
    assert worst is not None
    assert cost <= worst


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(pricing, "_LISTED", {})


@pytest.mark.usefixtures("forgetful")
async def test_prices_are_prepared_apart_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [("anthropic", HAIKU), ("anthropic", "nope"), ("compatible", "x"), ("anthropic", HAIKU)]

    await prepare_prices(asked, {})

    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "llm.list_prices", None)  # which would raise
        assert list_rates("anthropic", HAIKU) == read_rates("anthropic", HAIKU)
        assert list_rates("anthropic", "nope") is None


@pytest.mark.usefixtures("forgetful")
async def test_what_the_settings_price_is_not_read() -> None:
    await prepare_prices([("anthropic", "own")], {"own": LOCAL["qwen3:8b"]})

    assert not is_listed("anthropic", "own")


@pytest.mark.usefixtures("forgetful")
async def test_prices_are_read_here_if_no_other_process_will(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_args: object, **_options: object) -> None:
        raise OSError

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)

    await prepare_prices([("anthropic", HAIKU)], {})

    assert is_listed("anthropic", HAIKU)


@pytest.mark.usefixtures("forgetful")
async def test_a_worker_that_stops_while_prices_are_read_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def watched(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        children.append(await start(*args, **options))
        return children[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(prepare_prices([("anthropic", HAIKU)], {}))
        while not children:
            await asyncio.sleep(0.001)
        reading.cancel()

    assert [child.returncode for child in children] == [-9]
    assert not is_listed("anthropic", HAIKU)


@pytest.mark.usefixtures("forgetful")
def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert rates_of("anthropic", OPUS, {})
    assert rates_of("anthropic", "claude-of-tomorrow", {}) is None


def test_pricing_is_imported_without_the_price_list() -> None:
    program = "import sys, llm.pricing, llm.prepare_prices; print([m for m in ('genai_prices', 'httpx2') if m in sys.modules])"

    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert printed.stdout == "[]\n"
