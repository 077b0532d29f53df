"""Loads the SDK when a model is first needed: it takes seconds of CPU and 58 MB, which offline never pays."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING, cast

from llm.candidates import Service
from llm.events import Heard
from llm.request import ModelRequest

if TYPE_CHECKING:
    from llm.anthropic_provider import AnthropicProvider


class LazyProvider:
    """An AnthropicProvider that is made at the first call, or before it by `prepare`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loading = asyncio.Lock()
        self._loaded: AnthropicProvider | None = None

    async def prepare(self) -> None:
        """Import in a thread: the loop must go on renewing leases."""
        await self._load()

    async def aclose(self) -> None:
        """See llm.provider.Provider; a later call loads again."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            await loaded.aclose()

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Heard]:
        """See llm.provider.Provider."""
        loaded = await self._load()
        async with aclosing(loaded.stream(model, request)) as events:
            async for heard in events:
                yield heard

    async def _load(self) -> "AnthropicProvider":
        async with self._loading:
            if self._loaded is None:
                self._loaded = await asyncio.to_thread(_make, self._service)
            return self._loaded


def _make(service: Service) -> "AnthropicProvider":
    module = import_module("llm.anthropic_provider")
    return cast("AnthropicProvider", module.AnthropicProvider(service))
