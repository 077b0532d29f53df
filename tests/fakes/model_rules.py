"""What the real Messages API would refuse in a request. Pure."""

import base64
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

from tests.fakes.model_events import signature_of

type Block = dict[str, Any]

FIELDS = {"model", "messages", "max_tokens", "system", "stream", "output_config", "tools"}
BLOCKS = {
    "text": {"type", "text"},
    "tool_use": {"type", "id", "name", "input"},
    "tool_result": {"type", "tool_use_id", "content"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "server_tool_use": {"type", "id", "name", "input"},
    "web_search_tool_result": {"type", "tool_use_id", "content"},
    "web_fetch_tool_result": {"type", "tool_use_id", "content"},
    "image": {"type", "source"},
    "document": {"type", "source"},
}
MAY_HAVE = {"cache_control", "citations", "caller"}
SERVER_TOOLS = {
    "web_search_20260318": ("web_search", {"max_uses"}),
    "web_fetch_20260318": ("web_fetch", {"max_uses", "max_content_tokens"}),
}
FILE_TYPES: dict[str, tuple[bytes, ...]] = {
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}
"""How a file of each media type begins."""
MAX_IMAGE_CHARS = 5 * 2**20
"""Of one picture, in base64: Anthropic, "Vision"."""
MAX_REQUEST_CHARS = 32_000_000
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MARK = {"type": "ephemeral"}
MOST_MARKS = 4
EFFORTS = ("low", "medium", "high")


def fault_of(body: dict[str, Any]) -> str:
    """ "" if nothing."""
    messages: list[Block] = body.get("messages") or [{"role": "", "content": ""}]
    blocks = [block for message in messages for block in blocks_of(message["content"])]
    system, tools = blocks_of(body.get("system", "-")), cast("list[Block]", body.get("tools", []))
    max_tokens, marks = (
        body.get("max_tokens"),
        [b for b in [*tools, *system, *blocks] if "cache_control" in b],
    )
    checks = {
        "this fake only streams": body.get("stream") is True,
        "max_tokens: must be a positive integer": isinstance(max_tokens, int) and max_tokens > 0,
        "Extra inputs are not permitted": set(body) <= FIELDS,
        "output_config.effort: unknown": body.get("output_config", {}).get("effort", "low") in EFFORTS,
        "content: unknown or extra fields": all(map(_is_known, [*system, *blocks])),
        "text content blocks must contain non-whitespace text": all(map(_is_visible, [*system, *blocks])),
        "a maximum of 4 blocks with cache_control may be provided": len(marks) <= MOST_MARKS,
        "tools: each needs a unique name and an input_schema of an object": _are_tools(body.get("tools", [])),
        "Requests which include `tool_use` or `tool_result` blocks must define tools": bool(body.get("tools"))
        or not any(block["type"] in {"tool_use", "tool_result"} for block in blocks),
        "thinking: Invalid `signature` in `thinking` block": all(map(_is_signed, blocks)),
        "request exceeds the maximum size": sum(map(_file_chars, blocks)) <= MAX_REQUEST_CHARS,
        "messages: `image` and `document` blocks are the user's": not any(
            block["type"] in {"image", "document"}
            for message in messages
            if message["role"] == "assistant"
            for block in blocks_of(message["content"])
        ),
        "`tool_use` ids must be unique": _are_unique(blocks),
    }
    checks |= {fault: False for block in blocks if (fault := file_fault(block))}
    return _order_fault(messages) or next((fault for fault, fine in checks.items() if not fine), "")


def file_fault(block: Block) -> str:
    """What is wrong with the picture or PDF in a block; "" for any other."""
    if block["type"] not in {"image", "document"}:
        return ""
    source = block.get("source", {})
    kind = source.get("media_type", "")
    if set(source) != {"type", "media_type", "data"} or source["type"] != "base64":
        return f"{block['type']}.source: must be base64"
    if kind not in FILE_TYPES or (kind == "application/pdf") != (block["type"] == "document"):
        return f"{block['type']}.source.base64.media_type: unknown"
    if block["type"] == "image" and len(source["data"]) > MAX_IMAGE_CHARS:
        return "image exceeds 5 MB maximum"
    return _content_fault(source["data"], kind)


def _content_fault(data: str, kind: str) -> str:
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        return "source.base64: invalid base64 data"
    return "" if content.startswith(FILE_TYPES[kind]) else f"the file does not appear to be a valid {kind}"


def _file_chars(block: Block) -> int:
    return len(block.get("source", {}).get("data", "")) if block["type"] in {"image", "document"} else 0


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


def thought_fault(body: Block, thoughts: Mapping[tuple[str, str], str]) -> str:
    """ "" if each call since the person's last message comes with the thought before it. thoughts: by model and id."""
    for message in reversed(body["messages"]):
        blocks = blocks_of(message["content"])
        if message["role"] == "user" and any(block["type"] != "tool_result" for block in blocks):
            return ""
        shown = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
        for call in (block for block in blocks if block["type"] == "tool_use"):
            if thoughts.get((body["model"], call["id"]), shown) != shown:
                return "`thinking` blocks in the latest assistant message cannot be modified"
    return ""


def _is_known(block: Block) -> bool:
    known = BLOCKS.get(cast("str", block["type"]), set[str]())
    return set(block) - MAY_HAVE == known and block.get("cache_control", MARK) == MARK


def _is_signed(block: Block) -> bool:
    return block["type"] != "thinking" or block["signature"] == signature_of(block["thinking"])


def _are_unique(blocks: list[Block]) -> bool:
    ids = [block["id"] for block in blocks if block["type"] in {"tool_use", "server_tool_use"}]
    return len(set(ids)) == len(ids) and all(NAME.fullmatch(each) for each in ids)


def _are_tools(tools: list[Block]) -> bool:
    names = [tool.get("name", "") for tool in tools]
    return len(set(names)) == len(names) and all(map(_is_tool, tools))


def _is_tool(tool: Block) -> bool:
    if "type" in tool:
        name, fields = SERVER_TOOLS.get(tool["type"], ("", set[str]()))
        return tool["name"] == name and set(tool) <= {"type", "name", "cache_control", *fields}
    known = {"name", "description", "input_schema"}
    return (
        set(tool) - {"cache_control"} == known
        and bool(NAME.fullmatch(tool["name"]))
        and tool["input_schema"].get("type") == "object"
    )


def _is_visible(block: Block) -> bool:
    return block["type"] != "text" or bool(block["text"].strip())


def _ids(message: Block, kind: str, name: str) -> set[str]:
    return {block[name] for block in blocks_of(message["content"]) if block["type"] == kind}
