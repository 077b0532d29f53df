"""/memos: the notes, newest first. Pure.

/memos, /memos 2 (a page), /memos dentist (those that say it), /memos m2 (one, whole), /memos delete m2.
"""

from schemas.reply import Button
from schemas.things import Memo
from tools.fields import matches
from tools.lookup import label
from tools.tool import Here, Things
from workers.listing import (
    Edit,
    Line,
    Listed,
    Order,
    Shown,
    brief,
    deleted_text,
    gone,
    looked_at_or_deleted,
    moment_of,
    not_there,
    order_of,
    page_of,
)
from workers.texts import say, say_n

COMMAND = "memos"


def memos_answer(things: Things, argument: str, here: Here) -> Listed:
    """The answer to `/memos ARGUMENT`."""
    order = order_of(argument)
    if not order.id:
        return _list(things, order, here)
    memo = things.by_id.get(order.id)
    if not isinstance(memo, Memo):
        return not_there(COMMAND, order.id, here.language)
    text, back = memo_text(memo, things, here), _all(here.language)

    def delete() -> Edit:
        return gone(deleted_text(_title(memo), memo.id, things, here.language), memo.id, back)

    return looked_at_or_deleted(order, text, delete, back, here, command=COMMAND)


def _list(things: Things, order: Order, here: Here) -> Listed:
    memos = [thing for thing in things.by_id.values() if isinstance(thing, Memo)]
    if not memos:
        return Shown(_none(here))
    found = [memo for memo in memos if matches(order.words, memo.title, memo.text)]
    newest_first = sorted(found, key=lambda memo: (-memo.changed_ms, memo.id))
    head = say_n(here.language, "{n} memo", "{n} memos", len(found))
    return page_of(newest_first, lambda memo: _line(memo, things, here), head, order, here, command=COMMAND)


def _line(memo: Memo, things: Things, here: Here) -> Line:
    """ "• Card · Mon, 30 Nov, 16:00 · about Dentist (e3) · Project: teeth · m4"."""
    title = _title(memo)
    parts = [f"• {title}", moment_of(memo.changed_ms, here), *_belonging(memo, things, here), memo.id]
    return Line(memo.id, " · ".join(parts), title)


def _none(here: Here) -> str:
    if here.private:
        return say(here.language, "You have no memos. Just write me what to keep, for instance: “Note: the cellar key hangs behind the door.”")  # fmt: skip
    return say(here.language, "This group has no memos. Just write what to keep, for instance: “Note: the cellar key hangs behind the door.”")  # fmt: skip


def memo_text(memo: Memo, things: Things, here: Here) -> str:
    """All of one memo, and what it belongs to."""
    lines = [memo.title, ""] if memo.title else []
    foot = [memo.id, moment_of(memo.changed_ms, here), *_belonging(memo, things, here)]
    return "\n".join([*lines, memo.text, "", " · ".join(foot)])


def _belonging(memo: Memo, things: Things, here: Here) -> list[str]:
    """What it is about, and its project."""
    found = list[str]()
    if about := things.by_id.get(memo.about):
        found.append(say(here.language, "about {title} ({id})", title=label(about), id=about.id))
    if memo.project:
        found.append(say(here.language, "Project: {name}", name=memo.project))
    return found


def _title(memo: Memo) -> str:
    return brief(memo.title or memo.text)


def _all(language: str) -> Button:
    return Button(text=say(language, "All memos"), command=f"/{COMMAND}")
