"""/facts: what a person asked to be known of them, newest first. Pure.

/facts, /facts 2 (a page), /facts diet (those that say it), /facts f5 (one), /facts delete f5.
"""

from schemas.reply import Button
from schemas.things import Fact
from tools.fields import matches
from tools.tool import Here, Things
from workers.listing import (
    Edit,
    Line,
    Listed,
    Order,
    Shown,
    brief,
    gone,
    looked_at_or_deleted,
    moment_of,
    not_there,
    order_of,
    page_of,
)
from workers.texts import say, say_n

COMMAND = "facts"


def facts_answer(
    things: Things, argument: str, here: Here, *, kept: bool = True, is_owner: bool = False
) -> Listed:
    """The answer to `/facts ARGUMENT`. kept: facts are switched on here; what there is can be deleted in any case.

    is_owner: whoever asks is the one who can switch them on.
    """
    order = order_of(argument)
    if not order.id:
        return (
            _list(things, order, here) if things.facts else Shown(_none(here, kept=kept, is_owner=is_owner))
        )
    fact = things.facts.get(order.id)
    if fact is None:
        return not_there(COMMAND, order.id, here.language)
    back = _all(here.language)

    def delete() -> Edit:
        return gone(say(here.language, "Deleted: {title}", title=_title(fact)), fact.id, back)

    return looked_at_or_deleted(order, fact_text(fact, here), delete, back, here, command=COMMAND)


def _list(things: Things, order: Order, here: Here) -> Listed:
    found = [fact for fact in things.facts.values() if matches(order.words, fact.subject, fact.text)]
    newest_first = sorted(found, key=lambda fact: -fact.at_ms)
    head = say_n(
        here.language, "{n} thing that I know for good", "{n} things that I know for good", len(found)
    )
    return page_of(newest_first, lambda fact: _line(fact, here), head, order, here, command=COMMAND)


def _line(fact: Fact, here: Here) -> Line:
    title = _title(fact)
    return Line(fact.id, f"• {title} · {moment_of(fact.at_ms, here)} · {fact.id}", title)


def _none(here: Here, *, kept: bool, is_owner: bool) -> str:
    if not kept and is_owner:
        return say(here.language, "I keep nothing for good about anybody here. You can change that: write facts = true under [tools] in koi.toml, and start me again.")  # fmt: skip
    if not kept:
        return say(here.language, "I keep nothing for good about anybody here; the owner of this bot can change that (tools.facts).")  # fmt: skip
    if here.private:
        return say(here.language, "I know nothing for good about you. Tell me what I should, for instance: “Remember that I am vegetarian.”")  # fmt: skip
    return say(here.language, "I know nothing for good about this group. Tell me what I should, for instance: “Remember that we meet on Mondays.”")  # fmt: skip


def fact_text(fact: Fact, here: Here) -> str:
    """All of one fact: since when it is known, and what was before."""
    since = say(here.language, "known since {when}", when=moment_of(fact.at_ms, here))
    lines = [fact.subject, "", fact.text]
    if fact.before:
        lines.append(say(here.language, "Before that: {text}", text=fact.before))
    return "\n".join([*lines, "", f"{fact.id} · {since}"])


def _title(fact: Fact) -> str:
    return brief(f"{fact.subject}: {fact.text}")


def _all(language: str) -> Button:
    return Button(text=say(language, "All facts"), command=f"/{COMMAND}")
