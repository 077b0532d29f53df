"""Which kind of model answers a turn. Pure."""

from dataclasses import dataclass

from llm.features import features_of
from llm.routing import Asked, Choice, Models, Segment, route
from schemas.memory import Session
from workers.known import Known
from workers.plans import Plan
from workers.services import Answers, Brain
from workers.words import Words

WITHOUT_CONTENT = frozenset({"sticker", "contact", "location", "poll"})
"""workers.words.MEDIA that ask for no thought."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Whom to ask, and why."""

    choice: Choice
    chain: Answers
    model: str
    """The first choice of that chain: what the context is measured for."""


def choose(brain: Brain, models: Models, known: Known, words: Words, now_ms: int, *, anew: bool) -> Chosen:
    """models: what the bot may ask for this person. anew: the message begins a conversation, whatever ran before."""
    session = None if anew else known.session
    tool_rounds = len(session.exchanges[-1].rounds) if session and session.exchanges else 0
    asked = Asked(
        features_of(words.text), attachments=len(set(words.media) - WITHOUT_CONTENT), tool_rounds=tool_rounds
    )
    choice = route(asked, segment_of(session), models.tiers, now_ms=now_ms, wanted=known.wanted)
    chain = brain.light if choice.tier == "light" and brain.light else brain.chain
    return Chosen(choice, chain, models.chain(choice.tier)[0])


def models_for(brain: Brain, allowance: Plan | None) -> Models:
    """What of the bot's models the plan allows; all, if it allows none: then the purse says so."""
    if allowance is None:
        return brain.models
    every = filter(None, (*brain.models.strong, brain.models.light))
    return brain.models.allowed(tuple(model for model in every if allowance.allows(model)))


def segment_of(session: Session | None) -> Segment:
    return Segment(session.tier, session.last_ms) if session else Segment()
