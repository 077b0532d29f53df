"""Which exchanges of the running session the model is given. Pure."""

from collections.abc import Sequence
from typing import Literal

from memory.neutralise import for_model
from memory.tokens import estimate_tokens
from schemas.memory import Exchange

type Role = Literal["user", "assistant"]

VERBATIM = 2
"""So many exchanges at the end are always given, and kept, whatever the budget."""
MESSAGE_TOKENS = 4
"""What services add for each message, roughly."""


def window(exchanges: Sequence[Exchange], budget_tokens: int) -> list[tuple[Role, str]]:
    """Messages for the model, oldest first, user and assistant in turn.

    The last two exchanges always; then older ones, newest first, each that still fits. A message has its block before
    it as it was sent, so that what a service has cached of the conversation stays valid.
    """
    messages: list[tuple[Role, str]] = []
    for index in that_fit([exchange_tokens(exchange) for exchange in exchanges], budget_tokens):
        exchange = exchanges[index]
        messages.append(("user", exchange.block + for_model(exchange.user)))
        messages.append(("assistant", for_model(exchange.reply)))
    return messages


def that_fit(costs: Sequence[int], budget: int) -> list[int]:
    """Indices in rising order: the last VERBATIM, then from the end each whose cost fits into what is left."""
    chosen = list(range(max(0, len(costs) - VERBATIM), len(costs)))
    left = budget - sum(costs[index] for index in chosen)
    for index in range(len(costs) - VERBATIM - 1, -1, -1):
        if costs[index] <= left:
            left -= costs[index]
            chosen.append(index)
    return sorted(chosen)


def newest_within(exchanges: tuple[Exchange, ...], budget_tokens: int) -> tuple[Exchange, ...]:
    """The end of the row that fits, at least VERBATIM exchanges."""
    used = 0
    for kept, exchange in enumerate(reversed(exchanges)):
        used += exchange_tokens(exchange)
        if kept >= VERBATIM and used > budget_tokens:
            return exchanges[-kept:]
    return exchanges


def exchange_tokens(exchange: Exchange) -> int:
    """Estimate for both messages of an exchange."""
    texts = estimate_tokens(exchange.block + exchange.user) + estimate_tokens(exchange.reply)
    return texts + 2 * MESSAGE_TOKENS
