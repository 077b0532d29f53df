"""An alert on its way to the owner's mailbox. Holds no text of anybody."""

from typing import Literal

from schemas.wire import WireModel


class Mail(WireModel):
    """One mail as it waits; to whom and from whom is a matter of the settings when it is sent."""

    v: Literal[1] = 1
    id: str
    """Hex; with it the Message-ID is the same each time, so that a mail sent twice can be shown once."""
    at_ms: int
    """When it was written: its Date."""
    subject: str
    text: str
    unsure: int = 0
    """How often it was handed over and the server's answer was lost, or not heard yet."""
