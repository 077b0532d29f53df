"""A provider's prompt cache as its documentation describes it, to count what a request would read from it. Pure.

A breakpoint stores everything before it, if that is long enough; a later request reads the longest stored beginning that
it shares, looking from each of its breakpoints at most 20 blocks back. Nothing expires here: the exchanges of a
conversation follow each other within the five minutes that an entry lives.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

LOOK_BACK = 20
"""Blocks before a breakpoint that are compared (Anthropic's documentation of prompt caching)."""
MOST_BREAKPOINTS = 4


@dataclass(frozen=True, slots=True)
class Block:
    """One content block of a request, in order: system first."""

    text: str
    """With whatever tells it from an equal text elsewhere (its role)."""
    tokens: int
    breakpoint: bool


@dataclass(frozen=True, slots=True)
class Used:
    """Input tokens of one request."""

    plain: int
    written: int
    read: int


@dataclass
class PromptCache:
    """minimum: tokens of the shortest beginning that is stored (1,024 for Sonnet, 4,096 for older Haiku models)."""

    minimum: int
    stored: set[str] = field(default_factory=set[str])

    def ask(self, blocks: Sequence[Block]) -> Used:
        """What one request costs, and remember it.

        Raises: ValueError: more breakpoints than a service takes.
        """
        names, sizes = _beginnings(blocks)
        marks = [index for index, block in enumerate(blocks) if block.breakpoint]
        if len(marks) > MOST_BREAKPOINTS:
            raise ValueError(f"{len(marks)} breakpoints; at most {MOST_BREAKPOINTS} are taken")
        read = max(
            (sizes[found] for mark in marks if (found := self._found(names, mark)) is not None), default=0
        )
        kept = [mark for mark in marks if sizes[mark] >= self.minimum]
        written = max(0, sizes[kept[-1]] - read) if kept else 0
        self.stored |= {names[mark] for mark in kept}
        return Used(sum(block.tokens for block in blocks) - read - written, written, read)

    def _found(self, names: Sequence[str], mark: int) -> int | None:
        back = range(mark, max(-1, mark - LOOK_BACK - 1), -1)
        return next((index for index in back if names[index] in self.stored), None)


def _beginnings(blocks: Sequence[Block]) -> tuple[list[str], list[int]]:
    """For each block the name and the tokens of everything up to its end."""
    digest, size = hashlib.sha256(), 0
    names: list[str] = []
    sizes: list[int] = []
    for block in blocks:
        digest.update(f"{len(block.text)}:{block.text}".encode())
        size += block.tokens
        names.append(digest.hexdigest())
        sizes.append(size)
    return names, sizes
