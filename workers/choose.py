"""Which kind of model answers a turn. Pure."""

from dataclasses import dataclass

from llm.features import features_of
from llm.routing import Asked, Choice, Models, Segment, Tier, route
from schemas.memory import Session
from workers.known import Known
from workers.plans import Plan
from workers.services import Answers, Brain
from workers.words import Words

WITHOUT_CONTENT = frozenset({"sticker", "contact", "location", "poll"})
"""workers.words.MEDIA that ask for no thought."""
NOTHING_ASKED = Asked(features_of(""))


@dataclass(frozen=True, slots=True)
class Chosen:
    """Whom to ask, and why."""

    choice: Choice
    chain: Answers
    model: str
    """The first choice of that chain: what the context is measured for."""


def choose(  # noqa: PLR0913 — all that a choice is made from
    brain: Brain, models: Models, known: Known, words: Words, now_ms: int, *, anew: bool, files: int = 0
) -> Chosen:
    """models: what the bot may ask for this person. anew: the message begins a conversation, whatever ran before. files: that
    the model is shown.
    """
    choice = _choice(models, None if anew else known.session, words, now_ms, known.wanted, files)
    chain = brain.light if choice.tier == "light" and brain.light else brain.chain
    return Chosen(choice, chain, models.chain(choice.tier)[0])


def _choice(
    models: Models, session: Session | None, words: Words, now_ms: int, wanted: Tier | None, files: int
) -> Choice:
    if len(models.tiers) == 1:  # then nobody needs to look at the message
        return route(NOTHING_ASKED, Segment(), models.tiers, now_ms=now_ms)
    tool_rounds = len(session.exchanges[-1].rounds) if session and session.exchanges else 0
    attachments = files + len(set(words.media) - WITHOUT_CONTENT)
    asked = Asked(features_of(words.text), attachments, tool_rounds)
    return route(asked, segment_of(session), models.tiers, now_ms=now_ms, wanted=wanted)


def models_for(brain: Brain, allowance: Plan | None) -> Models:
    """What of the bot's models the plan allows; all, if it allows none: then the purse says so."""
    if allowance is None:
        return brain.models
    every = filter(None, (*brain.models.strong, brain.models.light))
    return brain.models.allowed(tuple(model for model in every if allowance.allows(model)))


def segment_of(session: Session | None) -> Segment:
    return Segment(session.tier, session.last_ms) if session else Segment()
