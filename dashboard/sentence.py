"""The one sentence on top of Now. Pure."""

from datetime import tzinfo

from dashboard.figures import clock_text, money_text
from dashboard.kinds import outcome_words
from dashboard.numbers import Condition, Health, Numbers
from dashboard.texts import say, say_n
from infra.settings_sections import MoneySettings


def headline(condition: Condition, language: str) -> str:
    """How it goes, in a few words; "" if well: then the numbers speak."""
    n = condition.n
    said: dict[Health, str] = {
        "no_worker": say(language, "No worker has checked in."),
        "paused": say(language, "Paused."),
        "failing": say(language, "Messages are failing."),
        "stuck": say_n(language, "{n} chat is stuck.", "{n} chats are stuck.", n),
        "lost": say_n(
            language, "{n} part of an answer was lost today.", "{n} parts of answers were lost today.", n
        ),
        "degraded": say(language, "Degraded, still answering."),
        "some_paused": say_n(language, "{n} bot is paused.", "{n} bots are paused.", n),
    }
    return said.get(condition.health, "")


def reason(condition: Condition, language: str, zone: tzinfo) -> str:
    """Why, and what to do; "" if well."""
    kept, outcome = _kept(condition.n, language), condition.outcome
    if condition.health == "degraded":
        return _degraded(condition, language)
    if condition.health == "failing" and outcome:
        why = outcome_words(outcome, language)
        return say(language, "The newest could not be answered: {why}. They are kept under Failed.", why=why)
    since = say(language, "Since {time} nothing is begun.", time=clock_text(condition.since_ms, zone))
    start = say(language, "Start it: docker compose up -d worker, or koi up.")
    said: dict[Health, str] = {
        "no_worker": f"{kept} {start}".strip(),
        "paused": f"{since} {kept}".strip(),
        "failing": say(language, "The newest could not be answered. They are kept under Failed."),
        "stuck": say(
            language, "They are due, and no worker takes them. Look at System; nothing of them is lost."
        ),
        "lost": say(
            language, "Telegram did not say whether it took them, twice; they were not sent a third time."
        ),
        "some_paused": say(language, "What comes in for it waits and is kept."),
    }
    return said.get(condition.health, "")


def _kept(n: int, language: str) -> str:
    return (
        say_n(language, "{n} message waits and is kept.", "{n} messages wait and are kept.", n) if n else ""
    )


def _degraded(condition: Condition, language: str) -> str:
    why = (
        outcome_words(condition.outcome, language)
        if condition.outcome
        else say(language, "it failed just before")
    )
    return say(
        language,
        "{model} does not answer ({why}). {n} of the last {of} answers came from another model, the newest from {instead}.",
        model=condition.model, why=why, n=condition.n, of=condition.of, instead=condition.instead,
    )  # fmt: skip


def totals(numbers: Numbers, money: MoneySettings, language: str) -> str:
    """ "38 answered today, none lost, $0.19 this month." """
    answered = say_n(language, "{n} answered today", "{n} answered today", numbers.answered_today)
    lost = say(language, "none lost")
    if numbers.lost_today:
        lost = say_n(language, "{n} part lost", "{n} parts lost", numbers.lost_today)
    cost = say(language, "cost not known")
    if numbers.cost_month is not None:
        cost = say(language, "{cost} this month", cost=money_text(numbers.cost_month, money, language))
    return f"{answered}, {lost}, {cost}."
