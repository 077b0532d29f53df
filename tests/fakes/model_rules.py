"""What the real Messages API would refuse in a request. Pure."""

from itertools import pairwise
from typing import Any, cast

type Block = dict[str, Any]

FIELDS = {"model", "messages", "max_tokens", "system", "stream", "output_config"}
BLOCKS = {
    "text": {"type", "text"},
    "tool_use": {"type", "id", "name", "input"},
    "tool_result": {"type", "tool_use_id", "content"},
}
MARK = {"type": "ephemeral"}
MOST_MARKS = 4
EFFORTS = ("low", "medium", "high")


def fault_of(body: dict[str, Any]) -> str:
    """ "" if nothing."""
    messages: list[Block] = body.get("messages") or [{"role": "", "content": ""}]
    blocks = [block for message in messages for block in blocks_of(message["content"])]
    system = blocks_of(body.get("system", "-"))
    max_tokens, marks = body.get("max_tokens"), [b for b in [*system, *blocks] if "cache_control" in b]
    checks = {
        "this fake only streams": body.get("stream") is True,
        "max_tokens: must be a positive integer": isinstance(max_tokens, int) and max_tokens > 0,
        "Extra inputs are not permitted": set(body) <= FIELDS,
        "output_config.effort: unknown": body.get("output_config", {}).get("effort", "low") in EFFORTS,
        "content: unknown or extra fields": all(map(_is_known, [*system, *blocks])),
        "text content blocks must contain non-whitespace text": all(map(_is_visible, [*system, *blocks])),
        "a maximum of 4 blocks with cache_control may be provided": len(marks) <= MOST_MARKS,
    }
    return _order_fault(messages) or next((fault for fault, fine in checks.items() if not fine), "")


def _order_fault(messages: list[Block]) -> str:
    last = messages[-1]
    checks = {
        "messages: first message must use the user role": messages[0]["role"] == "user",
        "messages: roles must alternate": all(
            one["role"] != other["role"] for one, other in pairwise(messages)
        ),
        "messages: final assistant content cannot end with trailing whitespace": last["role"] == "user"
        or text_of(last) == text_of(last).rstrip(),
        "messages: `tool_use` and `tool_result` must be paired": all(
            _ids(one, "tool_use", "id") == _ids(other, "tool_result", "tool_use_id")
            for one, other in pairwise([{"content": ""}, *messages, {"content": ""}])
        ),
    }
    return next((fault for fault, fine in checks.items() if not fine), "")


def blocks_of(content: str | list[Block]) -> list[Block]:
    """A plain string is one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_of(message: Block) -> str:
    """All its text."""
    return "".join(block.get("text", "") for block in blocks_of(message["content"]))


def _is_known(block: Block) -> bool:
    known = BLOCKS.get(cast("str", block["type"]), set[str]())
    return set(block) - {"cache_control"} == known and block.get("cache_control", MARK) == MARK


def _is_visible(block: Block) -> bool:
    return block["type"] != "text" or bool(block["text"].strip())


def _ids(message: Block, kind: str, name: str) -> set[str]:
    return {block[name] for block in blocks_of(message["content"]) if block["type"] == kind}
