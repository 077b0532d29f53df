"""Finding what a model names by its id; if it is not there, saying what it may have meant."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

from schemas.things import Event, Memo, Reminder, Task, Thing
from tools.fields import folded, one_line
from tools.tool import Refused, Things

KINDS: dict[type[Any], str] = {Task: "task", Memo: "memo", Event: "event", Reminder: "reminder"}
ID = re.compile(r"[a-z]?\d+", re.ASCII)
"""What looks like an id names nothing that could be near."""
CANDIDATES = 5
LABEL_CHARS = 60


def find[T: Task | Memo | Event | Reminder](kind: type[T], id_: str, things: Things) -> T:
    """The thing of that id ("t17", also "T17" or "#t17").

    Raises: Refused: there is none; names the nearest by title, else the newest.
    """
    found = things.by_id.get(id_of(id_))
    if isinstance(found, kind):
        return found
    wanted = KINDS[kind]
    others = [thing for thing in things.by_id.values() if isinstance(thing, kind)]
    if found is not None:
        raise Refused(f"{id_of(id_)} is a {KINDS[type(found)]}, not a {wanted}; {near(id_, others, wanted)}.")
    raise Refused(f"There is no {wanted} {one_line(id_)[:LABEL_CHARS]!r}; {near(id_, others, wanted)}.")


def find_any(id_: str, things: Things) -> Thing:
    """What a memo or reminder is about: a task, event, reminder or memo. Raises: Refused."""
    if found := things.by_id.get(id_of(id_)):
        return found
    nearest = near(id_, things.by_id.values(), "thing")
    raise Refused(f"There is nothing with the id {one_line(id_)[:LABEL_CHARS]!r}; {nearest}.")


def things_about(id_: str, things: Things) -> list[Memo | Reminder]:
    """What belongs to a thing."""
    return [
        thing for thing in things.by_id.values() if isinstance(thing, Memo | Reminder) and thing.about == id_
    ]


def id_of(text: str) -> str:
    return text.strip().removeprefix("#").lower()


def label(thing: Thing) -> str:
    """Its title, else how its text begins."""
    text = one_line(thing.text if isinstance(thing, Reminder) else thing.title or getattr(thing, "text", ""))
    return text if len(text) <= LABEL_CHARS else text[:LABEL_CHARS] + "…"


def near(wanted: str, things: Iterable[Thing], kind: str) -> str:
    """ "the nearest are t3 (Bread), t9 (Butter)"."""
    there = list(things)
    if not there:
        return f"there are no {kind}s"
    there.reverse()  # what is equally near: the newest first
    if not ID.fullmatch(id_of(wanted)):
        name = folded(wanted[:LABEL_CHARS])
        there.sort(key=lambda thing: -SequenceMatcher(None, name, folded(label(thing))).ratio())
    return "the nearest are " + ", ".join(f"{thing.id} ({label(thing)})" for thing in there[:CANDIDATES])
