"""A bot, as processes that know only its number have to know it."""

from typing import Literal

from schemas.wire import WireModel


class BotNow(WireModel):
    """What the process that speaks for it last said."""

    v: Literal[1] = 1
    name: str
    """In koi.toml, else its username."""
    of_its_own: bool = False
    """See InboundMessage.of_its_own."""
