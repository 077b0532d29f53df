"""What there is to tell the owner, and its words. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import assert_never

from infra.texts import later
from workers.texts import say, say_n
from workers.times import moment


@dataclass(frozen=True, slots=True)
class FellBack:
    """Another model than the first choice answered, because that one failed."""

    asked: str
    why: str
    """llm.request.Outcome of its last call."""
    since_ms: int
    model: str

    @property
    def cause(self) -> str:
        return f"fell_back:{self.asked}:{self.why}"


@dataclass(frozen=True, slots=True)
class NobodyAnswered:
    """Every model of a chain failed; the message is tried again, in the end kept as a dead letter."""

    reason: str
    """What each of them said."""
    asked: str = ""
    """The first choice, whose next answer is the all-clear; "": there will be none."""
    why: str = ""
    """llm.request.Outcome of its last call."""
    since_ms: int = 0

    @property
    def cause(self) -> str:
        return f"nobody_answered:{self.asked}"


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Messages or replies became dead letters."""

    n: int
    reason: str
    """Of the newest."""

    @property
    def cause(self) -> str:
        return "given_up"


@dataclass(frozen=True, slots=True)
class BrokenMemory:
    """Stored values of a person's memory that are no JSON of ours; they are removed."""

    n: int

    @property
    def cause(self) -> str:
        return "broken_memory"


@dataclass(frozen=True, slots=True)
class Recovered:
    """The first choice answers again: the all-clear."""

    asked: str
    why: str
    since_ms: int
    model: str
    """Who answered meanwhile; "": nobody."""
    at_ms: int


type Alert = FellBack | NobodyAnswered | GivenUp | BrokenMemory

WHY: Mapping[str, str] = {
    "rate_limited": later("too many requests"),
    "overloaded": later("overloaded"),
    "server_error": later("server error"),
    "timeout": later("no answer in time"),
    "deadline": later("no answer in time"),
    "broken": later("connection broken"),
    "malformed": later("unreadable answer"),
    "empty": later("empty answer"),
    "unauthorized": later("key refused"),
    "unpaid": later("credit used up"),
    "forbidden": later("access refused"),
    "unknown_model": later("no such model"),
}
"""llm.request.Outcome → words; others are shown as they are."""


def alert_text(alert: Alert | Recovered, language: str, zone: tzinfo) -> str:
    """What the owner reads; its first line says it all."""
    match alert:
        case FellBack(asked=asked, why=why, since_ms=since_ms, model=model):
            return say(
                language,
                "⚠ {asked}: {why} since {since}. {model} answers now.",
                asked=asked, why=_words(why, language), since=moment(since_ms, zone, language), model=model,
            )  # fmt: skip
        case NobodyAnswered(reason=reason):
            return say(language, "⚠ No model answers. {reason}", reason=reason)
        case GivenUp(n=n, reason=reason):
            return say_n(
                language,
                "⚠ {n} message could not be handled and is kept: {reason}\n`koi dead list` shows it.",
                "⚠ {n} messages could not be handled and are kept. The last: {reason}\n`koi dead list` shows them.",
                n, reason=reason,
            )  # fmt: skip
        case BrokenMemory(n=n):
            return say_n(
                language,
                "⚠ {n} stored piece of a conversation could not be read and is set aside; the rest works.",
                "⚠ {n} stored pieces of a conversation could not be read and are set aside; the rest works.",
                n,
            )
        case Recovered():
            return _recovered(alert, language, zone)
        case _:
            assert_never(alert)


def _recovered(clear: Recovered, language: str, zone: tzinfo) -> str:
    values = {
        "asked": clear.asked,
        "at": moment(clear.at_ms, zone, language),
        "since": moment(clear.since_ms, zone, language),
        "why": _words(clear.why, language),
    }
    if not clear.model:
        return say(
            language,
            "✓ {asked} answers again, since {at}; it had failed since {since} ({why}); meanwhile nobody answered.",
            **values,
        )
    return say(
        language,
        "✓ {asked} answers again, since {at}; it had failed since {since} ({why}); meanwhile {model} answered.",
        model=clear.model,
        **values,
    )


def _words(why: str, language: str) -> str:
    return say(language, WHY[why]) if why in WHY else why
