"""Text of people and models must not close or imitate the tags that koi itself puts around things."""

from infra.clean import clean
from infra.cut import NOTHING
from infra.tags import disarmed


def neutralise(text: str) -> str:
    """The text with its less-than signs escaped where they begin one of koi's tags (infra.tags)."""
    return disarmed(clean(text))


def for_model(text: str) -> str:
    """Neutral, and never blank: services refuse a message in which there is nothing."""
    return stored_for_model(clean(text))


def stored_for_model(text: str) -> str:
    """`for_model` for a text that is clean (infra.clean), as everything in an exchange is: that takes half the time."""
    neutral = disarmed(text)
    return neutral if neutral.strip() else NOTHING
