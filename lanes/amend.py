"""The new text of a message that still waits takes the place of the old one (C37)."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from infra import keys
from infra.redis_port import RedisPort
from infra.scripts import Script
from lanes.ingest import CLAIM_TTL_MS

ID = '"id":"'
"""Where a body says its own id: the first place."""

AMEND = Script(Path(__file__).with_name("amend.lua"))


class Amended(Enum):
    """What became of an edit."""

    AMENDED = "amended"
    """The message waits with its new text; there is nothing more to do."""
    KNOWN = "known"
    """This update was taken before."""
    MISSED = "missed"
    """The message does not wait any more, or a turn has taken it: push the edit as a message of its own."""


@dataclass(frozen=True, slots=True)
class Amendment:
    """An edit, as the lane takes it, which does not know what a message is."""

    job_id: str
    item_id: str
    """The edit's own; what is replaced keeps its id."""
    body: bytes
    """What is to be stored, JSON, with the edit's id in it."""
    marked: bytes
    """The same for an item that holds `mark`."""
    names: str
    """By which a body is known to be the one that was edited."""
    never: str
    """What no body holds that may be replaced."""
    mark: str


async def amend(redis: RedisPort, edit: Amendment) -> Amended:
    """Replace the body of the waiting item that `edit` names; its place and its id stay.

    An edit that was taken (amended here, or pushed by lanes.ingest) is KNOWN when it is delivered again.
    Raises what redis-py raises.
    """
    found: bytes = await AMEND(
        redis,
        [keys.claim_of(edit.item_id)],
        [
            edit.job_id, edit.names, edit.body, ID, edit.item_id, edit.never, edit.mark, edit.marked, CLAIM_TTL_MS,
        ],
    )  # fmt: skip
    return Amended(found.decode())
