"""Light or strong model: decided from the shape of a message, in any language. Pure.

    asked = Asked(features_of(text), attachments=1)
    choice = route(asked, Segment("light", last_ms), models.tiers, now_ms=now)
    choice.tier, choice.effort, choice.why        # "strong", None, "attachment"

No list of words of any language. What tells "Add bread to my list" from "Reorganise my week's tasks by priority" without
one: a small request is short and made of short words; a demanding one names several abstract things, and abstract words
are long in every alphabet that has words. In doubt: strong (docs/decisions/0017).
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from llm.features import Features
from llm.request import Effort

type Tier = Literal["light", "strong"]
type Why = Literal[
    "asked_for",
    "only_model",
    "attachment",
    "link",
    "code",
    "tools",
    "several_requests",
    "constraints",
    "long",
    "demanding",
    "ongoing_strong",
    "short_request",
]
"""asked_for: by /model. only_model: there is no other one (or the plan allows no other). attachment, link, code,
several_requests, constraints (numbers), long: what the message has. demanding: few words, but weighty ones. tools: the
last answer took several rounds of them. ongoing_strong: a small message in the middle of something that is not.
short_request: none of these."""

CACHE_MS = 300_000
"""How long a provider keeps a prompt cached after its last use (Anthropic's "5m"). Until then the strong model reads a
conversation for a twentieth of its price, so that going over to the light one and back costs more than it saves."""

LIGHT_WORDS = 12
LIGHT_WEIGHT = 12
"""Of a message, as llm.features counts them: the most that is still light. On tests/llm/routing_pairs.py the heaviest
light message has a weight of 11, the lightest strong one 14; nearer to the former, since in doubt a message is strong."""
LIGHT_PARTS = 2
"""Sentences and clauses."""
LIGHT_NUMBERS = 2
PARTED_WEIGHT = 6
"""Up to this weight the parts of a message are no requests: "Yes, fine. Thanks!"."""
FEW_ROUNDS = 2
"""Rounds of tools: looking something up and noting it down."""

EFFORT: dict[Tier, Effort | None] = {"light": "low", "strong": None}
"""Depends on nothing but the tier: a provider reads its cache again only if the effort, too, is the same as before.
None: the model's own default."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A message, and what it comes with."""

    features: Features
    attachments: int = 0
    """Things sent along that have content: photos, files, voice; not stickers, contacts, places."""
    tool_rounds: int = 0
    """Of the answer before this one."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The stretch of a conversation that one kind of model answers."""

    tier: Tier | Literal[""] = ""
    """ "": none has yet."""
    last_ms: int = 0
    """End of the last exchange."""


@dataclass(frozen=True, slots=True)
class Choice:
    tier: Tier
    effort: Effort | None
    why: Why


@dataclass(frozen=True, slots=True)
class Models:
    """What a bot may ask."""

    strong: tuple[str, ...]
    """The chain, first choice first."""
    light: str = ""
    """ "": none."""

    @property
    def firsts(self) -> tuple[str, ...]:
        """Those that a chain begins with."""
        return tuple(dict.fromkeys(filter(None, (*self.strong[:1], self.light))))

    @property
    def tiers(self) -> frozenset[Tier]:
        """Which there are to choose from."""
        if self.light and self.light not in self.strong[:1]:
            return frozenset({"light", "strong"} if self.strong else {"light"})
        return frozenset({"strong"})

    def allowed(self, only: tuple[str, ...]) -> "Models":
        """Those that a plan allows; all if it names none. None in common: the plan's own, so that nobody is ever asked
        whom the plan does not allow (workers.purse says no before).
        """
        if not only:
            return self
        strong = tuple(model for model in self.strong if model in only)
        light = self.light if self.light in only else ""
        return Models(strong, light) if strong or light else Models(only)

    def chain(self, tier: Tier) -> tuple[str, ...]:
        """Whom to ask, in order. If the light model fails, a strong one answers; never the other way round."""
        if tier == "strong" or "light" not in self.tiers:
            return self.strong
        return tuple(dict.fromkeys((self.light, *self.strong)))


def route(
    asked: Asked,
    segment: Segment,
    tiers: AbstractSet[Tier],
    *,
    now_ms: int,
    wanted: Tier | None = None,
) -> Choice:
    """Which kind of model answers, and why.

    tiers: `Models.tiers`. wanted: what the person asked for with /model; None: koi chooses. Going up happens at once;
    down only when the strong model's cache is cold, or where a conversation begins (`Segment()`).
    """
    if len(tiers) == 1:
        (tier,) = tiers
        return Choice(tier, EFFORT[tier], "only_model")
    if wanted:
        return Choice(wanted, EFFORT[wanted], "asked_for")
    why = reason(asked)
    if why == "short_request" and segment.tier == "strong" and now_ms - segment.last_ms < CACHE_MS:
        why = "ongoing_strong"
    tier = "light" if why == "short_request" else "strong"
    return Choice(tier, EFFORT[tier], why)


def reason(asked: Asked) -> Why:
    """Why the message, looked at alone, is for the strong model; "short_request" if nothing says so."""
    found = asked.features
    tests: tuple[tuple[bool, Why], ...] = (
        (asked.attachments > 0, "attachment"),
        (found.code, "code"),
        (found.links > 0, "link"),
        (asked.tool_rounds > FEW_ROUNDS, "tools"),
        (found.words > LIGHT_WORDS, "long"),
        (_has_several(found), "several_requests"),
        (found.numbers > LIGHT_NUMBERS, "constraints"),
        (found.weight > LIGHT_WEIGHT, "demanding"),
        (True, "short_request"),
    )
    return next(why for holds, why in tests if holds)


def _has_several(found: Features) -> bool:
    many = found.parts > LIGHT_PARTS or found.questions > 1 or found.items > 1
    return many and found.weight > PARTED_WEIGHT
