"""Facts: what is to be known of a person, or of a group; only with `tools.facts`. Pure.

Small, visible (/facts), dated: stale knowledge is worse than none. One fact a subject: the newest wins and says what was
held before it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from babel.dates import format_datetime
from pydantic import Field

from schemas.things import Fact
from tools.fields import OneLine, answer, folded
from tools.lookup import id_of
from tools.texts import say, spoken
from tools.tool import Arguments, Here, Ran, Refused, Things, Tool, new_id

MOST = 40
"""Facts of one owner: all of them stand in every prompt."""
SUBJECT_CHARS = 40
FACT_CHARS = 200


# ── remember ─────────────────────────────────────────────────────────────────────────────────────────────────────
class RememberFact(Arguments):
    subject: Annotated[OneLine, Field(min_length=1, max_length=SUBJECT_CHARS, description="e.g. diet")]
    text: Annotated[OneLine, Field(min_length=1, max_length=FACT_CHARS)]


def remember_fact(asked: RememberFact, here: Here, things: Things) -> Ran:
    old, new = _fact(asked, here, things)
    if new == old:
        return Ran(answer(unchanged="fact", **_row(new)))
    return Ran(answer(remembered=new.id, subject=new.subject, text=new.text, before=new.before), put=(new,))


def preview_remember(asked: RememberFact, here: Here, things: Things) -> str:
    _old, new = _fact(asked, here, things)
    if new.before:
        return say(
            here.language,
            "Remember: {subject}: {text} (before: {before})",
            subject=new.subject,
            text=new.text,
            before=new.before,
        )
    return say(here.language, "Remember: {subject}: {text}", subject=new.subject, text=new.text)


def _fact(asked: RememberFact, here: Here, things: Things) -> tuple[Fact | None, Fact]:
    """What is held of the subject, and what will be: the same value if it is held already. Raises: Refused."""
    old = of_subject(asked.subject, things.facts)
    if old is not None and old.text == asked.text:
        return old, old
    if old is None and len(things.facts) >= MOST:
        raise Refused(
            f"There are {MOST} facts already, the most there may be; forget one first (forget_fact)."
        )
    return old, Fact(
        id=old.id if old else new_id("f", things),
        subject=asked.subject,
        text=asked.text,
        at_ms=here.now_ms,
        before=old.text if old else "",
    )


# ── forget ───────────────────────────────────────────────────────────────────────────────────────────────────────
class ForgetFact(Arguments):
    fact: OneLine = Field(description="subject or id")


def forget_fact(asked: ForgetFact, here: Here, things: Things) -> Ran:
    del here
    fact = held(asked.fact, things.facts)
    return Ran(answer(forgotten=fact.id, subject=fact.subject), drop=(fact.id,))


def preview_forget(asked: ForgetFact, here: Here, things: Things) -> str:
    fact = held(asked.fact, things.facts)
    return say(here.language, "Forget: {subject}: {text}", subject=fact.subject, text=fact.text)


# ── held ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def of_subject(subject: str, facts: Mapping[str, Fact]) -> Fact | None:
    """However the subject is written."""
    return next((fact for fact in facts.values() if folded(fact.subject) == folded(subject)), None)


def held(subject_or_id: str, facts: Mapping[str, Fact]) -> Fact:
    """Raises: Refused, with the subjects there are."""
    if found := of_subject(subject_or_id, facts) or facts.get(id_of(subject_or_id)):
        return found
    there = ", ".join(fact.subject for fact in facts.values())
    known = f"facts are kept of: {there}" if there else "no facts are kept"
    raise Refused(f"No fact is kept of {subject_or_id[:SUBJECT_CHARS]!r}; {known}.")


def facts_text(facts: Mapping[str, Fact], zone: ZoneInfo, language: str) -> str:
    """One line a fact for the system prompt, in the order they were learned; "" without any.

        diet: eats meat (since 30 Nov 2026; before: vegetarian)

    People's words as they are, each fact on one line: whoever puts this between tags neutralises it.
    """
    return "\n".join(fact_line(fact, zone, language) for fact in facts.values())


def fact_line(fact: Fact, zone: ZoneInfo, language: str) -> str:
    """One of `facts_text`."""
    local = datetime.fromtimestamp(fact.at_ms / 1000, UTC).astimezone(zone)
    day = format_datetime(local, say(language, "d MMM y"), locale=spoken(language))
    since = say(language, "since {day}", day=day)
    if fact.before:
        since = say(language, "{since}; before: {before}", since=since, before=fact.before)
    return f"{fact.subject}: {fact.text} ({since})"


def _row(fact: Fact) -> dict[str, str]:
    return {"id": fact.id, "subject": fact.subject, "text": fact.text}


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "remember_fact",
        "Keep a lasting fact the person told you; the newest of a subject counts.",
        RememberFact,
        remember_fact,
        preview=preview_remember,
    ),
    Tool("forget_fact", "Delete a fact.", ForgetFact, forget_fact, preview=preview_forget),
)
