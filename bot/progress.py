"""How far a reply was sent: what is kept beside the lane's turn so that a part leaves once. Pure.

A part is marked before it is sent. Who finds the mark does not know whether Telegram took it: it is sent again, once,
with "↻" before it. Who finds the second mark leaves the part alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from bot.render import render
from bot.split import PART_UNITS, Entity, Part, split, units_of
from schemas.wire import WireModel, dump, load

AGAIN = "↻ "
"""Before a part that may be there twice."""


class KeptPart(WireModel):
    """Part as it is kept."""

    text: str
    """Of a message, or all that stands in a file."""
    entities: tuple[Entity, ...] = ()
    again: bool = False
    file: str = ""
    """Name of the file; "" for a message. Since version 2 of KeptParts."""
    rich: dict[str, Any] = Field(default_factory=dict[str, Any])
    """InputRichMessage; {} for none. Then `text` is the Markdown that it shows. Since version 3."""


class KeptParts(WireModel):
    """All parts of a reply, kept before the first one is sent. Written as version 1 unless one is a file or rich."""

    newest: ClassVar[int] = 3
    v: Literal[1, 2, 3] = 3
    parts: tuple[KeptPart, ...]


class KeptPlace(WireModel):
    """Which part is next, and whether it may have been sent."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 1
    """Written as 1 as long as it is not known when a bot took the reply."""
    at: int
    mark: Literal["", "sending", "again"] = ""
    left: int = 0
    """Parts given up because both attempts stayed unknown."""
    taken_ms: int = Field(default=0, exclude_if=lambda ms: not ms)
    """Version 2. When a bot first took the reply."""
    sent_ms: tuple[int, ...] = Field(default=(), exclude_if=lambda stamps: not stamps)
    """Version 2. When Telegram took each part that it has."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One reply on its way: parts before `at` are done."""

    parts: tuple[KeptPart, ...]
    at: int = 0
    mark: Literal["", "sending", "again"] = ""
    left: int = 0
    taken_ms: int = 0
    """When a bot first took the reply; 0: not known."""
    sent_ms: tuple[int, ...] = ()
    """When Telegram took each part that it has."""

    @property
    def done(self) -> bool:
        return self.at >= len(self.parts)

    @property
    def part(self) -> KeptPart:
        """The one whose turn it is."""
        return self.parts[self.at]


def fresh(parts: tuple[Part, ...]) -> Progress:
    """Nothing sent yet."""
    return Progress(_kept_parts(parts))


def next_step(progress: Progress) -> Progress:
    """What to mark before the next send: the same part or, if that was tried twice, the one after it (maybe none)."""
    match progress.mark:
        case "":
            return replace(progress, mark="sending")
        case "sending":
            parts = progress.parts
            marked = _marked(progress.part)
            return replace(
                progress, parts=(*parts[: progress.at], *marked, *parts[progress.at + 1 :]), mark="again"
            )
        case "again":
            left = replace(progress, at=progress.at + 1, mark="", left=progress.left + 1)
            return left if left.done else next_step(left)


def sent(progress: Progress, at_ms: int = 0) -> Progress:
    """The part is with the person. at_ms: since when; 0: not known."""
    stamps = (*progress.sent_ms, at_ms) if at_ms else progress.sent_ms
    return replace(progress, at=progress.at + 1, mark="", sent_ms=stamps)


def unsent(marked: Progress) -> Progress:
    """The marked part was certainly not sent: as it was before this attempt."""
    return replace(marked, mark="sending" if marked.mark == "again" else "")


def instead(marked: Progress, parts: Sequence[Part]) -> Progress:
    """The marked part was certainly not sent, and these are to be sent in its place."""
    pieces = _kept_parts(parts, again=marked.part.again)
    before, after = marked.parts[: marked.at], marked.parts[marked.at + 1 :]
    return replace(unsent(marked), parts=(*before, *pieces, *after))


def kept(item_id: str, progress: Progress, before: Progress | None) -> dict[str, bytes]:
    """What to put aside, under the names that `found` reads; the parts only if they changed since `before`."""
    values = {f"{item_id}:place": dump(_place(progress))}
    if before is None or before.parts is not progress.parts:
        version, unset = _version(progress.parts)
        kept_parts = KeptParts(v=version, parts=progress.parts)
        values[f"{item_id}:parts"] = kept_parts.model_dump_json(
            exclude={"parts": {"__all__": unset}}
        ).encode()
    return values


def found(item_id: str, values: Mapping[str, bytes]) -> Progress | None:
    """What an earlier attempt kept; None: there was none. Without parts, if its owner had their words forgotten.

    Raises: NewerVersion, NotReadable.
    """
    place, parts = values.get(f"{item_id}:place"), values.get(f"{item_id}:parts")
    if place is None:
        return None
    at = load(KeptPlace, place)
    whole = load(KeptParts, parts).parts if parts is not None else ()
    return Progress(whole, at.at, at.mark, at.left, at.taken_ms, at.sent_ms)


def _place(progress: Progress) -> KeptPlace:
    return KeptPlace(
        v=2 if progress.taken_ms else 1, at=progress.at, mark=progress.mark, left=progress.left,
        taken_ms=progress.taken_ms, sent_ms=progress.sent_ms,
    )  # fmt: skip


def _version(parts: Sequence[KeptPart]) -> tuple[Literal[1, 2, 3], set[str]]:
    """The oldest release that can send them, and the fields that it does not know."""
    if any(part.rich for part in parts):
        return 3, set()
    if any(part.file for part in parts):
        return 2, {"rich"}
    return 1, {"file", "rich"}


def _kept_parts(parts: Sequence[Part], *, again: bool = False) -> tuple[KeptPart, ...]:
    return tuple(
        KeptPart(text=part.text, entities=part.entities, file=part.file, rich=part.rich, again=again)
        for part in parts
    )


def _marked(part: KeptPart) -> tuple[KeptPart, ...]:
    """The part with "↻" before it (a file: in its caption); two of them if it does not fit with it. One that was rich comes
    again as an ordinary one: it may be its form that Telegram does not get done.
    """
    if part.again:
        return (part,)
    if part.rich:
        return tuple(piece for one in _kept_parts(render(part.text)) for piece in _marked(one))
    if part.file:
        return (part.model_copy(update={"again": True}),)
    room = PART_UNITS - units_of(AGAIN)
    pieces = split(part.text, part.entities, units=room)
    return tuple(
        KeptPart(
            text=AGAIN + piece.text,
            entities=tuple({**e, "offset": e["offset"] + units_of(AGAIN)} for e in piece.entities),
            again=True,
        )
        for piece in pieces
    )
