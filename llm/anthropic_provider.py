"""Anthropic and compatible services through the anthropic SDK: the one file that imports it (see lazy.py)."""

import json
import logging
from collections.abc import AsyncGenerator, Mapping

import anthropic
import httpx2

from llm.candidates import Service
from llm.errors import CallFailed
from llm.events import Heard, read_event
from llm.failure import Failure, kind_of, limit_tokens_in, names, refuses_media, refuses_tools, retry_after_s
from llm.payload import parameters
from llm.request import ModelRequest

CONNECT_S = 5.0
SEND_S = 30.0
COMPATIBLE_VERSION = "2023-06-01"
"""`anthropic-version` for other services; SDK 2.x itself says 2026-10-21."""
NO_KEY = "none"
"""For local servers. With no key at all the SDK would look for profiles on the disk."""


class AnthropicProvider:
    """One service, one connection pool."""

    def __init__(self, service: Service) -> None:
        for name in ("anthropic", "httpx2", "httpcore2"):  # they log requests, on DEBUG with people's texts
            logging.getLogger(name).setLevel(logging.WARNING)
        self._service = service
        self._client = make_client(service)
        self._create = self._client.messages.with_streaming_response.create  # the first access imports a lot

    async def prepare(self) -> None:
        """All is loaded."""

    async def aclose(self) -> None:
        """See llm.provider.Provider."""
        await self._client.close()

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Heard]:
        """See llm.provider.Provider."""
        try:
            sent = parameters(request, self._service, model)
            async with self._create(model=model, stream=True, **sent) as response:
                async for event in anthropic.AsyncStream.raw_events(response.http_response):
                    if event.data:
                        for heard in read_event(json.loads(event.data)):
                            yield heard
        except (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise CallFailed(failure_of(error)) from error


def make_client(service: Service) -> anthropic.AsyncAnthropic:
    """The SDK's client, with all decided that it would decide by itself: no retries, no tracing, no foreign key."""
    key = service.api_key.get_secret_value().strip() or NO_KEY
    third_party = {"anthropic-version": COMPATIBLE_VERSION, "x-api-key": key}
    return anthropic.AsyncAnthropic(
        api_key=key,  # sent as Bearer
        base_url=service.base_url,
        max_retries=0,  # llm/retry.py owns them
        timeout=anthropic.Timeout(
            connect=CONNECT_S, write=SEND_S, pool=CONNECT_S, read=None
        ),  # read: patience.py
        default_headers={} if service.first_party else third_party,
        open_telemetry=False,
    )


def failure_of(error: Exception) -> Failure:
    """What went wrong, without any text: messages may quote the request."""
    match error:
        case anthropic.APIStatusError():
            return _answered_with(error)
        case anthropic.APITimeoutError() | httpx2.TimeoutException():
            return Failure("timeout", type(error).__name__)
        case ValueError():  # JSON, UTF-8, an event of no known shape
            return Failure("malformed", type(error).__name__)
        case _:  # "ConnectError", which lies beneath, says more than "APIConnectionError"
            return Failure("broken", type(error.__cause__ or error).__name__)


def _answered_with(error: anthropic.APIStatusError) -> Failure:
    headers: Mapping[str, str] = error.response.headers
    error_type, message = _text(error.type), _text(error.api_message)
    kind = kind_of(error.status_code, error_type, error.error_code or "", message)
    about_tools, about_media = refuses_tools(kind, message), refuses_media(kind, message)
    return Failure(
        "rejected" if about_tools or about_media else kind,
        f"HTTP {error.status_code} {names(error.error_code or error_type, error.request_id)}".rstrip(),
        retry_after_s(headers),
        retry_same=headers.get("x-should-retry") != "false",
        limit_tokens=limit_tokens_in(message) if kind == "too_long" else None,
        about_tools=about_tools,
        about_media=about_media,
    )


def _text(found: object) -> str:
    """The SDK hands on what stood in the body; compatible services put numbers, lists and objects there too."""
    return "" if found is None else str(found)
