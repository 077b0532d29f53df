"""What /tasks, /memos, /agenda and /facts share: their answers, pages, buttons. Pure.

Each of the four is a function `(things, argument, here) -> Shown | Edit`. A list shows ids and has a button per thing
that opens it; the open one has buttons for all that can be done with it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infra.cut import shorten
from schemas.reply import Button
from schemas.things import Memo
from tools.fields import one_line
from tools.lookup import id_of, label, things_about
from tools.times import for_people, local_at, written
from tools.tool import Here, Ran, Things
from workers.texts import say

PER_PAGE = 6
"""Things of a list; two buttons more turn pages."""
MOST_BUTTONS = 8
LABEL_CHARS = 40
LINE_CHARS = 120
ID = re.compile(r"[tmerf][1-9][0-9]{0,14}")
NUMBER = re.compile(r"[1-9][0-9]{0,3}")
VERB_AND_ID = 2
COMMAND_BYTES = 64
"""Of a button's command (schemas.reply.Button)."""

VERBS = {
    "done": "done", "ready": "done", "erledigt": "done", "fertig": "done",
    "open": "open", "again": "open", "offen": "open", "öffnen": "open",
    "delete": "delete", "remove": "delete", "löschen": "delete", "entfernen": "delete", "loeschen": "delete",
    "high": "high", "important": "high", "wichtig": "high", "hoch": "high",
    "normal": "normal",
    "tomorrow": "tomorrow", "morgen": "tomorrow",
}  # fmt: skip
"""What is typed → what is done."""


type Rows = tuple[tuple[Button, ...], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer that changes nothing."""

    text: str
    buttons: Rows = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """A change, decided on the things that were given: for lanes.step with tools.store.expects and change_effects; the text
    is the answer once it is made.
    """

    ran: Ran
    text: str
    buttons: Rows = ()


type Listed = Shown | Edit


@dataclass(frozen=True, slots=True)
class Line:
    """A thing in a list."""

    id: str
    line: str
    label: str
    """Of the button that opens it."""


@dataclass(frozen=True, slots=True)
class Order:
    """What stands behind the command."""

    verb: str = ""
    """A value of VERBS; "": it is only to be shown."""
    id: str = ""
    number: int = 0
    """A page, or days; 0: none was said."""
    words: str = ""
    """What is none of these: to look for."""


def order_of(argument: str) -> Order:
    """ "delete t17", "t17 löschen", "2", "shopping 2"."""
    words = argument.split()
    ids = [word for word in words if ID.fullmatch(id_of(word))]
    if len(ids) == 1 and len(words) <= VERB_AND_ID:
        verbs = [VERBS.get(word.casefold()) for word in words if word != ids[0]]
        if None not in verbs:
            return Order(verb=verbs[0] or "" if verbs else "", id=id_of(ids[0]))
    number = int(words[-1]) if words and NUMBER.fullmatch(words[-1]) else 0
    return Order(number=number, words=" ".join(words[:-1] if number else words))


def page_of[T](
    found: Sequence[T], line_of: Callable[[T], Line], head: str, order: Order, here: Here, *, command: str
) -> Shown:
    """One page of what was found: a line and a button each, and buttons to turn. A number beyond the last page is the last."""
    if not found:
        return nothing_found(order.words, command, here.language)
    pages = max(1, -(-len(found) // PER_PAGE))
    page = min(max(1, order.number), pages)
    entries = [line_of(one) for one in found[(page - 1) * PER_PAGE : page * PER_PAGE]]
    lines = [head, "", *(entry.line for entry in entries)]
    if pages > 1:
        lines += ["", say(here.language, "Page {page} of {pages}", page=page, pages=pages)]
    rows = tuple(open_button(command, entry) for entry in entries)
    return Shown("\n".join(lines), (*rows, *_turning(command, order.words, page, pages, here.language)))


def _turning(command: str, words: str, page: int, pages: int, language: str) -> Rows:
    to = f"/{command} {words}".rstrip()
    back = [Button(text=say(language, "‹ Back"), command=f"{to} {page - 1}")] if page > 1 else []
    more = [Button(text=say(language, "More ›"), command=f"{to} {page + 1}")] if page < pages else []
    row = tuple(button for button in (*back, *more) if len(button.command.encode()) <= COMMAND_BYTES)
    return (row,) if row else ()


def open_button(command: str, entry: Line) -> tuple[Button, ...]:
    """A row that opens one thing."""
    return (Button(text=shorten(one_line(entry.label), LABEL_CHARS), command=f"/{command} {entry.id}"),)


def delete_button(command: str, id_: str, language: str) -> Button:
    return Button(text=say(language, "Delete"), command=f"/{command} delete {id_}")


def looked_at_or_deleted(
    order: Order, text: str, delete: Callable[[], Listed], back: Button, here: Here, *, command: str
) -> Listed:
    """The answer to an order for one thing with which nothing else can be done. text: all of it."""
    match order.verb:
        case "":
            return Shown(text, ((delete_button(command, order.id, here.language), back),))
        case "delete":
            return delete()
        case _:
            return not_for_it(command, order.id, here.language)


def gone(text: str, id_: str, back: Button) -> Edit:
    """A thing is deleted. text: says so."""
    return Edit(Ran(text, drop=(id_,)), text, ((back,),))


def moment_of(at_ms: int, here: Here) -> str:
    """A stamp as the person reads it: "Fri, 27 Nov, 08:00"."""
    local = written(local_at(at_ms, here.zone).replace(second=0))
    return for_people(local, here.zone, here.zone, here.language, here.now_ms)


def brief(text: str) -> str:
    """As one line of a list."""
    return shorten(one_line(text), LINE_CHARS)


def memo_lines(id_: str, things: Things) -> list[str]:
    """The memos about a thing, after an empty line."""
    memos = [f"{memo.id}: {brief(memo.text)}" for memo in things_about(id_, things) if isinstance(memo, Memo)]
    return ["", *memos] if memos else []


def quoted(text: str) -> str:
    """What somebody typed, as it is repeated."""
    return shorten(one_line(text), LABEL_CHARS)


def not_there(command: str, id_: str, language: str) -> Shown:
    """The answer to an id that nothing has."""
    return Shown(
        say(language, "There is no {id} here; /{command} shows what there is.", id=id_, command=command)
    )


def not_for_it(command: str, id_: str, language: str) -> Shown:
    """The answer to something that cannot be done with such a thing."""
    return Shown(
        say(
            language,
            "That cannot be done with {id}; /{command} {id} shows what can.",
            id=id_,
            command=command,
        )
    )


def nothing_found(words: str, command: str, language: str) -> Shown:
    return Shown(
        say(
            language,
            "Nothing here says “{words}”; /{command} shows all.",
            words=quoted(words),
            command=command,
        )
    )


def deleted_text(title: str, id_: str, things: Things, language: str) -> str:
    """What is gone, and what belongs to it and stays."""
    said = say(language, "Deleted: {title}", title=brief(title))
    related = things_about(id_, things)
    if not related:
        return said
    names = ", ".join(f"{label(thing)} ({thing.id})" for thing in related)
    return said + "\n" + say(language, "What belongs to it stays: {names}", names=names)
