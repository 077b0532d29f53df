"""A request in the words of Anthropic's Messages API. Pure.

A thought is sent only within the turn that it was thought in, unchanged, and only to the model that thought it: others
refuse foreign ones (C24). With caching, the blocks of a text are the same whether or not it carries a breakpoint, so
each turn's beginning is what the turn before wrote.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import orjson

from infra.clean import clean
from llm.blocks import TOOL_USE, as_object
from llm.candidates import Service
from llm.clean import clean_messages
from llm.flat import flat
from llm.media import media_blocks, shown_to
from llm.request import Effort, Message, ModelRequest, Tool

EPHEMERAL = {"type": "ephemeral"}
"""Five minutes, renewed by each use."""
EFFORTLESS = (
    "claude-3",
    "claude-haiku-4-5",
    "claude-sonnet-4-5",
    "claude-sonnet-4-2",
    "claude-opus-4-1",
    "claude-opus-4-2",
)
"""Models that refuse to be told an effort, by how their ids begin."""
CACHED_AT_OPENROUTER = "anthropic/"
"""There only the routes to Claude are known to take breakpoints."""
WEB_USES = 3
"""Searches, and pages read, in one call."""
PAGE_TOKENS = 8_000
"""Of a page, about: the service's limit is approximate."""
SEARCH_TOKENS = 8_000
"""What a search puts before the model: not documented; for reserving money only."""
WEB_TOOLS: tuple[dict[str, Any], ...] = (
    {"type": "web_search_20260318", "name": "web_search", "max_uses": WEB_USES},
    {
        "type": "web_fetch_20260318",
        "name": "web_fetch",
        "max_uses": WEB_USES,
        "max_content_tokens": PAGE_TOKENS,
    },
)
"""anthropic 2.14, types/web_search_tool_20260318_param.py and web_fetch_tool_20260318_param.py."""


def parameters(request: ModelRequest, service: Service, model: str) -> dict[str, Any]:
    """What `messages.create` takes, beside model and stream.

    Breakpoints, at most four: the system prompt with the tools before it; the last message of the user (what this call
    writes), and the user's before it (what the call before wrote); in and after a turn with tools also the message
    that began it, since its thoughts are gone in the next turn.
    """
    caching = caches(service, model)
    shown = request.messages if offers_tools(request, service) else flat(request.messages)
    messages = clean_messages(shown_to(shown, service.can))
    marked = _marked(messages) if caching else frozenset[int]()
    found: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "messages": [
            {
                "role": message.role,
                "content": _replayed(message, service, model)
                or _content(message, blocks=caching, marked=at in marked),
            }
            for at, message in enumerate(messages)
        ],
    }
    if tools := _tools(request, service):
        found["tools"] = tools
    if system := _system(request, caching=caching):
        found["system"] = system
    if effort := effort_for(request, service, model):
        found["output_config"] = {"effort": effort}
    return found


def offers_tools(request: ModelRequest, service: Service) -> bool:
    """The model may call tools of koi."""
    return bool(request.tools) and service.can.tools


def holds_tools(request: ModelRequest) -> bool:
    """The conversation has calls of tools or results."""
    return any(message.uses or message.results for message in request.messages)


def web_reach(request: ModelRequest, service: Service) -> tuple[int, int]:
    """Searches that the service may make by itself in one call, and the tokens that it may read from the web."""
    if not request.web or not service.can.server_tools:
        return 0, 0
    return WEB_USES, WEB_USES * (SEARCH_TOKENS + PAGE_TOKENS)


def caches(service: Service, model: str) -> bool:
    """Breakpoints are understood."""
    if not service.can.caching:
        return False
    return service.name != "openrouter" or model.startswith(CACHED_AT_OPENROUTER)


def effort_for(request: ModelRequest, service: Service, model: str) -> Effort | None:
    """What the model is told; None: nothing."""
    return request.effort if service.can.effort and not model.startswith(EFFORTLESS) else None


def _system(request: ModelRequest, *, caching: bool) -> str | list[dict[str, Any]]:
    """The breakpoint stands behind what is the same for everybody."""
    texts = [clean(text) for text in (request.system, request.person)]
    if not caching:
        return "\n\n".join(text for text in texts if text.strip())
    stable, person = texts
    blocks = [_text(stable) | {"cache_control": EPHEMERAL}] if stable.strip() else []
    return [*blocks, _text(person)] if person.strip() else blocks


def _tools(request: ModelRequest, service: Service) -> list[dict[str, Any]]:
    own = _offered(request.tools) if offers_tools(request, service) else ()
    return [*own, *(WEB_TOOLS if request.web and service.can.server_tools else ())]


@lru_cache(maxsize=64)
def _offered(tools: tuple[Tool, ...]) -> tuple[dict[str, Any], ...]:
    """The same few in every turn."""
    return tuple(
        {"name": tool.name, "description": tool.description, "input_schema": orjson.loads(tool.schema)}
        for tool in tools
    )


def _marked(messages: Sequence[Message]) -> frozenset[int]:
    """Which messages carry a breakpoint."""
    of_user = [at for at, message in enumerate(messages) if message.role == "user"]
    last_two, earlier = of_user[-2:], of_user[:-2]
    in_tools = any(messages[at].results for at in last_two)
    began = [at for at in earlier if in_tools and not messages[at].results]
    return frozenset((*last_two, *began[-1:]))


def _replayed(message: Message, service: Service, model: str) -> list[dict[str, Any]] | None:
    """The answer's own blocks, if they came from here and their calls are those of the message."""
    verbatim = message.verbatim
    if verbatim is None or (verbatim.service, verbatim.model) != (service.name, model):
        return None
    try:
        blocks = cast("list[dict[str, Any]]", orjson.loads(verbatim.content))
        called = [block["id"] for block in blocks if block["type"] == TOOL_USE]
    except (ValueError, TypeError, KeyError):
        return None
    return blocks if called == [use.id for use in message.uses] else None


def _content(message: Message, *, blocks: bool, marked: bool) -> str | list[dict[str, Any]]:
    """Results before the text, calls behind it, as the API wants them; what the text is about before it."""
    if not blocks and not message.uses and not message.results and not message.has_files:
        return message.text
    content: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": result.id, "content": result.text}
        for result in message.results
    ]
    content += media_blocks(message)
    if message.text:
        content.append(_text(message.text))
    content += [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": as_object(use.arguments) or {}}
        for use in message.uses
    ]
    if marked:
        content[-1]["cache_control"] = EPHEMERAL
    return content


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
