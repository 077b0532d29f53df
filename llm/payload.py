"""A request in the words of Anthropic's Messages API. Pure.

No thinking block is ever sent: none is kept, and other models refuse foreign ones (C24). With caching, the blocks of a
text are the same whether or not it carries a breakpoint, so each turn's beginning is what the turn before wrote.
"""

import json
from collections.abc import Sequence
from typing import Any, cast

from infra.clean import clean
from llm.candidates import Service
from llm.clean import clean_messages
from llm.request import Effort, Message, ModelRequest

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


def parameters(request: ModelRequest, service: Service, model: str) -> dict[str, Any]:
    """What `messages.create` takes, beside model and stream.

    Breakpoints: the system prompt, the last message of the user (what this turn writes), and the user's before it (what
    the turn before wrote, found even after more blocks than the service looks back).
    """
    caching = caches(service, model)
    messages = clean_messages(request.messages)
    marked = _last_two_of_the_user(messages) if caching else ()
    found: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "messages": [
            {"role": message.role, "content": _content(message, blocks=caching, marked=at in marked)}
            for at, message in enumerate(messages)
        ],
    }
    system = clean(request.system)
    if system.strip():
        found["system"] = [_text(system) | {"cache_control": EPHEMERAL}] if caching else system
    if effort := effort_for(request, service, model):
        found["output_config"] = {"effort": effort}
    return found


def caches(service: Service, model: str) -> bool:
    """Breakpoints are understood."""
    if not service.can.caching:
        return False
    return service.name != "openrouter" or model.startswith(CACHED_AT_OPENROUTER)


def effort_for(request: ModelRequest, service: Service, model: str) -> Effort | None:
    """What the model is told; None: nothing."""
    return request.effort if service.can.effort and not model.startswith(EFFORTLESS) else None


def _last_two_of_the_user(messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(at for at, message in enumerate(messages) if message.role == "user")[-2:]


def _content(message: Message, *, blocks: bool, marked: bool) -> str | list[dict[str, Any]]:
    """Results before the text, calls behind it, as the API wants them."""
    if not blocks and not message.uses and not message.results:
        return message.text
    content: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": result.id, "content": result.text}
        for result in message.results
    ]
    if message.text:
        content.append(_text(message.text))
    content += [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": _arguments(use.arguments)}
        for use in message.uses
    ]
    if marked:
        content[-1]["cache_control"] = EPHEMERAL
    return content


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _arguments(written: str) -> dict[str, Any]:
    """What a weak model wrote may be no object; the service takes nothing else."""
    try:
        parsed: object = json.loads(written)
    except ValueError:
        return {}
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
