"""The content blocks of an answer as they are streamed, and the same as they must go back to their service. Pure.

Lenient, since compatible services differ: a call may come whole in its first event, without an id, or with one that was
there before; the arguments may be no JSON. What goes back is always what a service takes.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, cast

import orjson

from llm.events import LAST_BLOCK, Grew, Opened
from llm.request import ToolUse

type Content = dict[str, object]
"""One content block as JSON."""

TEXT, TOOL_USE, SERVER_TOOL_USE = "text", "tool_use", "server_tool_use"
UNNAMED, ANY_ID = "unknown", "call"
MOST_LETTERS = 64
NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
"""What ids and names of calls may not have, at the strictest service."""


@dataclass(slots=True)
class Block:
    """One block as far as it was heard."""

    index: int
    opened: Content
    at: int
    """Pieces of text before it; those up to the next block are its own."""
    grown: dict[str, list[object]] = field(default_factory=dict[str, list[object]])

    @property
    def kind(self) -> object:
        """The API's word: "text", "thinking", "tool_use", …"""
        return self.opened.get("type")

    def streamed(self, what: str) -> str:
        """All pieces of one field."""
        return "".join(cast("list[str]", self.grown.get(what, ())))


@dataclass(frozen=True, slots=True)
class Gathered:
    """What an answer holds beside its text."""

    uses: tuple[ToolUse, ...] = ()
    content: tuple[Content, ...] = ()
    """All blocks in order, the calls under the ids and names of `uses`."""


NOTHING = Gathered()


def opened(event: Opened, *, at: int) -> Block:
    """A block that begins after `at` pieces of text."""
    return Block(event.index, dict(event.block), at)


def grow(blocks: Sequence[Block], event: Grew) -> None:
    """Add to the block that is meant; one that never began is left out."""
    for block in reversed(blocks):
        if event.index in {block.index, LAST_BLOCK}:
            block.grown.setdefault(event.what, []).append(event.piece)
            return


def gather(
    blocks: Sequence[Block], pieces: Sequence[str], *, taken: Collection[str], calls: bool, cut: bool
) -> Gathered:
    """taken: ids that calls of the request have. calls: tools were offered; else calls are left out. cut: the answer
    ended in the middle, so its last block may be half: it is left out, unless it is text or a whole call.
    """
    uses: list[ToolUse] = []
    content: list[Content] = []
    for nth, block in enumerate(blocks):
        is_last = nth == len(blocks) - 1
        if block.kind == TEXT:
            text = "".join(pieces[block.at : len(pieces) if is_last else blocks[nth + 1].at])
            built = _text(block, text)
        elif block.kind == TOOL_USE:
            use = _use(block, {*taken, *(use.id for use in uses)}, ordinal=len(uses) + 1)
            is_half = cut and is_last and (not _has_arguments(block) or as_object(use.arguments) is None)
            if not calls or is_half:
                continue
            uses.append(use)
            built = block.opened | {"id": use.id, "name": use.name, "input": as_object(use.arguments) or {}}
        else:
            built = None if cut and is_last else _other(block)
        if built is not None:
            content.append(built)
    return Gathered(tuple(uses), tuple(content))


def as_json(value: object) -> str:
    """Compact, and valid UTF-8 whatever was streamed."""
    return _utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def as_object(text: str) -> Content | None:
    """A JSON object that can be sent on; None: it is none."""
    try:
        found: object = orjson.loads(text)
    except ValueError:
        return None
    return found if _is_object(found) else None


def resumable(content: Sequence[Content]) -> tuple[Content, ...]:
    """The beginning of an answer that is to go on: no white space at its end, which the API refuses."""
    if not content or content[-1].get("type") != TEXT:
        return tuple(content)
    text = str(content[-1]["text"]).rstrip()
    return (*content[:-1], content[-1] | {"text": text})


def _text(block: Block, text: str) -> Content | None:
    """None: blank, which the API does not take back."""
    if not text.strip():
        return None
    built = block.opened | {"text": text}
    if cited := block.grown.get("citations"):
        return built | {"citations": cited}
    return built


def _other(block: Block) -> Content:
    """A thought, or a call of the service's own tools and what came of it."""
    built = dict(block.opened)
    if "thinking" in block.grown:
        built["thinking"] = str(built.get("thinking") or "") + block.streamed("thinking")
    if "signature" in block.grown:
        built["signature"] = block.streamed("signature")
    if "input" in block.grown:
        built["input"] = as_object(block.streamed("input")) or {}
    return built


def _use(block: Block, taken: Collection[str], *, ordinal: int) -> ToolUse:
    given = block.opened.get("id")
    name = NO_NAME.sub("_", str(block.opened.get("name") or UNNAMED))[:MOST_LETTERS]
    return ToolUse(_free_id(given if isinstance(given, str) else "", taken, ordinal), name, _arguments(block))


def _free_id(given: str, taken: Collection[str], ordinal: int) -> str:
    """The given one if it can be used; else one like it that nobody has, the same for the same answer."""
    wanted = NO_NAME.sub("_", given)[:MOST_LETTERS] or f"{ANY_ID}_{ordinal}"
    if wanted not in taken:
        return wanted
    stem = wanted[: MOST_LETTERS - 8]
    return next(free for n in range(2, len(taken) + 3) if (free := f"{stem}_{n}") not in taken)


def _arguments(block: Block) -> str:
    if streamed := block.streamed("input").strip():
        return _utf8(streamed)
    given = block.opened.get("input")
    if isinstance(given, str):
        return _utf8(given.strip()) or "{}"
    return as_json(given) if given else "{}"


def _has_arguments(block: Block) -> bool:
    return bool(block.streamed("input").strip() or block.opened.get("input"))


def _utf8(text: str) -> str:
    """Halves of surrogate pairs that the stream had cut apart joined, lone ones replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_object(value: object) -> TypeGuard[Content]:
    return isinstance(value, dict)
