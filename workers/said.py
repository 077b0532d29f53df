"""What koi itself answers to a command."""

from dataclasses import dataclass

from infra.effect import Effect, Push
from schemas.reply import Button


@dataclass(frozen=True, slots=True)
class Said:
    """koi's answer."""

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()
    effects: tuple[Effect, ...] = ()
    """What else the command changes."""
    texts: tuple[Effect, ...] = ()
    """Changes that store what people said: Commit.texts."""
    pushes: tuple[Push, ...] = ()
    """What is said to others: Commit.pushes."""
