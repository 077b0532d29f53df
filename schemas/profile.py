"""How a person wants to be talked to."""

from typing import Literal

from schemas.wire import WireModel


class Profile(WireModel):
    """What was set by /language and /timezone, or guessed and confirmed; over all bots."""

    v: Literal[1] = 1
    language: str = ""
    """Two letters; "": that of the person's Telegram."""
    zone: str = ""
    """IANA name; "": koi's own."""
