"""A lane's work as one worker holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Item:
    """One waiting thing: a message or a reply."""

    id: str
    body: bytes
    """JSON as it was pushed; b"" if it was forgotten meanwhile."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the claim script gave: the lane is ours until the lease ends or the token is replaced."""

    job_id: str
    """`in:LANE` or `out:LANE`."""
    token: str
    """Unique per claim; every commit is fenced by it."""
    turn_id: str
    """Fixed, with the items, by the first claim: a retry is the same turn."""
    items: tuple[Item, ...]
    epoch: str
    """The owner's epoch when the turn was fixed; texts are stored only while it still holds."""
    owner: str = ""
    """The memory owner that the lane's items were pushed with."""
    failures: int = 0
    """Earlier attempts of this turn that failed."""
    deaths: int = 0
    """Earlier claims of this turn whose holder never finished (killed, or lost its lease)."""
    kept: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What earlier attempts of this turn put aside (lanes.keep)."""

    @property
    def lane(self) -> str:
        """`bot:chat:topic`."""
        return self.job_id.partition(":")[2]
