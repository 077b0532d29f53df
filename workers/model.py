"""/model: which models there are, which kind answers and why, and how to choose. Pure.

/model alone shows it; /model light, strong or auto chooses, for this chat, until it is chosen anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from infra import keys
from infra.effect import Effect
from infra.texts import later
from llm.routing import Models, Tier
from schemas.reply import Button
from workers.texts import say

type Wish = Literal["light", "strong", "auto"]

WISHES: Mapping[str, Wish] = {
    "light": "light",
    "strong": "strong",
    "auto": "auto",
    "leicht": "light",
    "stark": "strong",
    "automatisch": "auto",
}
WHY: Mapping[str, str] = {
    "asked_for": later("that is what was asked for with /model"),
    "only_model": later("there is nothing to choose from"),
    "attachment": later("something was sent along"),
    "link": later("there is a link in the message"),
    "code": later("there is code or a log in the message"),
    "tools": later("the answer before it took several steps"),
    "several_requests": later("the message asks for several things"),
    "constraints": later("there are several numbers to keep in mind"),
    "long": later("the message is long"),
    "demanding": later("the message says a lot in few words"),
    "ongoing_strong": later("the strong model is already on it"),
    "short_request": later("a small request"),
}
"""Every llm.routing.Why, as the end of a sentence."""
NAMES: Mapping[Wish, str] = {
    "light": later("light"),
    "strong": later("strong"),
    "auto": later("automatic"),
}


@dataclass(frozen=True, slots=True)
class ModelState:
    """What /model shows."""

    models: Models
    """Those this person may be answered by."""
    language: str
    wanted: Tier | None = None
    """What was asked for; None: koi chooses."""
    last_model: str = ""
    """That gave the last answer here; "": there is none."""
    last_why: str = ""
    by_plan: bool = False
    """The plan allows fewer models than the bot has."""
    is_owner: bool = False
    """Whoever asks can set koi up otherwise."""


def wish_of(argument: str) -> Wish | None:
    """What stands behind /model, as a choice; None: nothing that is one."""
    return WISHES.get(argument.strip().casefold())


def choice_effect(lane: str, wish: Wish) -> Effect:
    """What keeps the choice for this chat; no key: koi chooses."""
    key = keys.choice(lane)
    return Effect("DEL", key) if wish == "auto" else Effect("SET", key, (wish,))


def wanted_of(stored: bytes | str | None) -> Tier | None:
    """What `choice_effect` keeps, read again."""
    match stored:
        case b"light" | "light":
            return "light"
        case b"strong" | "strong":
            return "strong"
        case _:
            return None


def model_text(state: ModelState) -> str:
    """Which models there are, who chooses, and how the last choice came about."""
    lines = [_kinds(state), _chooser(state)]
    if state.last_model and _has_choice(state):
        why = why_words(state.last_why, state.language)
        reason = say(
            state.language, "The last answer here is from {model}: {why}.", model=state.last_model, why=why
        )
        plain = say(state.language, "The last answer here is from {model}.", model=state.last_model)
        lines.append(reason if why else plain)
    if _has_choice(state):
        lines.append(say(state.language, "To choose: /model light, /model strong, or /model auto."))
    return "\n".join(lines)


def chosen_text(state: ModelState, wish: Wish) -> str:
    """The answer to a choice; where there is nothing to choose, why not."""
    if not _has_choice(state):
        return _kinds(state)
    match wish:
        case "auto":
            return say(state.language, "From now on I choose by what you write.")
        case "light":
            model = state.models.light
            return say(state.language, "From now on the light model answers here: {model}.", model=model)
        case "strong":
            model = state.models.strong[0]
            return say(state.language, "From now on the strong model answers here: {model}.", model=model)


def not_understood_text(state: ModelState, argument: str) -> str:
    """For /model with something else behind it."""
    unknown = say(state.language, "“{argument}” is none of the kinds I know.", argument=argument)
    return f"{unknown}\n\n{model_text(state)}"


def model_buttons(state: ModelState) -> tuple[tuple[Button, ...], ...]:
    """One row of three, the one in force marked; none where there is nothing to choose."""
    if not _has_choice(state):
        return ()
    current: Wish = state.wanted or "auto"
    return (
        tuple(
            Button(
                text=("✓ " if wish == current else "") + say(state.language, name), command=f"/model {wish}"
            )
            for wish, name in NAMES.items()
        ),
    )


def why_words(why: str, language: str) -> str:
    """A reason of llm.routing in words, for the end of a sentence; "" for one that is not known."""
    return say(language, WHY[why]) if why in WHY else ""


def _has_choice(state: ModelState) -> bool:
    return len(state.models.tiers) > 1


def _kinds(state: ModelState) -> str:
    models, language = state.models, state.language
    strong = ", ".join(models.strong)
    if _has_choice(state):
        return say(
            language, "Light model: {light}\nStrong model: {strong}", light=models.light, strong=strong
        )
    answers = say(
        language, "All messages are answered by {models}.", models=strong or models.light or "offline"
    )
    if state.by_plan:
        return answers + " " + say(language, "Your plan allows no other kind.")
    unset = (
        say(
            language,
            "A light model for small requests is not set. You can change that: set KOI_LIGHT_MODEL, or light_model in "
            "koi.toml, and start me again.",
        )
        if state.is_owner
        else say(
            language,
            "A light model for small requests is not set; the owner of this bot can do that (KOI_LIGHT_MODEL).",
        )
    )
    return f"{answers} {unset}"


def _chooser(state: ModelState) -> str:
    if not _has_choice(state):
        return say(state.language, "So there is nothing to choose here.")
    if state.wanted is None:
        return say(state.language, "I choose by what you write: small requests go to the light model.")
    name = say(state.language, NAMES[state.wanted])
    return say(state.language, "You chose: {name}.", name=name)
