"""The events of an answer's stream, as the real API sends them. Pure."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from tests.fakes.model_script import Answer, Use

type Event = dict[str, Any]

PIECE = 7
"""Characters of JSON in one event."""


def start_event(model: str, answer: Answer) -> Event:
    """The first event."""
    usage = None if answer.usage is None else {**answer.usage, "output_tokens": 1}
    message: Event = {"id": "msg_fake", "type": "message", "role": "assistant", "model": model}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    return {"type": "message_start", "message": message}


def answer_events(answer: Answer, text: str, new_id: Callable[[], str]) -> Iterator[Event]:
    """All content blocks, then the end."""
    index = count()
    if answer.thinking:
        yield from _thinking(next(index), answer.thinking)
    for block in answer.blocks:
        yield from _block(next(index), block, ())
    if text:
        yield from _text(next(index), text)
    for use in answer.uses:
        yield from _use(next(index), use, use.id if use.id is not None else new_id())
    yield from _ending(answer)


def text_events(index: int, text: str) -> Iterator[Event]:
    """A block of text that is never closed."""
    yield {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
    yield {"type": "ping"}
    for piece in pieces(text):
        yield _delta(index, {"type": "text_delta", "text": piece})


def signature_of(thought: str) -> str:
    """Of a thought; any other is refused."""
    return hashlib.sha256(f"signed {thought}".encode()).hexdigest()[:24]


def pieces(text: str) -> list[str]:
    """Words with the space before them; they join to `text` again."""
    words = text.split(" ")
    return [word if at == 0 else f" {word}" for at, word in enumerate(words)] if text else []


def _thinking(index: int, thought: str) -> Iterator[Event]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(thought)]
    signed = {"type": "signature_delta", "signature": signature_of(thought)}
    yield from _block(index, {"type": "thinking", "thinking": "", "signature": ""}, (*deltas, signed))


def _text(index: int, text: str) -> Iterator[Event]:
    yield from text_events(index, text)
    yield {"type": "content_block_stop", "index": index}


def _use(index: int, use: Use, use_id: str) -> Iterator[Event]:
    block: Event = {"type": "tool_use", "id": use_id, "name": use.name, "input": {}}
    if use.whole:
        yield from _block(index, block | {"input": use.arguments}, ())
        return
    written = use.arguments if isinstance(use.arguments, str) else json.dumps(dict(use.arguments))
    parts = ["", *(written[at : at + PIECE] for at in range(0, len(written), PIECE))]
    yield from _block(
        index, block, tuple({"type": "input_json_delta", "partial_json": part} for part in parts)
    )


def _block(index: int, block: Mapping[str, Any], deltas: tuple[Event, ...]) -> Iterator[Event]:
    yield {"type": "content_block_start", "index": index, "content_block": block}
    yield from (_delta(index, delta) for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def _delta(index: int, delta: Event) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _ending(answer: Answer) -> Iterator[Event]:
    reason = "tool_use" if answer.uses and answer.stop_reason == "end_turn" else answer.stop_reason
    if reason is not None:
        delta = {"stop_reason": reason, "stop_sequence": None}
        usage = None if answer.usage is None else _last_usage(answer.usage)
        yield {"type": "message_delta", "delta": delta, "usage": usage}
    if answer.message_stop:
        yield {"type": "message_stop"}


def _last_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: usage[name] for name in ("output_tokens", "server_tool_use") if name in usage}
