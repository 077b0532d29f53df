"""What the items of a claim turn out to be. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from lanes.claim import Item
from schemas.inbound import InboundMessage
from schemas.wire import NewerVersion, NotReadable, load


@dataclass(frozen=True, slots=True)
class Waiting:
    """The messages of a turn, oldest first, and what could not be read."""

    messages: tuple[InboundMessage, ...] = ()
    unreadable: tuple[Item, ...] = ()
    newer: bool = False
    """At least one was written by a newer release: the lane belongs to a process that knows it."""

    @classmethod
    def of(cls, items: Iterable[Item]) -> "Waiting":
        messages: list[InboundMessage] = []
        unreadable: list[Item] = []
        newer = False
        for item in items:
            try:
                messages.append(load(InboundMessage, item.body))
            except NewerVersion:
                newer = True
            except NotReadable:
                unreadable.append(item)
        return cls(tuple(messages), tuple(unreadable), newer)
